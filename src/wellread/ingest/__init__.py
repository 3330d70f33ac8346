"""Ingest: reads sources, cuts them into passages, indexes them and keeps them up to date."""
