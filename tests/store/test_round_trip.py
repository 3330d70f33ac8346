"""Whatever a loader may yield comes back from the catalogue as it went in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.made import kept

from wellread.identity import document_id
from wellread.store.catalogue import Catalogue
from wellread.types import (
    KINDS,
    Box,
    Document,
    EntityFacts,
    HeadingMark,
    LineMark,
    Mark,
    PageMark,
    PastQuestion,
    Relation,
    SentenceFeedback,
    Span,
    SpeakerMark,
    TimeMark,
)

# Everything but NUL and lone surrogates, which ``TextBuilder`` replaces.
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
tuples = st.lists(words, max_size=3).map(tuple)
shares = st.floats(0, 1)
seconds = st.floats(0, 1e6)
moments = st.datetimes(datetime(1500, 1, 1), datetime(2500, 1, 1), timezones=st.just(UTC))
numbers = st.integers(0, 10**6)


def places(draw: st.DrawFn) -> dict[str, Any]:
    start = draw(numbers)
    return {"start": start, "end": start + draw(numbers)}


@st.composite
def marks(draw: st.DrawFn) -> Mark:
    place = places(draw)
    boxes = st.builds(Box, left=shares, top=shares, right=shares, bottom=shares)
    made: tuple[Mark, ...] = (
        PageMark(**place, page=draw(numbers), box=draw(st.none() | boxes), label=draw(words)),
        TimeMark(**place, begin=draw(seconds), finish=draw(st.none() | seconds)),
        SpeakerMark(**place, speaker=draw(words)),
        HeadingMark(**place, path=draw(tuples)),
        LineMark(**place, line=draw(numbers)),
    )
    return draw(st.sampled_from(made))


feedback = st.builds(
    SentenceFeedback,
    score=st.none() | st.integers(0, 100),
    explanation=words,
    harmful=st.booleans(),
    content_issue=st.booleans(),
)
documents = st.builds(
    Document,
    collection=words,
    uri=words,
    kind=st.sampled_from(KINDS),
    title=words,
    text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80),
    marks=st.lists(marks(), max_size=4).map(tuple),
    url=words,
    source_type=words,
    language=words,
    authors=tuples,
    published_at=st.none() | moments,
    summary=words,
    media_url=words,
    taxonomy=st.dictionaries(words, tuples, max_size=3),
    entity=st.none()
    | st.builds(
        EntityFacts,
        entity_id=words,
        entity_type=words,
        aliases=tuples,
        relations=st.lists(st.builds(Relation, type=words, target=words), max_size=3).map(tuple),
    ),
    past_question=st.none()
    | st.builds(
        PastQuestion,
        question=words,
        answer=words,
        flow=tuples,
        citation_url=words,
        score=st.none() | st.integers(0, 100),
        expert_citation_url=words,
        sentences=st.lists(feedback, max_size=2).map(tuple),
    ),
)


@pytest.fixture(scope="module")
def catalogue() -> Iterator[Catalogue]:
    with tempfile.TemporaryDirectory() as folder:
        opened = Catalogue.open(Path(folder) / "catalogue.db")
        yield opened
        opened.close()


sources = count()


def put(catalogue: Catalogue, document: Document) -> Document | None:
    catalogue.commit([kept(document, source=f"source {next(sources)}")])
    return catalogue.document(document_id(document.collection, document.uri))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(document=documents)
def test_documents_round_trip(catalogue: Catalogue, document: Document) -> None:
    assert put(catalogue, document) == document


@settings(deadline=None, max_examples=30, derandomize=True)
@given(text=words.filter(bool), data=st.data())
def test_any_span_of_any_text_is_read_exactly(
    catalogue: Catalogue, text: str, data: st.DataObject
) -> None:
    put(catalogue, Document(collection="t", uri="t", kind="page", title="", text=text))
    start = data.draw(st.integers(0, len(text)))
    span = Span(start=start, end=data.draw(st.integers(start, len(text))))
    assert catalogue.texts([(document_id("t", "t"), span)]) == [span.of(text)]
