# ruff: noqa: D102 - the names of tests are descriptions
"""Contract tests for the two searches of an index; part of ``testing.index.IndexContract``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from wellread.errors import StoreError
from wellread.store.base import IndexRow, KeptIndex
from wellread.testing.index_model import (
    ANY,
    DIMENSIONS,
    IndexTests,
    axes,
    ids,
    make_row,
    matches,
    write,
)
from wellread.types import Filters

HOSTILE = (
    "') OR 1=1 --",
    "' OR ''='",
    "\\'",
    '"; DROP TABLE passages; --',
    "%",
    "_",
    "*",
    "a\nb",
    "O'Brien",
    "🦜",
)


class IndexSearchContract(IndexTests):
    """Tests of both searches. Back ends inherit ``IndexContract``, which has all tests."""

    # --- search_text ---

    def test_rarer_and_more_frequent_words_rank_higher(self, index: KeptIndex) -> None:
        filler = [make_row(f"f{number}", "harbour notice about tides") for number in range(8)]
        write(
            index,
            [
                *filler,
                make_row("once", "harbour notice about kittiwake"),
                make_row("both", "kittiwake colony near kittiwake rocks"),
            ],
        )
        for _ in range(2):
            assert ids(index.search_text("kittiwake", ANY, 5)) == ["both", "once"]
            best = ids(index.search_text("harbour kittiwake", ANY, 9))
            assert set(best[:2]) == {"once", "both"}
            assert len(best) == 9
            index.optimize()

    def test_scores_fall_and_the_limit_holds(self, index: KeptIndex) -> None:
        write(index, [make_row(f"p{n}", "ferry " + "word " * n) for n in range(6)])
        hits = index.search_text("ferry", ANY, 4)
        assert ids(hits) == ["p0", "p1", "p2", "p3"]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert index.search_text("ferry", ANY, 0) == []

    def test_case_accents_and_endings_do_not_matter(self, index: KeptIndex) -> None:
        write(index, [make_row("a", "Running the Café"), make_row("b", "CAFE runs")])
        for query in ("run", "RUNS", "café", "CAFÉ", "cafe"):
            assert sorted(ids(index.search_text(query, ANY, 5))) == ["a", "b"], query

    @pytest.mark.parametrize(
        "query", ["", "   ", "!?", "\"'", "()", "*", "&& ||", "the of and", "-"]
    )
    def test_a_query_without_a_searchable_word_finds_nothing(
        self, index: KeptIndex, query: str
    ) -> None:
        write(index, [make_row("a", "the ferry and the harbour"), make_row("b", "of tides")])
        assert index.search_text(query, ANY, 5) == []

    @pytest.mark.parametrize(
        "query",
        [
            "ferry AND zebra",
            "+zebra ferry",
            "NOT ferry",
            "-ferry",
            'ferry "zebra lion',
            "title:ferry",
            "(ferry",
            "ferry^2 ~",
            "ferry\\",
            "ferry' OR '1'='1",
            "ferry\x00",
            "\ud800 ferry",
            "ferry?",
        ],
    )
    def test_no_character_of_a_query_is_an_operator(self, index: KeptIndex, query: str) -> None:
        write(index, [make_row("a", "ferry"), make_row("b", "harbour")])
        assert ids(index.search_text(query, ANY, 5)) == ["a"]

    def test_a_star_does_not_widen_a_word(self, index: KeptIndex) -> None:
        write(index, [make_row("a", "ferryman")])
        assert index.search_text("ferr*", ANY, 5) == []

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("naïve Größe", "größe"),
            ("e\u0301te\u0301 plage", "plage"),
            ("שלום עולם", "עולם"),
            ("مرحبا بالعالم", "مرحبا"),
            ("𝔘nicode 🚲 bicycle", "bicycle"),
            ("Привет мир", "привет"),
        ],
    )
    def test_words_of_every_script_are_found(self, index: KeptIndex, text: str, query: str) -> None:
        write(index, [make_row("a", text), make_row("b", "other words")])
        for _ in range(2):
            assert ids(index.search_text(query, ANY, 5)) == ["a"]
            index.optimize()

    def test_equal_rows_come_in_a_repeatable_order(self, index: KeptIndex) -> None:
        rows = [make_row(f"p{number:02}", "ferry at noon") for number in (5, 3, 9, 1, 7)]
        index.write(rows, axes(0, 0, 0, 0, 0))
        expected = ["p01", "p03", "p05", "p07", "p09"]
        for _ in range(2):
            assert ids(index.search_text("ferry", ANY, 9)) == expected
            assert ids(index.search_text("ferry", ANY, 2)) == expected[:2]
            assert ids(index.search_vector(axes(0)[0], ANY, 9)) == expected
            assert ids(index.search_vector(axes(0)[0], ANY, 2)) == expected[:2]
            index.optimize()

    def test_context_is_searched_together_with_the_text(self, index: KeptIndex) -> None:
        write(index, [make_row("a", "it leaves at noon", context="Ferry › Timetable")])
        assert ids(index.search_text("timetable", ANY, 5)) == ["a"]
        assert ids(index.search_text("noon", ANY, 5)) == ["a"]

    def test_words_that_differ_a_little_are_found_when_asked_for(self, index: KeptIndex) -> None:
        write(
            index, [make_row("a", "kittiwake"), make_row("b", "mittiwake"), make_row("c", "gull")]
        )
        index.optimize()
        assert index.search_text("kitiwak", ANY, 5) == []
        assert ids(index.search_text("kitiwak", ANY, 5, differences=1)) == ["a"]
        assert ids(index.search_text("ktiwak", ANY, 5, differences=2)) == ["a"]
        assert index.search_text("ktiwak", ANY, 5, differences=1) == []

    # --- search_vector ---

    def test_vectors_rank_by_cosine(self, index: KeptIndex) -> None:
        generator = np.random.default_rng(3)
        vectors = generator.standard_normal((60, DIMENSIONS)).astype(np.float32)
        vectors *= generator.uniform(0.1, 9, (60, 1)).astype(np.float32)
        rows = [make_row(f"p{number:02}", "ferry") for number in range(60)]
        index.write(rows, vectors)
        query = generator.standard_normal(DIMENSIONS).astype(np.float32) * 5
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
        cosines = vectors @ query / lengths
        best = np.argsort(-cosines)[:10]
        for _ in range(2):
            hits = index.search_vector(query, ANY, 10)
            assert ids(hits) == [f"p{number:02}" for number in best]
            assert [hit.score for hit in hits] == pytest.approx(list(cosines[best]), abs=1e-4)
            index.optimize()

    def test_a_vector_of_another_size_is_refused(self, index: KeptIndex) -> None:
        with pytest.raises(StoreError):
            index.search_vector(np.ones(DIMENSIONS + 1, dtype=np.float32), ANY, 5)

    # --- filters ---

    @pytest.fixture
    def varied(self, index: KeptIndex) -> list[IndexRow]:
        """Rows that differ in every field of a filter."""
        day = datetime(2025, 3, 1, 12, tzinfo=UTC)
        rows = [
            make_row("a", "ferry", collection="news", kind="article", source_type="rss"),
            make_row("b", "ferry", collection="news", language="de", published_at=day),
            make_row("c", "ferry", authors=("Ann Lee", "O'Brien"), taxonomy=("s=1", "t=x")),
            make_row("d", "ferry", speakers=("JÖRG", "Ann"), taxonomy=("s=2", "t=x")),
            make_row("e", "ferry", document_id="doc-a", taxonomy=("s=1", "t=y")),
            make_row("f", "ferry", published_at=day + timedelta(days=9), authors=("ann lee",)),
            make_row("g", "ferry", published_at=datetime(1931, 7, 4, tzinfo=UTC)),
            make_row("h", "ferry", kind="transcript", speakers=("ann",), collection="talks"),
        ]
        write(index, rows)
        return rows

    @pytest.mark.parametrize("optimized", [False, True])
    @pytest.mark.parametrize(
        "filters",
        [
            Filters(collections=("news",)),
            Filters(collections=("news", "talks")),
            Filters(collections=("nothing",)),
            Filters(kinds=("article", "transcript")),
            Filters(document_ids=("doc-a", "doc-h")),
            Filters(source_types=("rss",)),
            Filters(languages=("de",)),
            Filters(authors=("ANN LEE",)),
            Filters(authors=("o'brien", "nobody")),
            Filters(speakers=("jörg",)),
            Filters(speakers=("Ann",)),
            Filters(published_from=datetime(2025, 3, 1, 12, tzinfo=UTC)),
            Filters(published_from=datetime(2025, 3, 1, 12, 0, 0, 1, tzinfo=UTC)),
            Filters(published_to=datetime(2025, 3, 1, 12)),
            Filters(published_to=datetime(2025, 3, 1, 13, tzinfo=timezone(timedelta(hours=2)))),
            Filters(published_to=datetime(1969, 12, 31, tzinfo=UTC)),
            Filters(taxonomy=(("s", "1"),)),
            Filters(taxonomy=(("s", "1"), ("s", "2"))),
            Filters(taxonomy=(("s", "1"), ("s", "2"), ("t", "x"))),
            Filters(collections=("news",), languages=("de",)),
            Filters(collections=("news",), authors=("ann lee",)),
            Filters(kinds=("transcript",), speakers=("ANN",), collections=("talks",)),
        ],
    )
    def test_filters_limit_both_searches(
        self, index: KeptIndex, varied: list[IndexRow], filters: Filters, optimized: bool
    ) -> None:
        if optimized:
            index.optimize()
        expected = [row.passage_id for row in varied if matches(row, filters)]
        assert len(expected) < len(varied)
        assert sorted(ids(index.search_text("ferry", filters, 20))) == expected
        assert sorted(ids(index.search_vector(axes(0)[0], filters, 20))) == expected

    @pytest.mark.parametrize("value", HOSTILE)
    def test_a_value_of_a_filter_is_only_a_value(self, index: KeptIndex, value: str) -> None:
        other = make_row("other", "ferry", document_id="other", collection="main")
        fields: dict[str, Any] = dict.fromkeys(("document_id", "collection"), value)
        fields |= dict.fromkeys(("source_type", "language"), value)
        fields |= dict.fromkeys(("authors", "speakers"), (value,))
        mine = make_row("mine", "ferry", taxonomy=(f"{value}={value}",), **fields)
        names = ("collections", "document_ids", "source_types", "languages", "authors", "speakers")
        arguments: list[dict[str, Any]] = [{name: (value,)} for name in names]
        limits = [Filters(**each) for each in [*arguments, {"taxonomy": ((value, value),)}]]
        write(index, [other])
        for filters in limits:
            assert index.search_text("ferry", filters, 5) == [], filters
        write(index, [mine])
        for filters in limits:
            assert ids(index.search_text("ferry", filters, 5)) == ["mine"], filters
            assert ids(index.search_vector(axes(0)[0], filters, 5)) == ["mine"], filters
        assert index.remove([(value, "v1")]) == 1
        assert ids(index.search_text("ferry", ANY, 5)) == ["other"]

    def test_a_filter_is_applied_before_the_limit(self, index: KeptIndex) -> None:
        rows = [make_row(f"p{number:03}", "ferry ferry", collection="big") for number in range(150)]
        write(index, [*rows, make_row("wanted", "ferry and much else", collection="small")])
        index.optimize()
        small = Filters(collections=("small",))
        assert ids(index.search_text("ferry", small, 1)) == ["wanted"]
        assert ids(index.search_vector(axes(5)[0], small, 1)) == ["wanted"]

    def test_a_long_list_of_documents_can_be_named(self, index: KeptIndex) -> None:
        write(index, [make_row("a", "ferry"), make_row("b", "ferry")])
        many = Filters(document_ids=(*(f"x{number}" for number in range(3_000)), "doc-b"))
        assert ids(index.search_text("ferry", many, 5)) == ["b"]
