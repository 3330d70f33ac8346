"""The search index: its back end on LanceDB."""
