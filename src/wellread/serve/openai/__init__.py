"""The interface that programs for OpenAI's models speak: models and chat completions."""
