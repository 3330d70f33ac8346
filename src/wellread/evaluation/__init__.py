"""Evaluates a knowledge base with questions whose answers are known."""
