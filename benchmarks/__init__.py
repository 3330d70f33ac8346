"""Measurements of Wellread: retrieval, answers, locators, ingest, scale. See RESULTS.md."""
