"""One module per way of finding; ``ask/find.py`` says which question goes which way."""
