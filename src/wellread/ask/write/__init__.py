"""The draft: by the language model where there is one, else extracted; see ``drafting.py``."""
