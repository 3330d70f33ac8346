"""The web application and the server that runs it."""
