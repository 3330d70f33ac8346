"""Answers, sessions and research runs, and the removal of deleted documents from them."""
