"""Commands about users: who they are, what is open to them, their keys, what they did."""
