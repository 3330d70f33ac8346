"""The LanceDB index: the contract, and what is particular to it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from tests.doubles import forked

from wellread.errors import DamageError, StoreError
from wellread.store.base import Fingerprint
from wellread.store.index import lance, lance_tables
from wellread.store.index.lance import LanceIndex
from wellread.store.index.lance_tables import table_name
from wellread.testing.index import IndexContract, IndexUpkeepContract
from wellread.testing.index_model import (
    ANY,
    DIMENSIONS,
    MANY,
    OpenIndex,
    axes,
    ids,
    make_row,
    random_vectors,
    write,
)
from wellread.types import Filters

PRINT = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c1")


class TestLanceContract(IndexContract):
    """With tables that get structures for filters when they grow, in most of the tests."""

    @pytest.fixture
    def open_index(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenIndex:
        monkeypatch.setattr(lance_tables, "FILTER_INDEX_ROWS", 3)
        return lambda name: LanceIndex.open(tmp_path / name, PRINT)


class TestLanceUpkeepWithVectorIndex(IndexUpkeepContract):
    """The same with tables that are large enough for a vector index."""

    @pytest.fixture
    def open_index(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenIndex:
        monkeypatch.setattr(lance, "VECTOR_INDEX_ROWS", 300)
        monkeypatch.setattr(lance_tables, "FILTER_INDEX_ROWS", 1)
        return lambda name: LanceIndex.open(tmp_path / name, PRINT)


def test_fingerprints_live_side_by_side(tmp_path: Path) -> None:
    other = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c2")
    write(LanceIndex.open(tmp_path, PRINT), [make_row("a", "ferry")])
    write(LanceIndex.open(tmp_path, other), [make_row("b", "ferry")])
    assert ids(LanceIndex.open(tmp_path, PRINT).search_text("ferry", ANY, 5)) == ["a"]
    assert ids(LanceIndex.open(tmp_path, other).search_text("ferry", ANY, 5)) == ["b"]


def test_a_reader_sees_what_another_process_wrote(tmp_path: Path) -> None:
    reader = LanceIndex.open(tmp_path, PRINT)
    assert reader.search_text("ferry", ANY, 5) == []
    code = (
        "import sys, pathlib\n"
        "from wellread.store.base import Fingerprint\n"
        "from wellread.store.index.lance import LanceIndex\n"
        "from wellread.testing.index_model import make_row, write\n"
        "made = Fingerprint(embedder='words', dimensions=8, chunking='c1')\n"
        "index = LanceIndex.open(pathlib.Path(sys.argv[1]), made)\n"
        "write(index, [make_row('a', 'ferry'), make_row('b', 'gannet')])\n"
        "index.remove([('doc-b', 'v1')])\n"
        "index.optimize()\n"
    )
    assert forked.run(code, str(tmp_path)).returncode == 0
    assert ids(reader.search_text("ferry gannet", ANY, 5)) == ["a"]
    assert ids(reader.search_vector(axes(0)[0], ANY, 5)) == ["a"]


def test_threads_can_write_and_search_at_once(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path, PRINT)
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(3):
                write(index, [make_row(f"p{number}-{turn}", "ferry")])
                assert index.search_text("ferry", ANY, 100)
            index.optimize()
        except (StoreError, AssertionError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(index.search_text("ferry", ANY, 100)) == 12


def test_the_vector_index_agrees_with_the_exact_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(5)
    vectors = generator.standard_normal((1_500, DIMENSIONS)).astype(np.float32)
    queries = generator.standard_normal((20, DIMENSIONS)).astype(np.float32)
    index = LanceIndex.open(tmp_path, PRINT)
    index.write(
        [make_row(f"p{n}", "ferry", collection=f"c{n % 50}") for n in range(1_500)], vectors
    )
    exact = [ids(index.search_vector(query, ANY, 10)) for query in queries]
    monkeypatch.setattr(lance, "VECTOR_INDEX_ROWS", 1_000)
    index.optimize()
    found = [ids(index.search_vector(query, ANY, 10)) for query in queries]
    shared = sum(len(set(a) & set(b)) for a, b in zip(exact, found, strict=True))
    assert shared >= 0.97 * 200


def test_a_narrow_filter_finds_rows_beyond_the_probed_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LanceDB joins small partitions, and searches exactly where a filter leaves no more rows than
    # are asked for; so it takes some rows to see one partition that holds too few of them.
    for name, value in (("VECTOR_INDEX_ROWS", 1_000), ("PROBES", 1), ("REFINE", 1)):
        monkeypatch.setattr(lance, name, value)
    vectors = np.random.default_rng(5).standard_normal((12_000, DIMENSIONS)).astype(np.float32)
    rows = [make_row(f"p{n}", "ferry", collection=f"c{n % 100}") for n in range(12_000)]
    index = LanceIndex.open(tmp_path, PRINT)
    index.write(rows, vectors)
    index.optimize()
    narrow = Filters(collections=("c7",))
    assert len(index.search_vector(vectors[0], narrow, 90)) == 90
    monkeypatch.setattr(lance, "PARTITION_ROWS", 20_000)  # as if the probes were all there are
    assert len(index.search_vector(vectors[0], narrow, 90)) < 90


def test_the_vector_index_is_built_anew_when_the_table_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lance, "VECTOR_INDEX_ROWS", 300)
    monkeypatch.setattr(lance_tables, "FILTER_INDEX_ROWS", 1)  # LanceDB finds rows by their ids
    generator = np.random.default_rng(6)

    def grow(index: LanceIndex, first: int, last: int) -> int:
        rows = [make_row(f"p{n}", "ferry") for n in range(first, last)]
        index.write(rows, generator.standard_normal((last - first, DIMENSIONS)).astype(np.float32))
        caplog.clear()
        with caplog.at_level("INFO", logger=lance.__name__):
            index.optimize()
        return len(caplog.records)

    index = LanceIndex.open(tmp_path, PRINT)
    late = [f"late{n}" for n in range(100)]
    index.write([make_row(name, "ferry") for name in late], None)
    assert [grow(index, 0, 400), grow(index, 400, 500), grow(index, 500, 1_200)] == [1, 0, 1]
    index.optimize()
    index.set_vectors(late, generator.standard_normal((100, DIMENSIONS)).astype(np.float32))
    assert grow(index, 1_200, 1_201) == 0
    assert len(index.search_vector(axes(0)[0], ANY, 2_000)) == 1_301


@pytest.mark.parametrize("filter_rows", [1, lance_tables.FILTER_INDEX_ROWS])
def test_removed_text_leaves_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filter_rows: int
) -> None:
    monkeypatch.setattr(lance_tables, "FILTER_INDEX_ROWS", filter_rows)
    index = LanceIndex.open(tmp_path, PRINT)
    rows = [make_row(f"p{n}", f"ferry number {n}", authors=(f"Ann {n}",)) for n in range(40)]
    secret = make_row("a", "the passphrase is xyzzyplugh", authors=("Plover",), taxonomy=("s=qux",))
    replaced = make_row("b", "the old name was frobozz", context="Grue")
    write(index, [*rows, secret, replaced])
    index.optimize()
    words = (b"xyzzyplugh", b"plover", b"s=qux", b"frobozz", b"Grue")
    assert all(_holds(tmp_path, word) for word in words)
    index.remove([("doc-a", "v1")])
    index.write([make_row("b", "the new name is zork")], None)
    index.optimize()
    assert any(_holds(tmp_path, word) for word in words)
    index.purge()
    assert [word for word in words if _holds(tmp_path, word)] == []
    assert list(tmp_path.glob("*.lance/_deletions/*")) == []
    assert len(index.search_text("ferry", ANY, 50)) == 40
    assert ids(index.search_text("zork", ANY, 5)) == ["b"]
    index.remove([(row.document_id, row.version) for row in (*rows, replaced)])
    index.purge()
    assert [word for word in (b"ferry", b"ann 7", b"zork") if _holds(tmp_path, word)] == []


def test_a_purge_rewrites_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where LanceDB by itself would not, as few rows went; and it compresses long texts."""
    monkeypatch.setattr(lance, "VECTOR_INDEX_ROWS", 300)
    index = LanceIndex.open(tmp_path, PRINT)
    rows = [make_row(f"p{n:03}", f"ferry {n} " + "and so on " * 90) for n in range(MANY)]
    index.write(rows, random_vectors(MANY))
    index.optimize()
    before = _content_files(tmp_path)
    index.remove([("doc-p003", "v1")])
    index.purge()
    assert not before & _content_files(tmp_path)
    assert len(index.search_vector(axes(0)[0], ANY, MANY)) == MANY - 1
    assert len(index.search_text("ferry", ANY, MANY)) == MANY - 1


