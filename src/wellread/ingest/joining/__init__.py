"""What joins documents: the names of entities in them, and the stories that news items tell."""
