"""Entities named by some words of their names, in questions about the graph."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.plan import clearly_related
from wellread.ask.retrieve.ranking import Found
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

FUND = "{type: funded_by, target: entry-1}"
ENTRIES = {
    "entry-1": ("Alder valley orchard fund", "[the apple money]", ""),
    "entry-2": ("Moor street lamp house", "[]", FUND),
    "entry-3": ("Old village bread oven", "[]", FUND),
    "entry-4": ("Fernhill north water mill", "[]", "{type: uses, target: entry-3}"),
    "entry-5": ("Fernhill south water mill", "[]", "{type: uses, target: entry-2}"),
    "entry-6": ("What the long winter did to the ferry hall", "[]", FUND),
}
FUNDED = ["Moor street lamp house", "Old village bread oven"]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root = tmp_path_factory.mktemp("valley")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as opened:
        write(root / "open", ENTRIES)
        add(opened, [str(root / "open")], collection="open")
        secret = {
            "entry-8": ("Hidden orchard choir till", "[]", ""),
            "entry-9": ("Hidden choir", "[]", "{type: funded_by, target: entry-8}"),
        }
        write(root / "secret", secret)
        add(opened, [str(root / "secret")], collection="secret")
        yield opened


def write(folder: Path, entries: dict[str, tuple[str, str, str]]) -> None:
    folder.mkdir()
    for name, (title, aliases, relation) in entries.items():
        matter = f"id: {name}\ntype: thing\ntitle: {title}\naliases: {aliases}\n"
        matter += f"relations: [{relation}]\n" if relation else ""
        text = f"---\n{matter}---\n\nAbout the {title}.\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def read(kb: KnowledgeBase, text: str, collection: str = "open") -> Analysis:
    filters = Filters(collections=(collection,))
    vocabulary = vocabulary_of(kb, filters.collections)
    return analyse(Question(text=text, filters=filters), vocabulary, date(2026, 5, 1))


def names(found: Found | None) -> list[str]:
    assert found is not None
    assert isinstance(found, AggregateResult)
    return [row.cells[0] for row in found.rows]


@pytest.mark.parametrize(
    "text",
    [
        "What does the orchard fund pay for?",
        "Which commons get money from the orchard fund?",
        "What is paid for by the valley funds?",
    ],
)
def test_some_words_of_a_name_are_enough_where_nothing_else_is_called_so(
    kb: KnowledgeBase, text: str
) -> None:
    found = clearly_related(kb, read(kb, text))
    assert set(FUNDED) <= set(names(found))


def test_the_answer_says_what_was_read_as_what(kb: KnowledgeBase) -> None:
    found = clearly_related(kb, read(kb, "Who pays for the lamp house?"))
    assert names(found) == ["Alder valley orchard fund"]
    assert found is not None
    assert found.notes == ("“lamp house” was read as “Moor street lamp house”",)
    whole = clearly_related(kb, read(kb, "Who pays for the Moor street lamp house?"))
    assert whole is not None
    assert whole.notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "What does the water mill use?",  # there are two
        "What does the fund pay for?",  # one word may mean any
        "What does the orchard Alder fund pay for?",  # not in this order
        "What does the orchard pay for?",  # not up to the end of the name
        "Who pays for the ferry hall?",  # the end of a headline
        "What does the orchard fund pay for singing lessons?",  # something is not understood
    ],
)
def test_where_there_is_doubt_the_texts_are_asked(kb: KnowledgeBase, text: str) -> None:
    assert clearly_related(kb, read(kb, text)) is None


def test_names_of_other_collections_are_not_known(kb: KnowledgeBase) -> None:
    text = "What does the orchard till pay for?"
    assert names(clearly_related(kb, read(kb, text, "secret"))) == ["Hidden choir"]
    assert clearly_related(kb, read(kb, text, "open")) is None
