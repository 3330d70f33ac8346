"""What is learned by being asked, for people and programs."""
