"""The commands of what is learned by being asked."""
