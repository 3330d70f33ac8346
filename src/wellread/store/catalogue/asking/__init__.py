"""Answers, sessions, calls of models, and the removal of deleted words from them."""
