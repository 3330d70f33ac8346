"""Papers: the text layer of PDF files in reading order."""
