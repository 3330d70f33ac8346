"""Gaps by command, by REST and as pages: the same ledger."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from tests.serve.conftest import printed, run
from typer.testing import CliRunner

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase
from wellread.learning.asking_again import add
from wellread.values.answers import Question

KEEPER = "Who is the lighthouse keeper?"
BUILT = "When was the lighthouse built?"
LIGHTHOUSE = """# The lighthouse

The lighthouse keeper is Ilse Marrane. The lighthouse was built in 1874 by Jon Tarn.
"""


@pytest.fixture
async def asked(kb: KnowledgeBase) -> KnowledgeBase:
    """Two questions without an answer, one of them asked twice."""
    for text in (KEEPER, BUILT, KEEPER):
        await final(answer(kb, Question(text=text)))
    return kb


# --- REST ----------------------------------------------------------------------------------------


async def test_clusters_a_suggestion_and_a_status(
    asked: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    body = (await client.get("/api/gaps")).json()
    assert body["counts"] == {"open": 2, "planned": 0, "closed": 0}
    first = body["clusters"][0]
    assert (first["id"], first["asked"], first["status"]) == ("c1", 3, "open")
    shown = (await client.get("/api/gaps/1")).json()
    assert shown["gaps"][0]["question"] == KEEPER
    made = (await client.get("/api/gaps/c1/suggestion")).json()
    assert KEEPER in made["questions"]
    file = await client.get("/api/gaps/c1/suggestion?format=markdown")
    assert file.text == made["markdown"]
    assert made["fileName"] in file.headers["content-disposition"]
    changed = await client.patch("/api/gaps/c1", json={"status": "planned"})
    assert changed.json() == {"id": "c1", "status": "planned", "gaps": 2}
    assert (await client.get("/api/gaps?status=planned")).json()["total"] == 1


async def test_unknown_gaps_and_bad_values_are_told(client: httpx.AsyncClient) -> None:
    for path in ("/api/gaps/c9", "/api/gaps/c9/suggestion", "/gaps/c9"):
        assert (await client.get(path)).status_code == 404
    assert (await client.patch("/api/gaps/9", json={"status": "open"})).status_code == 404
    assert (await client.patch("/api/gaps/x", json={"status": "open"})).status_code == 404
    assert (await client.patch("/api/gaps/1", json={"status": "gone"})).status_code == 400


async def test_asking_again_by_rest(
    asked: KnowledgeBase, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    settings = asked.settings
    off = settings.gaps.model_copy(update={"ask_again": False})
    asked.settings = settings.model_copy(update={"gaps": off})
    file = tmp_path / "lighthouse.md"
    file.write_text(LIGHTHOUSE, encoding="utf-8")
    add(asked, [str(file)], collection="town")
    done = (await client.post("/api/gaps/ask")).json()
    assert (done["asked"], done["waiting"]) == (2, 0)
    assert done["closed"] >= 1
    closed = [one for one in done["questions"] if one["answerId"]]
    page = (await client.get(f"/gaps/{closed[0]['gap']}")).text
    assert f"/answers/{closed[0]['answerId']}" in page
    assert (await client.get(f"/answers/{closed[0]['answerId']}")).status_code == 200


# --- pages ---------------------------------------------------------------------------------------


# --- command line --------------------------------------------------------------------------------


@pytest.mark.usefixtures("filled_home")
def test_the_command_lists_shows_plans_suggests_and_asks(
    runner: CliRunner, home: Path, town: Path, tmp_path: Path
) -> None:
    printed(runner, "add", str(town), "-c", "town")
    assert "There are no gaps" in printed(runner, "gaps")
    assert run(runner, "ask", KEEPER)[0] == 3
    assert run(runner, "ask", KEEPER)[0] == 3
    (one,) = json.loads(printed(runner, "--json", "gaps"))["items"]
    assert (one["id"], one["asked"]) == ("c1", 2)
    assert "declined" in printed(runner, "gaps", "c1")
    assert "planned: 1" in printed(runner, "gaps", "c1", "--set", "planned")
    assert "planned" in printed(runner, "gaps", "--status", "planned")
    assert "There are no gaps" in printed(runner, "gaps", "--status", "closed")
    assert printed(runner, "gaps", "c1", "--suggest").startswith("---\nid: ")
    assert "To be written." in printed(runner, "gaps", "1", "--suggest")
    file = tmp_path / "lighthouse.md"
    file.write_text(LIGHTHOUSE, encoding="utf-8")
    _, _, told = run(runner, "add", str(file), "-c", "town")
    assert "Open questions asked again: 1, answered now: 1" in told
    assert "There are no gaps" in printed(runner, "gaps")
    assert "ans_" in printed(runner, "gaps", "1")
    printed(runner, "gaps", "c1", "--set", "open")
    assert "ans_" in printed(runner, "gaps", "c1", "--ask")
    assert "asked" in printed(runner, "gaps", "--patterns")
    assert "re-ask" in printed(runner, "jobs")
