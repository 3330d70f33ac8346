"""The store layer."""
