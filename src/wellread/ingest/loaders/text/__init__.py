"""Text formats: Markdown, reStructuredText, records, feeds."""
