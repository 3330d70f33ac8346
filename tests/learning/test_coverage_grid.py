"""The coverage by Python, REST, the command line and the page."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import lxml.html
import pytest
from typer.testing import CliRunner

from wellread import kb as kb_module
from wellread.ask.answer import answer, final
from wellread.errors import WellreadError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.learning.coverage_grid import coverage_grid, widest_taxonomy
from wellread.serve.cli import app as cli
from wellread.serve.features.gaps_and_coverage import coverage_markdown
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Question

BASE_URL = "http://127.0.0.1"
PLACES = {
    "mill": ("energy, water", "local", "2024-01-10", "The mill was rebuilt in oak by Tom Hale."),
    "weir": ("water", "local", "2024-03-05", "The weir holds back nine metres of water."),
    "grid": ("energy", "national", "2024-03-20", "The grid joins forty towns by cable."),
}
SETTINGS = """
coverage:
  by: [sectors, scales]
  target: 1
  values:
    scales: [local, regional, national]
  cells:
    - where: {sectors: water, scales: local}
      documents: 3
    - where: {scales: regional, sectors: water}
      documents: 0
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("grid")
    for folder in ("river", "club"):
        (root / folder).mkdir()
    for name, (sectors, scales, day, text) in PLACES.items():
        front = f"id: {name}\ntype: place\ntitle: {name}\nsectors: [{sectors}]\nscales: [{scales}]"
        page = f"---\n{front}\ndate: {day}\n---\n\n{text}\n"
        (root / "river" / f"{name}.md").write_text(page, encoding="utf-8")
    (root / "river" / "wellread-collection.yaml").write_text(SETTINGS, encoding="utf-8")
    other = (
        "---\nid: x\ntype: club\ntitle: X\nsectors: [<b>food</b>]\nscales: [a|b]\n---\n\nSecret.\n"
    )
    (root / "club" / "x.md").write_text(other, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        for folder in ("river", "club"):
            add(kb, [str(root / folder)], collection=folder)
    return root / "home"


@pytest.fixture
def kb(made: Path) -> Iterator[KnowledgeBase]:
    with open_kb(made, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, made: Path) -> CliRunner:
    opener = functools.partial(open_kb, embedder=ReadableEmbedder())
    monkeypatch.setattr(kb_module, "open_kb", opener)
    monkeypatch.setenv("WELLREAD_HOME", str(made))
    monkeypatch.setenv("COLUMNS", "100")
    return CliRunner()


def page_of(text: str) -> Any:
    """The parsed page, whose types no stub describes."""
    return lxml.html.fromstring(text)


def over(kb: KnowledgeBase) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(kb), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=BASE_URL)


RIVER = Filters(collections=("river",))


def test_cells_have_the_targets_of_the_settings_file(kb: KnowledgeBase) -> None:
    grid = coverage_grid(kb, RIVER)
    cells = {(c.row, c.column): (len(c.document_ids), c.target) for c in grid.cells}
    assert grid.by == ("sectors", "scales")
    assert grid.columns == ("local", "regional", "national")
    assert cells == {
        ("energy", "local"): (1, 1),
        ("energy", "regional"): (0, 1),
        ("energy", "national"): (1, 1),
        ("water", "local"): (2, 3),
        ("water", "regional"): (0, 0),
        ("water", "national"): (0, 1),
    }
    # The likelier of two that lack as much comes first: its row and column have more documents.
    assert next((c.row, c.column) for c in grid.gaps) == ("water", "local")
    assert {(c.row, c.column) for c in grid.gaps} == {
        ("energy", "regional"),
        ("water", "local"),
        ("water", "national"),
    }
    assert (grid.documents, grid.placed, len(grid.wanted)) == (3, 3, 5)


@pytest.mark.parametrize(
    "by", [("kind", "year"), ("collection", "kind"), ("entity_types", "month"), ("year", "scales")]
)
def test_any_two_dimensions_make_a_grid(kb: KnowledgeBase, by: tuple[str, str]) -> None:
    grid = coverage_grid(kb, RIVER, by)
    assert grid.by == by
    assert sum(len(cell.document_ids) for cell in grid.cells) == 3


