"""How sure an answer is: features of question, evidence and verdicts, weighed as learned."""
