"""Tables of stored answers: rows of removed documents go, and their titles with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.made import change, citation, known

from wellread.store.catalogue import Catalogue
from wellread.types import Span
from wellread.values.answers import Answer, Confidence, Sentence, Table, Verdict, VerdictName

NAMES = ("Osprey", "Heron", "Gannet", "Catalogue")
METHOD = "what Osprey and Heron are run by"
LINES = ("Osprey and Heron are ferries.", "Osprey (ferry)", "Osprey and Heron", "Heron (ferry)")


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue.open(tmp_path / "catalogue.db")
    opened.commit([change(name, text_of(name)) for name in NAMES])
    yield opened
    opened.close()


def text_of(name: str) -> str:
    return f"{name} sails."


def answer() -> Answer:
    """Rows on one document, on two, and on one that is not cited."""
    text, sentences = "", []
    cited = ((), (1,), (1, 2), ())
    for line, numbers in zip(LINES, cited, strict=True):
        span = Span(start=len(text), end=len(text) + len(line))
        verdict = Verdict(name=VerdictName.SUPPORTED, method="catalogue", score=1, reason=METHOD)
        sentences.append(Sentence(text=line, span=span, verdict=verdict, citations=numbers))
        text += f"{line} [1]\n- "
    return Answer(
        id="ans_1",
        question="Which ferries are there?",
        text=text,
        citations=(
            citation(1, "Osprey", text_of("Osprey"), sentences[1].span),
            citation(2, "Heron", text_of("Heron"), sentences[2].span),
        ),
        sentences=tuple(sentences),
        confidence=Confidence(score=1, band="high", reasoning=f"worked out: {METHOD}"),
        answered_by="catalogue",
        notes=("Osprey was looked for everywhere",),
        table=Table(
            columns=("What", "How"),
            rows=(("Osprey", "ferry"), ("Osprey and Heron", ""), ("Heron", "ferry"), ("x", "")),
            documents=((known("Osprey"),), (known("Osprey"), known("Heron")),
                       (known("Heron"),), (known("Gannet"), known("Catalogue"))),
            method=METHOD,
        ),
    )  # fmt: skip


def kept(catalogue: Catalogue) -> Answer:
    found = catalogue.answer("ans_1")
    assert found is not None
    return found


def stale(catalogue: Catalogue) -> bool:
    (stored,) = catalogue.answers()
    return stored.stale


def test_what_only_the_removed_document_said_goes(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer())
    catalogue.remove_sources("main", ["Osprey"])
    left = kept(catalogue)
    assert left.table is not None
    assert left.table.rows == (
        ("(removed)", "(removed)"),
        ("██████ and Heron", ""),
        ("Heron", "ferry"),
        ("x", ""),
    )
    assert left.table.documents == ((), (known("Heron"),), *answer_documents()[2:])
    assert [one.text for one in left.sentences] == [
        "██████ and Heron are ferries.",
        "██████ ███████",
        "██████ and Heron",
        "Heron (ferry)",
    ]
    assert [one.span.of(left.text) for one in left.sentences] == [
        one.text for one in left.sentences
    ]
    assert "Osprey" not in str(left)
    assert [one.title for one in left.citations] == ["(removed)", "Heron"]
    assert stale(catalogue)
    assert catalogue.forgetting.quoting_removed() == {}


def answer_documents() -> tuple[tuple[str, ...], ...]:
    table = answer().table
    assert table is not None
    return table.documents


def test_a_document_that_only_a_row_rests_on_makes_it_stale(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer())
    catalogue.commit([change("Gannet", "The gannet rests.")])
    assert stale(catalogue)
    assert kept(catalogue) == answer()


def test_an_answer_recorded_after_a_row_s_document_went_is_without_it(
    catalogue: Catalogue,
) -> None:
    catalogue.remove_sources("main", ["Gannet", "Catalogue"])
    catalogue.record_answer(answer())
    left = kept(catalogue)
    assert left.table is not None
    assert left.table.rows[3] == ("(removed)", "(removed)")
    assert stale(catalogue)


@pytest.mark.sqlite_only
def test_what_a_removed_document_left_is_found_and_mended(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    catalogue.record_answer(answer())
    gone = [known("Osprey"), known("Gannet")]
    with closing(sqlite3.connect(tmp_path / "catalogue.db")) as plain, plain:
        plain.executemany("DELETE FROM documents WHERE id = ?", [(each,) for each in gone])
    assert catalogue.forgetting.quoting_removed() == {"ans_1": set(gone)}
    catalogue.forgetting.forget_quotes()
    assert catalogue.forgetting.quoting_removed() == {}
    assert "Osprey" not in str(kept(catalogue))
    assert stale(catalogue)


def test_a_document_that_changed_and_then_went_leaves_no_name(catalogue: Catalogue) -> None:
    catalogue.record_answer(replace(answer(), table=None))
    catalogue.commit([change("Osprey", "Nothing sails any more.")])
    assert [one.title for one in kept(catalogue).citations] == ["Osprey", "Heron"]
    catalogue.remove_sources("main", ["Osprey"])
    assert [one.title for one in kept(catalogue).citations] == ["(removed)", "Heron"]
