"""The ingest layer."""
