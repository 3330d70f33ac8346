"""Wellread answers questions from your own material and proves each sentence of the answer."""
