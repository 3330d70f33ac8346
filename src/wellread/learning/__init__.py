"""Learning from being asked: what was rated, what is missing, what is measured."""
