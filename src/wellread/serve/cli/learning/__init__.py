"""Commands about what is learned by being asked."""
