"""Each sentence of a draft checked against what it cites. Start at ``check_claims.py``."""
