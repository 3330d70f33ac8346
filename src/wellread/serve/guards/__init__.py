"""What stands between a connection and the routes: each refuses before any work is done."""
