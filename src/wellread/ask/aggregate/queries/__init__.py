"""What is asked of the catalogue, in which words, and what comes back."""
