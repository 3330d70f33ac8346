"""What is learned by being asked: feedback."""
