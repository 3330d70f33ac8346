"""Readers: what says how well texts fit a question or a claim."""
