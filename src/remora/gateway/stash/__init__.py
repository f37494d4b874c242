"""Originals and how they are read again."""
