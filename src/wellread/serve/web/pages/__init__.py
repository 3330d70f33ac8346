"""The routes of the web pages, in one module for each part of the navigation."""
