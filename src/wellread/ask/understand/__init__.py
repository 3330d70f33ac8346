"""What a question asks for, read from its words and its conversation. Start at ``analyse.py``."""
