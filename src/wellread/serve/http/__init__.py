"""The HTTP interface: the application with its routes to ask, and those of OpenAI's format."""
