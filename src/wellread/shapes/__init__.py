"""What is derived from the declaration of a value: its JSON and the schema of that."""
