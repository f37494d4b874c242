"""Where users and agents come in. Every door asks the same operations."""
