"""``POST /api/catalogue`` and ``wellread query``: the same fields, the same result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from wellread.serve.cli import app

TRANSCRIPTS = {"form": "count", "of": "transcripts"}


async def ask(client: httpx.AsyncClient, **fields: object) -> httpx.Response:
    return await client.post("/api/catalogue", json=fields)


async def test_a_count_has_its_rows_and_its_method(client: httpx.AsyncClient) -> None:
    body = (await ask(client, **TRANSCRIPTS)).json()
    assert (body["kind"], body["number"], body["absent"]) == ("count", 1, False)
    assert body["sentence"] == "There is 1 transcript."
    assert [len(row["documents"]) for row in body["rows"]] == [1]
    assert "in the collection" in body["method"]


async def test_what_is_not_there_is_said_with_what_is_near(client: httpx.AsyncClient) -> None:
    body = (await ask(client, form="exists", about={"names": ["zeppelins"]})).json()
    assert body["absent"] is True
    assert "no document names “zeppelins”" in body["sentence"]


async def test_rows_are_divided_ordered_and_cut(client: httpx.AsyncClient) -> None:
    kinds = (await ask(client, form="count", by=["kind"], order="most")).json()
    sizes = [len(row["documents"]) for row in kinds["rows"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 1
    cut = (await ask(client, form="count", by=["kind"], order="most", limit=1)).json()
    assert cut["rows"] == kinds["rows"][:1]
    assert "the first 1 of" in cut["method"]


@pytest.mark.parametrize(
    ("fields", "status", "detail", "allowed"),
    [
        ({}, 400, "form", ""),
        ({"form": "sum"}, 400, "form", "coverage"),
        ({"form": "count", "off": "papers"}, 400, "off", ""),
        ({"form": "count", "of": "dragons"}, 400, "of: “dragons”", "documents"),
        ({"form": "count", "by": ["colour"]}, 400, "by: “colour”", "year, month"),
        ({"form": "list", "limit": 0}, 400, "limit", ""),
        ({"form": "trend"}, 400, "about", ""),
        ({"form": "count", "of": "mentions"}, 400, "about", ""),
        ({"form": "path"}, 400, "related", ""),
        ({"form": "walk", "related": {"names": ["Nobody"]}}, 400, "related: no entity", ""),
        ({"form": "list", "where": {"fields": {"colour": ["red"]}}}, 400, "where", ""),
        ({"form": "list", "where": {"topics": ["nowhere"]}}, 404, "nowhere", ""),
        (
            {"form": "list", "where": {"from": "2025", "to": "2024"}},
            400,
            "where: the time ends before",
            "where.from",
        ),
    ],
)
async def test_the_field_that_is_wrong_is_named(
    client: httpx.AsyncClient, fields: dict[str, Any], status: int, detail: str, allowed: str
) -> None:
    response = await ask(client, **fields)
    body = response.json()
    assert response.status_code == status, body
    assert detail in body["detail"]
    assert allowed in body["hint"] + body["detail"]


async def test_the_command_gives_the_same(
    client: httpx.AsyncClient, runner: CliRunner, tmp_path: Path
) -> None:
    file = tmp_path / "query.json"
    file.write_text(json.dumps(TRANSCRIPTS), encoding="utf-8")
    wanted = (await ask(client, **TRANSCRIPTS)).json()
    for given in (json.dumps(TRANSCRIPTS), str(file)):
        result = runner.invoke(app, ["--json", "query", given])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout) == wanted
    assert "There is 1 transcript." in runner.invoke(app, ["query", json.dumps(TRANSCRIPTS)]).stdout
