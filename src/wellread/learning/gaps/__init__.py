"""The ledger of gaps: clusters, what to write for them, and asking them again."""
