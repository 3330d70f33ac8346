"""Middleware that checks requests before any work is done."""
