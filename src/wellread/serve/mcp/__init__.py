"""Wellread for programs that speak the Model Context Protocol. Needs the extra ``mcp``."""
