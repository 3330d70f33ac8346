"""Measures a knowledge base against questions whose answers are known."""
