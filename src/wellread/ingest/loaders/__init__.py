"""What each kind of file says, as documents."""
