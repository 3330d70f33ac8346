"""The interface that programs for OpenAI's models speak: models, chat completions, responses."""
