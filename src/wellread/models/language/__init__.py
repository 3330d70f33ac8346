"""Language models: what writes text, on servers or by a command line program."""