def test_only_what_a_taxonomy_declares_is_wanted(kb: KnowledgeBase) -> None:
    club = Filters(collections=("club",))
    assert {cell.target for cell in coverage_grid(kb, club).cells} == {1}
    for by in (("kind", "year"), ("sectors", "kind"), ("year",)):
        assert coverage_grid(kb, club, by).wanted == []
    assert coverage_grid(kb, RIVER, ("kind",)).wanted  # its settings file sets a target for all
    assert widest_taxonomy(kb) == "river"


def test_one_dimension_counts_each_declared_value(kb: KnowledgeBase) -> None:
    grid = coverage_grid(kb, RIVER, ("scales",))
    assert [(c.row, len(c.document_ids), c.target) for c in grid.cells] == [
        ("local", 2, 1),
        ("regional", 0, 1),
        ("national", 1, 1),
    ]
    assert (grid.columns, grid.placed, [c.row for c in grid.gaps]) == (("",), 3, ["regional"])
    told = coverage_markdown(grid)
    assert "2 of 3 values of scales are covered (67 %); 3 of 3 documents have a place" in told
    assert "| local | ✓ 2 |" in told
    assert "- regional: no document, 1 wanted" in told


@pytest.mark.parametrize("by", [("a", "b", "c"), ("sectors", "sectors"), ("sectors", "nowhere")])
def test_what_is_no_pair_of_dimensions_is_refused(kb: KnowledgeBase, by: tuple[str, ...]) -> None:
    with pytest.raises(WellreadError, match=r"^by: "):
        coverage_grid(kb, RIVER, by)


async def test_the_page_shows_the_questions_of_its_owner(kb: KnowledgeBase) -> None:
    asked = "How many metres of water does the weir hold back?"
    done = await final(answer(kb, Question(text=asked, filters=RIVER)))
    assert done.citations
    await final(answer(kb, Question(text="Who rebuilt the mill in oak?", owner="else")))
    async with over(kb) as client:
        page = page_of((await client.get("/coverage?collection=river")).text)
        links = {one.get("aria-label"): one for one in page.xpath("//table//td/*")}
        name = "water, local: 2 documents of 3 wanted, 1 question"
        assert links[name].getparent().get("class") == "shade-2 lacking"
        found = await client.get(links[name].get("href"))
        titles = page_of(found.text).xpath("//h2/a")
        assert {one.text_content() for one in titles} == {"mill", "weir"}
        # Without a choice, the collection with the widest taxonomy; another by its own dimensions.
        assert "selected>river" in (await client.get("/coverage")).text
        other = (await client.get("/coverage?collection=club&by=sectors&by=nowhere")).text
        assert "cannot be counted by sectors and nowhere" in other
        assert "&lt;b&gt;food" in other


async def test_the_interface_gives_json_and_markdown(kb: KnowledgeBase) -> None:
    async with over(kb) as client:
        body: dict[str, Any] = (await client.get("/api/coverage?topic=river")).json()
        assert (body["covered"], body["wanted"], body["share"]) == (2, 5, 0.4)
        assert body["gaps"][0] == {
            "row": "water",
            "column": "local",
            "documents": 2,
            "target": 3,
            "covered": False,
            "questions": body["gaps"][0]["questions"],
        }
        text = (await client.get("/api/coverage?topic=club&format=markdown")).text
        assert "&lt;b>food" in text
        assert "a\\|b" in text
        refused = await client.get("/api/coverage?topic=river&by=sectors&by=nowhere")
        assert (refused.status_code, refused.json()["error"]) == (400, "bad_request")
        assert (await client.get("/api/coverage?topic=nowhere")).status_code == 404


def test_the_command_prints_table_json_and_markdown(runner: CliRunner) -> None:
    told = runner.invoke(cli, ["coverage", "--topic", "river"])
    assert told.exit_code == 0, told.output
    assert "2 of 5 cells of sectors × scales are covered (40 %)" in told.output
    assert "water × local: 2 documents, 3 wanted" in told.output
    done = runner.invoke(cli, ["--json", "coverage", "-c", "river", "--by", "kind", "--by", "year"])
    assert json.loads(done.output)["rows"] == ["entity"]
    assert "| water | 2/3 | – | 0/1 |" in told.output
