"""``wellread metrics --usage`` and ``GET /api/usage``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.serve.conftest import client_of, page, words
from typer.testing import CliRunner

from wellread.kb import open_kb
from wellread.serve.cli import app
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.calls import EMBED_PASSAGE, Call

CALLS = (
    Call(purpose="answer", provider="openai", model="gpt-4o-mini", input_tokens=4000,
         output_tokens=200, cost=0.75, seconds=2.0),
    Call(purpose="answer", provider="openai", model="gpt-4o-mini", error="answered 503"),
    Call(purpose="judge", provider="localhost:1", model="small", input_tokens=90, output_tokens=9),
    Call(purpose=EMBED_PASSAGE, provider="api.openai.com", model="text-embedding-3-small",
         input_tokens=9000, cost=0.5),
)  # fmt: skip


@pytest.fixture
def spent(tmp_path: Path) -> Path:
    """A home in which models were called."""
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        for call in CALLS:
            kb.catalogue.calls.record(call)
    return tmp_path / "home"


def run(home: Path, *args: str, daily: str = "") -> str:
    environ = {"WELLREAD_BUDGET_DAILY": daily, "COLUMNS": "200"}
    result = CliRunner().invoke(
        app, ["--home", str(home), "metrics", "--usage", *args], env=environ
    )
    assert result.exit_code == 0, result.output
    return result.stdout


async def test_the_command_and_the_route_say_the_same(spent: Path) -> None:
    told = json.loads(run(spent, "--json", "--days", "3", daily="1"))
    overrides = {"budget": {"daily": 1.0}}
    with open_kb(spent, overrides=overrides, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as client:
            answered = await client.get("/api/usage", params={"days": 3})
            refused = await client.get("/api/usage", params={"days": 0})
    assert answered.status_code == 200
    assert answered.json() == told
    assert (told["cost"], told["questionsCost"], told["budgetLevel"]) == (1.25, 0.75, "normal")
    (budget,) = told["budgets"]
    assert (budget["period"], budget["limit"], budget["left"]) == ("day", 1.0, 0.25)
    assert [line["priceKnown"] for line in told["lines"]] == [True, True, False]
    assert refused.status_code == 400


async def test_the_page_shows_the_same_numbers_as_bars_and_in_a_table(spent: Path) -> None:
    with open_kb(spent, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as client:
            found = await page(client, "/usage", days=3)
    assert words(found.xpath("//figcaption")[0]) == "Cost in dollars per day"
    (bar,) = found.xpath("//figure//rect/title")
    assert bar.text.endswith(": $1.25")
    numbers = [words(cell) for cell in found.xpath("//figure//tbody/tr/td")]
    assert numbers == ["$0", "$0", "$1.25"]
    lines = found.xpath("//figure//svg/text")
    assert [words(line) for line in lines][:3] == ["$0.50", "$1.00", "$1.50"]
    assert "price of some calls is not known" in words(found.xpath("//main")[0])
