"""The web pages: templates, styles, and the code that fills them."""
