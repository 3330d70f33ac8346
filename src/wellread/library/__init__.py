"""Reading without asking: what there is, who said it, stored answers, checks of given texts."""
