"""The models layer."""
