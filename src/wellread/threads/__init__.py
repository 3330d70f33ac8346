"""Work in threads."""
