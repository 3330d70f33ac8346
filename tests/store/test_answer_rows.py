"""Answers as rows: whatever stands in them comes back, titles are those of their documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.made import change, citation, known
from tests.store.test_answers import answer

from wellread.store.catalogue import Catalogue
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
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def everything(catalogue: Catalogue) -> str:
    with catalogue.snapshot() as connection:
        tables = [table for table in metadata.sorted_tables if table.name.startswith("answer")]
        return repr([connection.execute(table.select()).all() for table in tables])


@MANY
@given(given_=answers())
def test_titles_are_those_of_the_documents_and_leave_with_them(
    catalogue: Catalogue, given_: Answer
) -> None:
    catalogue.commit([change(name, text_of(name), title=title) for name, title in TITLES.items()])
    catalogue.record_answer(given_)
    assert catalogue.answer("ans_rows") == given_
    url = "https://x.example/now"
    catalogue.commit(
        [change(name, text_of(name), title=title, url=url) for name, title in NEW.items()]
    )
    pairs = zip(given_.citations, NEW.values(), strict=True)
    citations = tuple(
        replace(cited, title=title, url=url, link=f"{url}#page=3") for cited, title in pairs
    )
    related = (replace(given_.related[0], title=NEW["third"], url=url),)
    renamed = replace(given_, citations=citations, related=related)
    assert catalogue.answer("ans_rows") == renamed
    catalogue.sessions.rewrite(renamed, stale=False)
    assert catalogue.answer("ans_rows") == renamed
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
