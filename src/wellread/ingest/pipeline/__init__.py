"""The steps of one run: parse sources, write and embed passages, log the job."""
