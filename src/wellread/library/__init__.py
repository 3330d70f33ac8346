"""Looks things up without asking a question: documents, recordings, timelines, past answers."""
