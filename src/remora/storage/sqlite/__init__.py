"""SQLite, through apsw: its own current version on every system."""
