"""The OpenAI-compatible interface: models and chat completions."""
