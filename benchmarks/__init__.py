"""Measurements of Wellread: retrieval, answers, locators, ingest, latency. See RESULTS.md."""
