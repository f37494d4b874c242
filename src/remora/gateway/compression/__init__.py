"""Makes texts small without losing anything for good: `auto.compress` is the one way in."""
