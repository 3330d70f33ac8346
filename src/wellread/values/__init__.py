"""Value types that all parts share: questions, answers, citations and research reports."""
