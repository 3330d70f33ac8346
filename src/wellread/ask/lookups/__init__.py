"""Looking things up without asking a question: what there is, who said it, when, and around it.

Each function takes the knowledge base and plain arguments; the HTTP interface, the command line
and research share them. ``collections`` (or ``Filters.collections``) is a hard border: what lies
outside of it is as if it were not there. None means all.
"""
