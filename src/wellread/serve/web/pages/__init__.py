"""The pages, a module for each part of the navigation; each fills templates with a body."""
