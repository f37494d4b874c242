"""The long-term memory: what is kept, found again, corrected and forgotten."""
