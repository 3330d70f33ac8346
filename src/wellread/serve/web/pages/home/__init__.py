"""The pages about the home itself: what models cost, its settings, whether its stores agree."""
