"""The pages of what is learned by being asked."""
