"""Web pages and markup: their main text and what they say of themselves."""
