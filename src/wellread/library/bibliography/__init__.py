"""Answers written out for others: Markdown, BibTeX, CSL-JSON."""
