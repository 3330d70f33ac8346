"""Follow-up questions rewritten so that they stand alone, by rules or by a model."""
