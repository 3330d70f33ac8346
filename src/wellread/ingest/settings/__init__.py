"""Settings of a collection: how the sources' own fields map to document fields."""
