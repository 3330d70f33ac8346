"""Exhaustive queries: every document that meets all limits, and none that does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import update
from tests.store.made import kept, passages_of

from wellread.identity import document_id, version_of
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import FoundName
from wellread.store.schema.database import Database
from wellread.store.schema.tables import mention_scans
from wellread.types import Document, EntityFacts, Filters, Span

SECTORS = ("energy", "food", "repair")
PEOPLE = ("Ada Moss", "Bo Reed", "Ömer Dağ")


def put(catalogue: Catalogue, *documents: Document, speakers: Sequence[str] = ()) -> list[str]:
    """Keep the documents, each with one passage in which the speakers speak; their ids."""
    changes = [
        kept(one, passages_of(one, [Span(start=0, end=len(one.text))], speakers=tuple(speakers)))
        for one in documents
    ]
    catalogue.commit(changes)
    return [document_id(one.collection, one.uri) for one in documents]


def article(name: str, day: str = "", **fields: Any) -> Document:
    moment = datetime.fromisoformat(day).replace(tzinfo=UTC) if day else None
    fields = {"collection": "news", "kind": "article", "text": "Words."} | fields
    return Document(uri=f"file:///{name}", title=name, published_at=moment, **fields)


def titles(catalogue: Catalogue, *limits: Filters) -> list[str]:
    return [entry.title for entry in catalogue.listings.entries(limits)]


def test_entries_are_in_order_of_date_and_the_undated_last(catalogue: Catalogue) -> None:
    put(catalogue, article("b", "2025-02-01"), article("none"), article("a", "2025-02-01"))
    put(catalogue, article("early", "2024-12-31"))
    assert titles(catalogue) == ["early", "a", "b", "none"]


def test_limits_add_up_also_where_they_are_of_one_field(catalogue: Catalogue) -> None:
    put(
        catalogue,
        article("both", authors=("Ada Moss", "Bo Reed"), taxonomy={"sectors": ("energy", "food")}),
        article("ada", authors=("Ada Moss",), taxonomy={"sectors": ("energy",)}),
        article("bo", authors=("Bo Reed",), taxonomy={"sectors": ("food",)}),
    )
    ada, bo = Filters(authors=("ada moss",)), Filters(authors=("BO REED",))
    assert titles(catalogue, ada) == ["ada", "both"]
    assert titles(catalogue, ada, bo) == ["both"]
    assert titles(catalogue, Filters(authors=("ada moss", "bo reed"))) == ["ada", "bo", "both"]
    energy, food = (Filters(taxonomy=(("sectors", value),)) for value in ("energy", "food"))
    assert titles(catalogue, energy, food) == ["both"]
    assert titles(catalogue, Filters(taxonomy=(("scales", "energy"),))) == []


def test_values_join_spellings_and_count_each_document_once(catalogue: Catalogue) -> None:
    first, second = put(
        catalogue,
        article("a", "2025-01-01", authors=("Ada Moss", "ADA MOSS")),
        article("b", "2025-01-02", authors=("ada moss", "Bo Reed")),
    )
    assert catalogue.listings.values("author") == {"Ada Moss": [first, second], "Bo Reed": [second]}
    assert catalogue.listings.values("language") == {}
    assert catalogue.listings.values("kind") == {"article": [first, second]}


def test_taxonomy_and_sizes_agree_with_the_documents(catalogue: Catalogue) -> None:
    one, two, _ = put(
        catalogue,
        article("a", "2024-05-01", taxonomy={"sectors": ("energy",), "scales": ("small",)}),
        article("b", "2025-05-01", taxonomy={"sectors": ("energy", "food")}),
        article("c", kind="page"),
    )
    censuses = catalogue.listings
    assert censuses.taxonomy() == {
        ("scales", "small"): [one],
        ("sectors", "energy"): [one, two],
        ("sectors", "food"): [two],
    }
    sizes = {pair: len(ids) for pair, ids in censuses.taxonomy().items()}
    assert censuses.taxonomy_sizes() == sizes
    assert censuses.sizes(("kind", "year")) == {
        ("article", "2024"): 1,
        ("article", "2025"): 1,
        ("page", ""): 1,
    }
    assert censuses.count([Filters(kinds=("article",))]) == 2
    dated = (2, datetime(2024, 5, 1, tzinfo=UTC), datetime(2025, 5, 1, tzinfo=UTC))
    assert censuses.dated([]) == dated


def test_mentions_are_told_by_name_and_only_of_live_versions(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    ferry = Document(
        collection="news",
        uri="file:///ferry.md",
        kind="entity",
        title="Ferry",
        text="A ferry.",
        entity=EntityFacts(entity_id="ferry", entity_type="thing", aliases=("the boat",)),
    )
    told = article("told", text="The ferry and the boat and the ferry.")
    known, _ = put(catalogue, told, ferry)
    version = version_of(told.text, told.marks)
    names = [
        FoundName(entity_id="ferry", span=Span(start=start, end=end), name=told.text[start:end])
        for start, end in ((4, 9), (14, 22), (31, 36))
    ]
    catalogue.graph.scans.keep("hash", {(known, version): names})
    mentioning = catalogue.listings.mentioning(("news", "ferry"))
    assert mentioning == {known: {"ferry": 2, "the boat": 1}}
    assert catalogue.listings.mentioning(("other", "ferry")) == {}
    assert catalogue.listings.named_in("news", [known]) == {"ferry": 1}
    with closing(Database(tmp_path / "catalogue.db")) as own, own.write() as connection:
        connection.execute(update(mention_scans).values(version="of another text"))
    assert catalogue.listings.mentioning(("news", "ferry")) == {}
    assert catalogue.listings.named_in("news", [known]) == {}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Catalogue, list[Document]]]:
    """Sixty documents that differ in everything, in a fixed pattern."""
    made = [
        article(
            f"{number:02d}",
            f"2025-{1 + number % 12:02d}-{1 + number % 28:02d}" if number % 5 else "",
            collection=("news", "club")[number % 2],
            kind=("article", "page", "paper")[number % 3],
            authors=PEOPLE[: number % 4],
            taxonomy={"sectors": SECTORS[number % 3 : number % 3 + number % 2 + 1]},
        )
        for number in range(60)
    ]
    catalogue = Catalogue.open(tmp_path_factory.mktemp("crowd") / "catalogue.db")
    put(catalogue, *made)
    yield catalogue, made
    catalogue.close()


def meets(one: Document, limit: Filters) -> bool:
    when = one.published_at
    return (
        (not limit.collections or one.collection in limit.collections)
        and (not limit.kinds or one.kind in limit.kinds)
        and (not limit.authors or bool(set(limit.authors) & set(one.authors)))
        and (not limit.published_from or bool(when and when >= limit.published_from))
        and (
            not limit.taxonomy
            or any(value in one.taxonomy.get(name, ()) for name, value in limit.taxonomy)
        )
    )


limits = st.builds(
    Filters,
    collections=st.sets(st.sampled_from(("news", "club", "nobody"))).map(tuple),
    kinds=st.sets(st.sampled_from(("article", "page", "qa"))).map(tuple),
    authors=st.sets(st.sampled_from(PEOPLE)).map(tuple),
    published_from=st.none()
    | st.dates(datetime(2025, 1, 1).date(), datetime(2025, 12, 31).date()).map(
        lambda day: datetime(day.year, day.month, day.day, tzinfo=UTC)
    ),
    taxonomy=st.sets(st.sampled_from([("sectors", value) for value in SECTORS])).map(tuple),
)


@examples(max_examples=30, deadline=None)
@given(chosen=st.lists(limits, max_size=3))
def test_the_query_means_what_the_words_of_filters_say(
    crowd: tuple[Catalogue, list[Document]], chosen: list[Filters]
) -> None:
    catalogue, made = crowd
    wanted = {one.title for one in made if all(meets(one, limit) for limit in chosen)}
    assert set(titles(catalogue, *chosen)) == wanted
    assert catalogue.listings.count(chosen) == len(wanted)
