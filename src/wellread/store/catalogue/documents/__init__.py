"""Documents, passages and sources as they are stored: looked up, listed, counted, checked."""
