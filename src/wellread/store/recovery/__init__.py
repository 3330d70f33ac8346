"""Copies of the catalogue, in files and in other databases, and the state of its file."""
