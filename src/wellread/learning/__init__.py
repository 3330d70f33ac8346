"""Learns from use: feedback, unanswered questions, coverage and metrics."""
