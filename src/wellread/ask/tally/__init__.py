"""Exhaustive results from the catalogue: what is asked for, in which scope, and what there is."""
