"""Pages for people: templates, style and what they are filled with."""
