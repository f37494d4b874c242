"""Makes texts small without losing anything for good: see `auto.compress`."""
