"""Commands that keep a home safe: ``verify``, ``restore``, ``export``, ``import``."""
