"""Copies of the catalogue's file, and what can be saved of a damaged one."""
