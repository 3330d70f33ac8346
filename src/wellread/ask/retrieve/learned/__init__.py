"""What experts said of answers given here, as far as it bears on new questions."""
