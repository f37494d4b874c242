"""Answers of read-only tools, kept for a short time and forgotten as soon as something may have changed them."""
