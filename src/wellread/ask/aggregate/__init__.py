"""Exhaustive results from the catalogue: counts, lists, gaps, coverage, trends, graph walks."""
