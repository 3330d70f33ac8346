"""Deep research with a language model: it looks further, and writes what is then checked."""
