"""Links documents to the entities that their texts name."""
