"""Answers, how they were found, and those that were given before."""
