"""The release gate: what is measured, the limits, the verdict, and the history of releases."""
