"""The confidence of a base, fitted on the ratings of its own answers."""
