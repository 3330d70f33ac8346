"""Users as the interfaces show them, and the identity provider that may know them."""
