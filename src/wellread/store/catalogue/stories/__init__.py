"""Stories and their news items."""
