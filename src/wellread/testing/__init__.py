"""Contract tests and doubles for the seams, shipped so that plug-ins can use them."""
