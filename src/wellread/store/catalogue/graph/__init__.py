"""Entities, the relations between them, and where documents mention them."""
