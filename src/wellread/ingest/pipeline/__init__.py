"""What one run does with its sources: has them read, writes them, embeds them, keeps its record."""
