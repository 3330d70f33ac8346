"""From an analysed question to ranked passages. Start at ``search.py``."""
