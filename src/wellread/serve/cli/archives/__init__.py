"""Commands that take in what somebody packed."""
