"""One module per way of finding passages; ``ask/plan.py`` says which question goes which way."""
