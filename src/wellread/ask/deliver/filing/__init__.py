"""What a recorded answer leaves in the ledgers of what is learned."""
