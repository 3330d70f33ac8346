"""The limits that a question's words set: time, people, kinds of source, taxonomy."""
