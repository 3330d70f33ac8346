"""The application: every route under one roof, and the server that runs it."""
