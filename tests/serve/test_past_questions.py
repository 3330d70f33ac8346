"""``wellread feedback similar`` and ``GET /api/similar``: past questions with what experts said."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import client_of
from typer.testing import CliRunner

from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli import app
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

ASKED = "What does membership of the tool library cost?"


def past(question: str, score: int, language: str = "en", **sentence: Any) -> str:
    said = {"score": score, "explanation": "Say a year.", **sentence}
    return json.dumps(
        {
            "question": question,
            "answer": "Membership costs \x1b[31m24 euros.",
            "citation_url": "https://library.example/rules",
            "language": language,
            "feedback": {"score": score, "sentences": [said]},
        }
    )


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> Path:
    lines = [
        past(ASKED, 80),
        past("How much does membership of the tool library cost?", 40, harmful=True),
        past("Tool library membership: what is the cost?", 60, language="de"),
    ]
    source = tmp_path / "past.jsonl"
    source.write_text("\n".join(lines), encoding="utf-8")
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        assert add(opened, [str(source)], collection="past").counts()["added"] == 1
    return home


@pytest.fixture
async def client(filled: Path) -> AsyncIterator[httpx.AsyncClient]:
    with open_kb(filled, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as opened:
            yield opened


def scores(body: dict[str, Any]) -> list[int]:
    return sorted(one["score"] for one in body["results"])


def test_the_command_prints_what_experts_said(runner: CliRunner, filled: Path) -> None:
    done = runner.invoke(app, ["feedback", "similar", ASKED, "--limit", "1"])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Q: {ASKED}\nA: ")
    assert "24 euros" in done.stdout
    assert "\x1b" not in done.stdout
    assert "Say a year." in done.stdout


async def test_the_route_says_the_same(client: httpx.AsyncClient) -> None:
    params: dict[str, str | float] = {"question": ASKED, "threshold": 0.3}
    body = (await client.get("/api/similar", params=params)).json()
    assert scores(body) == [40, 60, 80]
    first = body["results"][0]
    assert (first["question"], first["similarity"], first["expired"]) == (ASKED, 1.0, "")
    assert first["feedback"][0]["explanation"] == "Say a year."
    assert ASKED in body["prompt"]
    assert "Score: 80/100" in body["prompt"]
    rated = (await client.get("/api/similar", params=params | {"rating": 60})).json()
    assert scores(rated) == [40]


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"question": " "}, 400),
        ({}, 400),
        ({"question": ASKED, "rating": 101}, 400),
        ({"question": ASKED, "compare": "gt"}, 400),
        ({"question": ASKED, "collection": "nowhere"}, 404),
    ],
)
async def test_what_cannot_be_asked(
    client: httpx.AsyncClient, params: dict[str, Any], status: int
) -> None:
    response = await client.get("/api/similar", params=params)
    assert response.status_code == status
    assert set(response.json()) == {"error", "detail", "hint"}
