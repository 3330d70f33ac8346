"""The catalogue as an asker may read it."""
