"""How well a passage bears out a claim: readings of the two texts, weighed by learned numbers."""
