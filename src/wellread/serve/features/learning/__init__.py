"""What is learned by being asked, as bodies and as printed text."""
