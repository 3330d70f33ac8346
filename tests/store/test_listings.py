"""Pages of documents and passages, and finding the place of a passage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.made import kept, passages_of

from wellread.identity import document_id
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.listings import Order
from wellread.types import Document, Filters, Span

TEXT = "Ropes. Lamps. Bells."
CUTS = (Span(start=0, end=6), Span(start=7, end=13), Span(start=14, end=20))


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalogue]:
    opened = Catalogue.open(tmp_path_factory.mktemp("listings") / "catalogue.db")
    put(opened, "b", title="beta", published_at=day(2), authors=("Zoë Ames",), media_url="m.mp3")
    put(opened, "a", title="Alpha", published_at=day(3), kind="transcript", speakers=(0, 2))
    put(opened, "d", title="delta", taxonomy={"scale": ("town",)}, speakers=(1,))
    put(opened, "c", title="Gamma", published_at=day(2), taxonomy={"scale": ("city", "town")})
    put(opened, "e", title="empty", collection="south", text="", published_at=day(1))
    yield opened
    opened.close()


def day(of: int) -> datetime:
    return datetime(2026, 1, of, tzinfo=UTC)


def put(
    catalogue: Catalogue,
    name: str,
    *,
    collection: str = "north",
    text: str = TEXT,
    speakers: Sequence[int] = (),
    **facts: Any,
) -> None:
    """Add a document; in the passages ``speakers`` Ida and Bo speak."""
    facts = {"kind": "article"} | facts
    document = Document(collection=collection, uri=f"u:{name}", text=text, **facts)
    passages = [
        replace(one, speakers=("Bo", "IDA") if number in speakers else ())
        for number, one in enumerate(passages_of(document, CUTS if text else ()))
    ]
    catalogue.commit([kept(document, passages)])


def known(name: str, collection: str = "north") -> str:
    return document_id(collection, f"u:{name}")


def names(catalogue: Catalogue, limits: Filters, order: Order = "newest") -> str:
    page = catalogue.listings.documents(limits, 99, 0, order)
    assert page.total == len(page.documents)
    recorded = catalogue.listings.documents(limits, 99, media=True)
    assert recorded.total == len(recorded.documents)
    return "".join(one.facts.uri[-1] for one in page.documents)


@pytest.mark.parametrize(
    ("order", "expected"),
    [("newest", "acbed"), ("oldest", "ecbad"), ("title", "abdec"), ("added", "ecdab")],
)
def test_orders(catalogue: Catalogue, order: Order, expected: str) -> None:
    assert names(catalogue, Filters(), order) == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Filters(collections=("south",)), "e"),
        (Filters(kinds=("transcript",)), "a"),
        (Filters(authors=("zoë ames",)), "b"),
        (Filters(speakers=("ida",)), "ad"),
        (Filters(taxonomy=(("scale", "town"),)), "cd"),
        (Filters(published_from=day(2), published_to=day(2)), "cb"),
        (Filters(document_ids=(known("a"), known("b"))), "ab"),
        (Filters(speakers=("ida",), taxonomy=(("scale", "city"),)), ""),
    ],
)
def test_limits(catalogue: Catalogue, limits: Filters, expected: str) -> None:
    assert names(catalogue, limits) == expected


@settings(deadline=None, max_examples=25)  # each example is several reads
@given(st.integers(1, 6), st.sampled_from(get_args(Order)))
def test_pages_join_to_the_whole(catalogue: Catalogue, size: int, order: Order) -> None:
    pages = [
        catalogue.listings.documents(Filters(), size, start, order) for start in range(0, 6, size)
    ]
    assert {page.total for page in pages} == {5}
    joined = "".join(one.facts.uri[-1] for page in pages for one in page.documents)
    assert joined == names(catalogue, Filters(), order)


def test_what_somebody_said_newest_first(catalogue: Catalogue) -> None:
    limits = Filters(speakers=("Ida",))
    total, spoken = catalogue.listings.spoken_passages(limits, 9)
    assert total == 3
    assert [(one.document_id, one.text) for one in spoken] == [
        (known("a"), "Ropes."),
        (known("a"), "Bells."),
        (known("d"), "Lamps."),
    ]
    assert catalogue.listings.spoken_passages(limits, 1, 1) == (3, spoken[1:2])
    assert catalogue.listings.spoken_passages(Filters(speakers=("Id",)), 9) == (0, [])
    assert catalogue.listings.speakers_of([known("a"), known("b")]) == {known("a"): ("Bo", "IDA")}


def test_openings_and_the_passage_at_a_character(catalogue: Catalogue) -> None:
    openings = catalogue.listings.openings([known("b"), known("e", "south")])
    assert {name: one.text for name, one in openings.items()} == {known("b"): "Ropes."}
    ids = [row.id for row in catalogue.passages_of([known("b")])]
    places = [(known("b"), place) for place in (0, 5, 6, 13, 19, 20)] + [("doc_0", 0)]
    assert catalogue.listings.covering(places) == [ids[0], ids[0], *ids[1:], ids[2], "", ""]


def test_a_passage_is_found_by_how_its_id_begins(catalogue: Catalogue) -> None:
    row = catalogue.passages_of([known("b")])[1]
    for name in (row.id, row.id[:12]):
        assert catalogue.listings.starting(name) == [(row.id, 1, 3)]
    assert catalogue.listings.starting(row.id, ["south"]) == []
    assert len(catalogue.listings.starting("psg_")) == 2
    assert catalogue.listings.starting("psg_zz") == []
    assert catalogue.listings.starting("") == []
