"""Deep research for all interfaces: plans that can be edited, bodies, runs of a server."""
