"""Finds and fetches sources: files, folders, globs and web addresses."""
