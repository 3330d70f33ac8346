"""An answer after its check: repaired citations are counted, strict leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellread.answers import Answer, Question
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.search import search
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import Judge, ScriptedModel, judging
from wellread.types import Filters

FERRY = "The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers."
PIER = "The ferry Osprey lands at the north pier, where tea is served to ferry passengers."
QUESTION = "What does the ferry Osprey carry?"
LENIENT: dict[str, dict[str, object]] = {
    "qa": {"confidence_threshold": 0.0},
    "cache": {"answers": False},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in (("ferry", FERRY), ("pier", PIER)):
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "ferry.md"), str(tmp_path / "pier.md")], collection="town")
    return tmp_path / "home"


async def answered(
    home: Path, reply: str, *, strict: bool = False, judge: Judge | None = None
) -> Answer:
    """The answer to ``QUESTION`` when the model replies ``reply``: FERRY and PIER in it become
    the keys of those passages.
    """
    embedder = ReadableEmbedder()
    model = ScriptedModel([], judge=judge)
    with open_kb(home, overrides=LENIENT, embedder=embedder, model=model) as kb:
        keys = {
            piece.text: piece.key
            for piece in pack(kb, search(kb, QUESTION, Filters(collections=("town",))))
        }
        said = reply.replace("FERRY", keys[FERRY]).replace("PIER", keys[PIER])
        model._replies.append(said)
        return await final(answer(kb, Question(text=QUESTION, strict=strict)))


async def test_repaired_citations_are_counted_and_point_to_the_right_source(home: Path) -> None:
    given = await answered(
        home,
        "It carries ninety passengers [PIER]. The ferry Osprey was bought for 2.6 million euros in "
        "2021 [FERRY]. The ferry Osprey lands at the north pier, where tea is served to ferry "
        "passengers.",
    )
    assert given.repaired_citations == 2
    cited = {citation.id: citation.title for citation in given.citations}
    titles = [[cited[number] for number in one.citations] for one in given.sentences]
    assert titles == [["Ferry"], ["Ferry"], ["Pier"]]
    assert {one.verdict.name for one in given.sentences} == {"quoted"}


async def test_strict_leaves_no_empty_list_behind(home: Path) -> None:
    bad = [{"number": n, "verdict": "unsupported", "quote": "tea is served"} for n in (3, 4)]
    lead = {"number": 2, "verdict": "nothing"}
    given = await answered(
        home,
        "## Size\n\nIt carries ninety passengers [FERRY].\n\n## Jazz\n\nThe crew plays:\n"
        "- Trumpets in summer [PIER].\n- Trombones in winter [PIER].",
        strict=True,
        judge=judging(lead, *bad),
    )
    assert given.dropped_sentences == 3
    assert "## Size\n\nIt carries ninety passengers. [1]" in given.text
    assert "Jazz" not in given.text
