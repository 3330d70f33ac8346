"""Deep research: from a question to a report of which every sentence is checked."""
