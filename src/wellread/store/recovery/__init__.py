"""Copies of a catalogue, and moving it to another database."""
