"""Jobs of ingest, vectors that are still to come, and which index is live."""
