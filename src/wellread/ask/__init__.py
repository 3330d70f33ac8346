"""The ask layer."""
