"""Loaders: one for each kind of file, which turn its content into documents."""
