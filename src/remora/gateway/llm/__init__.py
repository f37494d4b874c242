"""Asking a language model for a summary: who is asked, what may be sent, and which answers are delivered."""
