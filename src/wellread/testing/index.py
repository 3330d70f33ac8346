# ruff: noqa: D102 - the name of a test says what it holds
"""What every ``store.base.Index`` must do. A back end's test class inherits ``IndexContract``.

::

    class TestMyIndex(IndexContract):
        @pytest.fixture
        def open_index(self, tmp_path):
            return lambda name: MyIndex(tmp_path / name, dimensions=DIMENSIONS)
"""

from __future__ import annotations

import numpy as np
import pytest

from wellread.errors import StoreError
from wellread.store.base import Index, IndexKey
from wellread.testing.index_model import (
    ANY,
    DIMENSIONS,
    OpenIndex,
    axes,
    bad_vectors,
    check_against_model,
    held,
    ids,
    make_row,
    write,
)
from wellread.testing.index_search import IndexSearchContract
from wellread.testing.index_upkeep import IndexUpkeepContract
from wellread.types import Span

NO_VECTORS = np.zeros((0, DIMENSIONS), dtype=np.float32)


class IndexContract(IndexSearchContract, IndexUpkeepContract):
    """Inherit it and provide the fixture ``open_index``."""

    # --- write ---

    def test_written_rows_are_found_by_words_and_by_vector(self, index: Index) -> None:
        row = make_row("a", "The ferry leaves at noon", span=Span(start=7, end=31), version="v9")
        index.write([row], axes(0))
        expected = (row.passage_id, row.document_id, row.version, row.span)
        for found in (
            index.search_text("ferry", ANY, 5),
            index.search_vector(axes(0)[0], ANY, 5),
        ):
            (hit,) = found
            assert (hit.passage_id, hit.document_id, hit.version, hit.span) == expected

    def test_context_is_searched_together_with_the_text(self, index: Index) -> None:
        write(index, [make_row("a", "it leaves at noon", context="Ferry › Timetable")])
        assert ids(index.search_text("timetable", ANY, 5)) == ["a"]
        assert ids(index.search_text("noon", ANY, 5)) == ["a"]

    def test_words_that_differ_a_little_are_found_when_asked_for(self, index: Index) -> None:
        write(
            index, [make_row("a", "kittiwake"), make_row("b", "mittiwake"), make_row("c", "gull")]
        )
        index.optimize()
        assert index.search_text("kitiwak", ANY, 5) == []
        assert ids(index.search_text("kitiwak", ANY, 5, differences=1)) == ["a"]
        assert ids(index.search_text("ktiwak", ANY, 5, differences=2)) == ["a"]
        assert index.search_text("ktiwak", ANY, 5, differences=1) == []

    def test_a_row_with_a_known_id_replaces_the_old_one(self, index: Index) -> None:
        write(index, [make_row("a", "kittiwake"), make_row("b", "gannet")])
        index.write([make_row("a", "puffin", version="v2")], axes(3))
        assert index.search_text("kittiwake", ANY, 5) == []
        (hit,) = index.search_text("puffin", ANY, 5)
        assert (hit.passage_id, hit.version) == ("a", "v2")
        best = index.search_vector(axes(3)[0], ANY, 1)[0]
        assert best.passage_id == "a"
        assert best.score == pytest.approx(1.0, abs=1e-5)
        assert held(index) == ["a", "b"]

    def test_writing_the_same_rows_again_changes_nothing(self, index: Index) -> None:
        rows = [make_row("a", "kittiwake"), make_row("b", "gannet")]
        write(index, rows)
        write(index, rows)
        assert held(index) == ["a", "b"]
        assert ids(index.search_text("gannet", ANY, 5)) == ["b"]

    def test_of_rows_with_one_id_in_one_call_the_last_one_counts(self, index: Index) -> None:
        index.write([make_row("a", "kittiwake"), make_row("a", "puffin")], axes(0, 1))
        assert index.search_text("kittiwake", ANY, 5) == []
        assert ids(index.search_text("puffin", ANY, 5)) == ["a"]
        assert len(held(index)) == 1

    def test_no_rows_can_be_written(self, index: Index) -> None:
        index.write([], NO_VECTORS)
        assert held(index) == []

    def test_bad_vectors_stop_the_whole_write(self, index: Index) -> None:
        for vectors in bad_vectors():
            with pytest.raises(StoreError):
                index.write([make_row("a", "kittiwake"), make_row("b", "gannet")], vectors)
        assert held(index) == []

    # --- remove ---

    def test_remove_takes_all_rows_of_one_version_and_only_those(self, index: Index) -> None:
        write(
            index,
            [
                make_row("a", "ferry", document_id="d1", version="v1"),
                make_row("b", "ferry", document_id="d1", version="v1"),
                make_row("c", "ferry", document_id="d1", version="v2"),
                make_row("d", "ferry", document_id="d2", version="v1"),
                make_row("e", "ferry", document_id="d2", version="v2"),
            ],
        )
        # Crosswise: neither (d1, v2) nor (d2, v1) was named.
        assert index.remove([("d1", "v1"), ("d2", "v2")]) == 3
        assert sorted(ids(index.search_text("ferry", ANY, 9))) == ["c", "d"]
        assert sorted(ids(index.search_vector(axes(0)[0], ANY, 9))) == ["c", "d"]
        assert held(index) == ["c", "d"]

    def test_removing_what_is_not_there_is_no_error(self, index: Index) -> None:
        write(index, [make_row("a", "ferry")])
        assert index.remove([("nobody", "v1"), ("doc-a", "v0"), ("' OR '1'='1", "x")]) == 0
        assert index.remove([]) == 0
        assert len(held(index)) == 1

    def test_a_pair_named_twice_is_counted_once(self, index: Index) -> None:
        write(index, [make_row("a", "ferry")])
        assert index.remove([("doc-a", "v1"), ("doc-a", "v1")]) == 1

    def test_many_pairs_can_be_removed_at_once(self, index: Index) -> None:
        write(index, [make_row(f"p{number}", "ferry") for number in range(30)])
        pairs = [(f"doc-p{number}", "v1") for number in range(1_500)]
        assert index.remove(pairs) == 30
        assert held(index) == []

    # --- keys, optimize, reopening ---

    def test_keys_name_every_row(self, index: Index) -> None:
        write(index, [make_row("a", "ferry"), make_row("b", "", version="v2")])
        assert sorted(index.keys(), key=lambda key: key.passage_id) == [
            IndexKey(passage_id="a", document_id="doc-a", version="v1"),
            IndexKey(passage_id="b", document_id="doc-b", version="v2"),
        ]

    def test_optimize_can_be_repeated_and_changes_no_result(self, index: Index) -> None:
        write(index, [make_row(f"p{n:02}", f"ferry word{n % 3}") for n in range(40)])
        index.remove([("doc-p03", "v1")])
        before = (self._all(index), ids(index.search_vector(axes(2)[0], ANY, 50)))
        for _ in range(2):
            index.optimize()
            after = (self._all(index), ids(index.search_vector(axes(2)[0], ANY, 50)))
            assert after == before

    @staticmethod
    def _all(index: Index) -> list[list[str]]:
        return [sorted(ids(index.search_text(f"word{n}", ANY, 50))) for n in range(3)]

    def test_rows_written_after_optimize_are_found(self, index: Index) -> None:
        write(index, [make_row("a", "ferry")])
        index.optimize()
        index.write([make_row("b", "ferry kittiwake")], axes(4))
        assert ids(index.search_text("kittiwake", ANY, 5)) == ["b"]
        assert sorted(ids(index.search_text("ferry", ANY, 5))) == ["a", "b"]
        assert ids(index.search_vector(axes(4)[0], ANY, 1)) == ["b"]

    def test_everything_is_there_after_reopening(self, open_index: OpenIndex) -> None:
        write(open_index("kept"), [make_row("a", "ferry"), make_row("b", "gannet")])
        open_index("kept").remove([("doc-b", "v1")])
        again = open_index("kept")
        assert ids(again.search_text("ferry gannet", ANY, 5)) == ["a"]
        assert held(again) == ["a"]

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
