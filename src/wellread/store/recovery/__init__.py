"""Backs up a catalogue, checks its file and moves it to another database."""
