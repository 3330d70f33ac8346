"""The search index on an OpenSearch cluster (docs/opensearch.md)."""
