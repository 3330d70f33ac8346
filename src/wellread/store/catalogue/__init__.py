"""The catalogue layer."""
