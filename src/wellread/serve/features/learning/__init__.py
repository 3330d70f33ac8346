"""What is learned by being asked, as bodies: coverage, preferences."""
