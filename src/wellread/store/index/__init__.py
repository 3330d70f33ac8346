"""Search index back ends: embedded LanceDB, and OpenSearch."""
