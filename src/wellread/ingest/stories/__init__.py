"""News items of different sources, joined into stories."""
