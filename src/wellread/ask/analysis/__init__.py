"""What a question asks for, read from its words alone. Start at ``analyse.py``."""
