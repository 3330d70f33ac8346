"""A small part of the campaign of malformed requests (``benchmarks/malformed.py``)."""

from __future__ import annotations

from benchmarks.malformed import measured, targets_of

from wellread.kb import KnowledgeBase
from wellread.serve.http.app import create_app


async def test_no_malformed_request_fails_inside(kb: KnowledgeBase) -> None:
    found = await measured(kb, requests=60, seed=3)
    assert found["faults"] == []
    assert found["failed_inside"] == 0
    refused = sum(count for status, count in found["statuses"].items() if status[0] == "4")
    assert refused > 25


def test_every_route_is_meant(kb: KnowledgeBase) -> None:
    app = create_app(kb)
    meant = {(target.method, target.path) for target in targets_of(app)}
    described = app.openapi()["paths"]
    assert {(way.upper(), path) for path, ways in described.items() for way in ways} <= meant
    assert {("POST", "/library/upload"), ("GET", "/search"), ("POST", "/mcp")} <= meant
