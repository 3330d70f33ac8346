"""What is learned by being asked, as the interfaces show it."""
