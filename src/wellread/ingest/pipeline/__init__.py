"""What one run does with its sources: parses, writes and embeds them, and keeps its record."""
