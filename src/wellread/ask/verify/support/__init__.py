"""How well passages support a claim: features of the two texts, weighed by learned numbers."""