@pytest.mark.parametrize("replaced", [False, True])
def test_coded_vectors_of_a_data_file_that_went_as_a_whole_leave_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    """LanceDB leaves them in the vector index, which it only rewrites for other data files."""
    index = LanceIndex.open(tmp_path, PRINT)
    rows = [make_row(f"p{n:04}", "ferry") for n in range(4_000)]
    vectors = random_vectors(4_000)
    index.write(rows[:2_000], vectors[:2_000])
    index.optimize()
    index.write(rows[2_000:], vectors[2_000:])
    monkeypatch.setattr(lance, "VECTOR_INDEX_ROWS", 300)
    index.optimize()
    whole = _coded_bytes(tmp_path)
    if replaced:
        index.write(rows[2_000:], None)
    else:
        index.remove([(row.document_id, row.version) for row in rows[2_000:]])
    index.purge()
    assert 0 < _coded_bytes(tmp_path) < 0.7 * whole
    assert len(index.search_vector(axes(0)[0], ANY, 4_000)) == 2_000


def test_a_table_of_an_older_release_is_purged_once(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path, PRINT)
    write(index, [make_row("a", "ferry")])
    for mark in [*tmp_path.glob("*.purged"), *tmp_path.glob("*.coded")]:
        mark.unlink()
    assert not LanceIndex.open(tmp_path, PRINT).purged()
    index.purge()
    assert LanceIndex.open(tmp_path, PRINT).purged()


