"""The serve layer."""
