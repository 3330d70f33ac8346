"""Pages about who somebody is: sign-in, the own account, all users."""
