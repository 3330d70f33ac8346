"""Questions about the graph: their words matched to relations, and the ways that answer them."""
