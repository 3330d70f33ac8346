"""What there is to read: files, folders, globs, addresses; and what changes among them."""
