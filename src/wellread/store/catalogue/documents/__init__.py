"""Stored documents, passages, sources, entities and stories: lookups, lists, counts, checks."""
