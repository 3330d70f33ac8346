"""``wellread feedback similar`` and ``GET /api/similar``: past questions with what experts said."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli import app
from wellread.serve.server.app import create_app
from wellread.store.schema.stored_values import Feedback
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question

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
        transport = httpx.ASGITransport(create_app(kb), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as opened:
            yield opened


def told(runner: CliRunner, *options: str) -> dict[str, Any]:
    done = runner.invoke(
        app, ["feedback", "similar", ASKED, "--threshold", "0.3", *options, "--json"]
    )
    assert done.exit_code == 0, done.output
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def scores(body: dict[str, Any]) -> list[int]:
    return sorted(one["score"] for one in body["results"])


def test_the_command_prints_what_experts_said(runner: CliRunner, filled: Path) -> None:
    done = runner.invoke(app, ["feedback", "similar", ASKED, "--limit", "1"])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Q: {ASKED}\nA: ")
    assert "24 euros" in done.stdout
    assert "\x1b" not in done.stdout
    assert "Say a year." in done.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), [40, 60, 80]),
        (("--limit", "2"), [40, 80]),
        (("--rating", "60"), [40]),
        (("--rating", "60", "--compare", "lte"), [40, 60]),
        (("--rating", "60", "--compare", "eq"), [60]),
        (("--language", "de"), [60]),
        (("--threshold", "1"), [80]),
    ],
)
def test_options_choose(
    runner: CliRunner, filled: Path, options: tuple[str, ...], expected: list[int]
) -> None:
    assert scores(told(runner, *options)) == expected


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


async def test_an_answer_given_here_is_one_of_them(
    runner: CliRunner, home: Path, tmp_path: Path
) -> None:
    source = tmp_path / "rules.md"
    source.write_text("# Rules\n\nMembership costs 24 euros a year.\n", encoding="utf-8")
    now = datetime(2026, 3, 4, tzinfo=UTC)
    sure = {"qa": {"confidence_threshold": 0}}
    with open_kb(home, overrides=sure, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(source)], collection="library")
        answered = await final(answer(kb, Question(text=ASKED)))
        given = Feedback(
            id="fbk_1",
            answer_id=answered.id,
            author="mara",
            question=ASKED,
            created_at=now,
            updated_at=now,
            score=10,
            correction="It is 24 euros for a year.",
        )
        kb.catalogue.feedback.put(given)
    [one] = told(runner)["results"]
    assert (one["answerId"], one["documentId"], one["score"]) == (answered.id, "", 10)
    assert one["correction"] == "It is 24 euros for a year."
    assert one["collection"] == "library"
    plain = runner.invoke(app, ["feedback", "similar", ASKED])
    assert "Correction: It is 24 euros for a year." in plain.stdout
