"""Settings of a collection: how an archive's own fields become ours."""
