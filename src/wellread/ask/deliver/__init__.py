"""The delivered answer: citations, the reply, what is related, what is missing, the cache."""
