"""A fictional sample knowledge base, shipped as package data."""
