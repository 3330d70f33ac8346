"""What moves a hit up or down beside how well it fits the question."""
