"""The interfaces: command line, HTTP, web pages, MCP and OpenAI-compatible routes."""
