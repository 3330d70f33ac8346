"""How sure an answer is: readings of the question against the evidence, weighed as learned."""
