"""Answers as rows: whatever stands in them comes back, titles follow their documents or go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.made import change, citation, known
from tests.store.test_answers import answer

from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.asking.answer_rows import CLOSE, OPEN, edited
from wellread.store.schema.tables import metadata
from wellread.types import Locator, Span
from wellread.values.answers import Answer, Conflict, Related, Sentence, Table, Verdict, VerdictName

TITLES = {"first": "Xylograph Memo", "second": "Zanzibook", "third": "Quixotic (notes) 1.5"}
NEW = {"first": "Plain", "second": "A much longer title than it was", "third": ""}
SAID = "The ferry runs at noon."


def text_of(name: str) -> str:
    return f"{SAID} {name.title()} of all."


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalogue]:
    opened = Catalogue.open(tmp_path_factory.mktemp("rows") / "catalogue.db")
    yield opened
    opened.close()


PIECES = st.lists(
    st.sampled_from([*TITLES.values(), "“", "”", " ", "\n", "[1]", "**", "a", "1", "é😀", SAID])
)


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Sentences with anything between them, titles above all."""
    text, sentences = "", []
    for number in range(draw(st.integers(0, 4))):
        text += " ".join(["", *draw(PIECES), ""])
        said = f"{SAID} {'Zanzibook' * draw(st.integers(0, 1))}"
        span = Span(start=len(text), end=len(text) + len(said))
        verdict = Verdict(name=VerdictName.QUOTED, method="verbatim", score=1)
        cited = (1 + number % 3,) if draw(st.booleans()) else ()
        sentences.append(Sentence(text=said, span=span, verdict=verdict, citations=cited))
        text += said
    text += " ".join(["", *draw(PIECES), ""])
    words = " ".join(["", *draw(PIECES), ""])
    citations = tuple(
        replace(
            citation(number, name, text_of(name), Span(start=0, end=len(text))),
            title=title,
            locator=Locator(label=f"§ {title} › x", heading=(title, "x")),
            why=words,
        )
        for number, (name, title) in enumerate(TITLES.items(), 1)
    )
    ids = ((known("first"),), (known("second"),))
    rows = ((words,), (TITLES["second"],))
    return replace(
        answer("ans_rows"),
        text=text,
        citations=citations,
        sentences=tuple(sentences),
        notes=(words,),
        suggestions=(TITLES["third"],),
        conflicts=(Conflict(about=words),),
        related=(Related(kind="document", id=known("third"), title=TITLES["third"]),),
        table=draw(st.sampled_from([None, Table(columns=("a",), rows=rows, documents=ids)])),
    )


MANY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def everything(catalogue: Catalogue) -> str:
    with catalogue.snapshot() as connection:
        tables = [table for table in metadata.sorted_tables if table.name.startswith("answer")]
        return repr([connection.execute(table.select()).all() for table in tables])


@MANY
@given(given_=answers())
def test_titles_follow_their_documents_and_leave_with_them(
    catalogue: Catalogue, given_: Answer
) -> None:
    catalogue.commit([change(name, text_of(name), title=title) for name, title in TITLES.items()])
    catalogue.record_answer(given_)
    assert catalogue.answer("ans_rows") == given_
    catalogue.commit([change(name, text_of(name), title=title) for name, title in NEW.items()])
    now = catalogue.answer("ans_rows")
    assert now is not None
    assert all(one.span.of(now.text) == one.text for one in now.sentences)
    if given_.table is None:  # the lines of a table name documents
        assert [one.text for one in now.sentences] == [one.text for one in given_.sentences]
    assert [one.title for one in now.citations] == list(NEW.values())
    catalogue.remove_sources("main", [*TITLES])
    left = everything(catalogue)
    assert "Xylograph" not in left
    assert "Quixotic" not in left
    assert SAID not in left
    gone = catalogue.answer("ans_rows")
    assert gone is not None
    assert [one.span.of(gone.text) for one in gone.sentences] == [
        one.text for one in gone.sentences
    ]


@given(st.text(), st.data())
def test_a_place_moves_with_the_edits_before_it(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    edits = [
        (a, b, data.draw(st.text(max_size=3))) for a, b in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    new, moved = edited(text, edits)
    for place in range(len(text) + 1):
        if not any(start < place < end for start, end, _ in edits):
            before = sum(len(added) - (end - start) for start, end, added in edits if end <= place)
            assert moved(place) == place + before
    assert moved(len(text)) == len(new)


def test_what_a_reference_is_made_of_means_nothing_in_a_text(catalogue: Catalogue) -> None:
    catalogue.commit([change("ferry", SAID)])
    planted = f"{OPEN}0{CLOSE} {OPEN}99{CLOSE} {OPEN}"
    catalogue.record_answer(replace(answer("ans_planted"), citations=(), notes=(planted,)))
    kept = catalogue.answer("ans_planted")
    assert kept is not None
    assert kept.notes == (planted.replace(OPEN, "\ufffd").replace(CLOSE, "\ufffd"),)
