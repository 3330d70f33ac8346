"""Relational questions: read into a plan, walked over the graph, put into words."""
