"""Fetching pages and feeds: safely, politely, and only when they changed."""
