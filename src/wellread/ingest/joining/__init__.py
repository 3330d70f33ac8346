"""Links between documents: mentions of entities, and stories that group news items."""
