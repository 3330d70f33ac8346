"""Notices on the command line, by REST and on the first page; and corrections beside them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from tests.serve.conftest import client_of, printed
from typer.testing import CliRunner

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

TEXT = "Your correction of “What does a kayak cost?” counts no more."


@pytest.fixture
def told(home: Path, tmp_path: Path) -> Path:
    (tmp_path / "note.md").write_text("# Note\n\nKayaks are lent.\n", encoding="utf-8")
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "note.md")], collection="boats")
        kb.catalogue.notices.add("mara", "correction_expired", "fbk_1", TEXT)
    return home


@pytest.fixture
async def client(told: Path) -> AsyncIterator[tuple[httpx.AsyncClient, KnowledgeBase]]:
    with open_kb(told, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as opened:
            yield opened, kb


def run(home: Path, *words: str) -> str:
    return printed(CliRunner(), "--home", home, *words)


def test_the_command_shows_them_once(told: Path) -> None:
    assert "Notices for you: 1" in run(told, "collections")
    [kept] = json.loads(run(told, "feedback", "notices", "--json"))["items"]
    assert (kept["owner"], kept["kind"], kept["seenAt"]) == ("mara", "correction_expired", None)
    assert "There are no new notices" in run(told, "feedback", "notices")
    assert "mara" in run(told, "feedback", "notices", "--all")
    assert "Notices" not in run(told, "collections")


async def test_the_first_page_tells_and_forgets(
    client: tuple[httpx.AsyncClient, KnowledgeBase],
) -> None:
    http, kb = client
    assert TEXT in (await http.get("/")).text
    [one] = kb.catalogue.notices.of(None)
    headers = {"origin": "http://127.0.0.1"}
    done = await http.post("/notices/seen", data={"notice": [str(one.id)]}, headers=headers)
    assert done.status_code == 303
    assert TEXT not in (await http.get("/")).text
