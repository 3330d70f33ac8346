"""What joins documents: entity names in texts, and stories."""
