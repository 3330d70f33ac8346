"""The values that travel: what is asked, answered and reported."""
