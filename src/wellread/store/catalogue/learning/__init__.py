"""What is learned by being asked: feedback, notices, figures of answers."""
