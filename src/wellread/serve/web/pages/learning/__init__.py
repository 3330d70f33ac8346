"""The pages about what is learned by being asked."""