def test_a_damaged_table_can_be_begun_anew(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path, PRINT)
    write(index, [make_row("a", "ferry")])
    for path in tmp_path.rglob("data/*.lance"):
        path.write_bytes(b"garbage")
    with pytest.raises(DamageError, match="could not read the index") as told:
        list(index.held())
    assert "lance" not in str(told.value).lower()
    LanceIndex.set_aside(tmp_path, PRINT)
    assert LanceIndex.others(tmp_path, PRINT) == [f"{table_name(PRINT)}-damaged"]
    index = LanceIndex.open(tmp_path, PRINT)
    write(index, [make_row("b", "ferry")])
    assert ids(index.search_text("ferry", ANY, 5)) == ["b"]
    assert index.purged()


def test_searches_go_on_during_a_purge(tmp_path: Path) -> None:
    index = LanceIndex.open(tmp_path, PRINT)
    write(index, [make_row(f"p{n}", "ferry") for n in range(300)])
    index.optimize()
    index.remove([("doc-p7", "v1")])
    reader = LanceIndex.open(tmp_path, PRINT)
    done = threading.Event()
    seen: list[int] = []

    def search() -> None:
        while not (done.is_set() and len(seen) > 2):
            seen.append(len(reader.search_text("ferry", ANY, 400)))
            seen.append(len(reader.search_vector(axes(0)[0], ANY, 400)))

    thread = threading.Thread(target=search)
    thread.start()
    index.purge()
    done.set()
    thread.join()
    assert set(seen) == {299}


def _holds(folder: Path, word: bytes) -> bool:
    return any(word in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def _content_files(folder: Path) -> set[Path]:
    """All files of rows and of search structures."""
    return {*folder.rglob("data/*"), *folder.rglob("_indices/*/*")}


def _coded_bytes(folder: Path) -> int:
    """The size of what the vector index holds of the vectors."""
    return sum(path.stat().st_size for path in folder.rglob("auxiliary.idx"))


def test_vectors_held_in_memory_follow_the_table(tmp_path: Path) -> None:
    reader, writer = LanceIndex.open(tmp_path, PRINT), LanceIndex.open(tmp_path, PRINT)
    side = Filters(collections=("side",))
    writer.write([make_row("a", "ferry"), make_row("b", "ferry", collection="side")], axes(0, 1))
    assert ids(reader.search_vector(axes(0)[0], ANY, 5)) == ["a", "b"]
    assert ids(reader.search_vector(axes(0)[0], side, 5)) == ["b"]
    writer.remove([("doc-b", "v1")])
    assert ids(reader.search_vector(axes(0)[0], side, 5)) == []
    writer.write([make_row("a", "ferry", collection="side")], axes(2))
    (hit,) = reader.search_vector(axes(2)[0], side, 5)
    assert hit.passage_id == "a"
    assert hit.score == pytest.approx(1.0)
    LanceIndex.set_aside(tmp_path, PRINT)
    writer = LanceIndex.open(tmp_path, PRINT)
    writer.write([make_row("c", "ferry")], axes(0))
    assert ids(reader.search_vector(axes(0)[0], ANY, 5)) == ["c"]
    again = LanceIndex.open(tmp_path, PRINT)
    assert ids(again.search_vector(axes(0)[0], ANY, 5)) == ["c"]
    assert ids(writer.search_vector(axes(0)[0], side, 5)) == []
