"""Feedback, gaps, coverage, metrics and preferences."""
