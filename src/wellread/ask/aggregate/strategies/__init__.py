"""One module per kind of exhaustive question."""
