"""What a base can tell of how it is asked and how it answers."""
