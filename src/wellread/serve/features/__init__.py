"""Features of the interfaces: their routes and reply bodies, used by all interfaces."""
