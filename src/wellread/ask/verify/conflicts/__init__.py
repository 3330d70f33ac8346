"""Where sources disagree, or speak of different things of one name. No model is needed."""
