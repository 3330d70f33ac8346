"""The built-in answerer: chooses sentences of the evidence, verbatim. No model, no network."""
