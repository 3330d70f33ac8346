"""Follow-up questions made into questions that stand alone, by rules and without a model."""
