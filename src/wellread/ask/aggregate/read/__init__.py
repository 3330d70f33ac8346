"""From the words of a question to catalogue queries."""
