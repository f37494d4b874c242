"""The HTTP door: who may enter, and what stands behind it."""
