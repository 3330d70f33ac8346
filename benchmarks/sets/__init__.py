"""One module per data set; each says what its sources and queries are."""
