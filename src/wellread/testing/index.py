# ruff: noqa: D102 - the names of tests are descriptions
"""Contract tests for index back ends (``store.base.KeptIndex``): inherit ``IndexContract``.

::

    class TestMyIndex(IndexContract):
        @pytest.fixture
        def open_index(self, tmp_path):
            return lambda name: MyIndex(tmp_path / name, dimensions=DIMENSIONS)
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from wellread.errors import StoreError
from wellread.store.base import HeldRow, KeptIndex
from wellread.testing.index_model import (
    ANY,
    MANY,
    IndexTests,
    OpenIndex,
    axes,
    bad_vectors,
    check_against_model,
    ids,
    make_row,
    random_vectors,
    stored_ids,
    write,
)
from wellread.testing.index_search import IndexSearchContract
from wellread.types import Filters, Span


class IndexUpkeepContract(IndexTests):
    """Tests of rows without vectors, of reading all rows, and of purging."""

    # --- vectors that come later ---

    def test_bad_vectors_change_nothing(self, index: KeptIndex) -> None:
        index.write([make_row("a", "ferry"), make_row("b", "gannet")], None)
        for vectors in bad_vectors():
            with pytest.raises(StoreError):
                index.set_vectors(["a", "b"], vectors)
        assert index.search_vector(axes(0)[0], ANY, 5) == []

    def test_rows_with_and_without_vectors_live_in_one_table(self, index: KeptIndex) -> None:
        vectors = random_vectors(MANY)
        rows = [
            make_row(f"p{n:03}", f"ferry word{n % 7}", collection=f"c{n % 2}") for n in range(MANY)
        ]
        index.write(rows[: MANY // 2], vectors[: MANY // 2])
        index.write(rows[MANY // 2 :], None)
        index.optimize()
        odd = Filters(collections=("c1",))
        for filters, step in ((ANY, 1), (odd, 2)):
            hits = index.search_vector(vectors[1], filters, MANY)
            expected = {row.passage_id for row in rows[step - 1 : MANY // 2 : step]}
            assert set(ids(hits)) == expected
            assert len(index.search_text("ferry", filters, MANY)) == MANY // step
        late = [row.passage_id for row in rows[MANY // 2 :]]
        index.set_vectors(late, vectors[MANY // 2 :])
        for _ in range(2):
            assert len(index.search_vector(vectors[1], ANY, MANY)) == MANY
            for n in (1, MANY // 2 + 1, MANY - 1):
                assert ids(index.search_vector(vectors[n], ANY, 1)) == [f"p{n:03}"]
            index.optimize()

    # --- held, rows ---

    def test_held_rows_are_as_they_were_written(self, index: KeptIndex) -> None:
        index.write(
            [
                make_row("a", "ferry", context="Boats › Large", span=Span(start=3, end=8)),
                make_row("b", "gannet", version="v2", collection="side"),
            ],
            axes(0, 1),
        )
        index.write([make_row("c", "Ünï")], None)
        assert sorted(index.held(), key=lambda row: row.passage_id) == [
            HeldRow("a", "doc-a", "v1", 3, 8, "main", "Boats › Large\nferry", True),
            HeldRow("b", "doc-b", "v2", 0, 6, "side", "gannet", True),
            HeldRow("c", "doc-c", "v1", 0, 3, "main", "Ünï", False),
        ]

    def test_rebuilt_structures_find_the_same(self, index: KeptIndex) -> None:
        write(index, [make_row("a", "ferry"), make_row("b", "gannet")])
        index.remove([("doc-b", "v1")])
        index.rebuild()
        write(index, [make_row("c", "gannet")])
        assert sorted(ids(index.search_text("ferry gannet", ANY, 5))) == ["a", "c"]
        assert sorted(ids(index.search_vector(axes(0)[0], ANY, 5))) == ["a", "c"]

    # --- purge ---

    def test_what_was_removed_or_replaced_asks_for_a_purge(self, open_index: OpenIndex) -> None:
        index = open_index("purged")
        assert index.purged()
        write(index, [make_row("a", "ferry"), make_row("b", "gannet"), make_row("c", "kelp")])
        index.set_vectors(["a"], axes(4))
        index.optimize()
        index.remove([("nobody", "v1")])
        assert index.purged()
        index.remove([("doc-b", "v1")])
        assert not index.purged()
        assert not open_index("purged").purged()
        index.optimize()
        assert not index.purged()
        index.purge()
        assert index.purged()
        index.write([make_row("a", "ferry anew")], None)
        assert not index.purged()
        index.purge()
        assert open_index("purged").purged()
        index.purge()
        assert stored_ids(index) == ["a", "c"]

    @pytest.mark.parametrize("rows", [3, MANY])
    @pytest.mark.parametrize("optimized", [False, True])
    def test_a_purge_changes_no_result(self, index: KeptIndex, rows: int, optimized: bool) -> None:
        vectors = random_vectors(rows)
        index_rows = [
            make_row(f"p{n:03}", f"ferry word{n % 7}", authors=(f"Ann {n % 3}",))
            for n in range(rows)
        ]
        index.write(index_rows, vectors)
        if optimized:
            index.optimize()
        index.remove([("doc-p001", "v1")])
        index.write([make_row("late", "kelp")], None)
        ann = Filters(authors=("ann 0",))
        before = self._results(index, vectors, ann)
        for _ in range(2):
            index.purge()
            assert self._results(index, vectors, ann) == before
            index.write([make_row("late", "kelp")], None)
        index.set_vectors(["late"], axes(3))
        assert ids(index.search_vector(axes(3)[0], ANY, 1)) == ["late"]

    @staticmethod
    def _results(index: KeptIndex, vectors: NDArray[np.float32], filters: Filters) -> list[object]:
        return [
            stored_ids(index),
            *(sorted(ids(index.search_text(f"word{n}", ANY, MANY))) for n in range(7)),
            sorted(ids(index.search_text("ferry kelp", filters, MANY))),
            ids(index.search_text("kelp", ANY, 5)),
            ids(index.search_vector(vectors[2], ANY, 3)),
            set(ids(index.search_vector(vectors[0], ANY, MANY + 5))),
            set(ids(index.search_vector(vectors[0], filters, MANY + 5))),
        ]


class IndexContract(IndexSearchContract, IndexUpkeepContract):
    """All tests for an index back end. Inherit the class and define the fixture ``open_index``."""

    # --- write ---

    def test_written_rows_are_found_by_words_and_by_vector(self, index: KeptIndex) -> None:
        row = make_row("a", "The ferry leaves at noon", span=Span(start=7, end=31), version="v9")
        index.write([row], axes(0))
        expected = (row.passage_id, row.document_id, row.version, row.span)
        for hits in (index.search_text("ferry", ANY, 5), index.search_vector(axes(0)[0], ANY, 5)):
            (hit,) = hits
            assert (hit.passage_id, hit.document_id, hit.version, hit.span) == expected

    def test_bad_vectors_stop_the_whole_write(self, index: KeptIndex) -> None:
        for vectors in bad_vectors():
            with pytest.raises(StoreError):
                index.write([make_row("a", "kittiwake"), make_row("b", "gannet")], vectors)
        assert stored_ids(index) == []

    # --- remove ---

    def test_removing_what_is_not_there_is_no_error(self, index: KeptIndex) -> None:
        write(index, [make_row("a", "ferry")])
        assert index.remove([("nobody", "v1"), ("doc-a", "v0"), ("' OR '1'='1", "x")]) == 0
        assert index.remove([]) == 0
        assert len(stored_ids(index)) == 1

    def test_many_pairs_can_be_removed_at_once(self, index: KeptIndex) -> None:
        write(index, [make_row(f"p{number}", "ferry") for number in range(30)])
        pairs = [(f"doc-p{number}", "v1") for number in range(1_500)]
        assert index.remove(pairs) == 30
        assert stored_ids(index) == []

    # --- keys, optimize, reopening ---

    def test_one_handle_sees_what_another_wrote(self, open_index: OpenIndex) -> None:
        reader, writer = open_index("shared"), open_index("shared")
        write(writer, [make_row("a", "ferry")])
        assert ids(reader.search_text("ferry", ANY, 5)) == ["a"]
        writer.remove([("doc-a", "v1")])
        write(writer, [make_row("b", "ferry")])
        writer.optimize()
        assert ids(reader.search_text("ferry", ANY, 5)) == ["b"]
        assert ids(reader.search_vector(axes(0)[0], ANY, 5)) == ["b"]

    def test_any_sequence_of_calls_agrees_with_a_dictionary(self, open_index: OpenIndex) -> None:
        check_against_model(open_index)
