"""The Model Context Protocol server. Needs the extra ``mcp``."""
