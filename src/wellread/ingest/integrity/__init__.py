"""Integrity checks of the stores, repairs, backups, and removal of deleted text from the disk."""
