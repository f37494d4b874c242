"""Configuration: one model, one file, environment over it, reloaded while running."""
