"""The OpenSearch index on a real cluster: the contract, and what is particular to it.

Runs where WELLREAD_TEST_OPENSEARCH names a cluster (``make opensearch-tests``), as in
``http://127.0.0.1:9200,http://127.0.0.1:9201``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("opensearchpy")

from tests.doubles.named_cluster import CLUSTER, drop_all, place_of

from wellread.ask.retrieve.search import search
from wellread.errors import SettingsError, StoreError
from wellread.ingest.reindex import reindex
from wellread.ingest.remove import remove_named
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import files_of
from wellread.store.base import Fingerprint
from wellread.store.index.opensearch import index_copies, passage_index
from wellread.store.index.opensearch.cluster import Cluster, cluster_of, read_address
from wellread.store.index.opensearch.index_copies import indexes_of_base
from wellread.store.index.opensearch.passage_index import OpenSearchIndex
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.index import IndexContract, IndexUpkeepContract
from wellread.testing.index_model import (
    ANY,
    DIMENSIONS,
    OpenIndex,
    axes,
    ids,
    make_row,
    random_vectors,
    stored_ids,
    write,
)
from wellread.types import Filters

DATA = os.environ.get("WELLREAD_TEST_OPENSEARCH_DATA", "")  # with the nodes' files inside
pytestmark = pytest.mark.skipif(not CLUSTER, reason="WELLREAD_TEST_OPENSEARCH names no cluster")
PRINT = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c1", backend="opensearch")
OTHER = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c2", backend="opensearch")


@pytest.fixture
def base() -> Iterator[str]:
    """A name of its own for what a test keeps in the cluster, which goes afterwards."""
    made = f"test-{uuid4().hex[:12]}"
    yield made
    drop_all(made)


class TestOpenSearchContract(IndexContract):
    @pytest.fixture
    def open_index(self, base: str) -> OpenIndex:
        return lambda name: OpenSearchIndex.open(place_of(f"{base}-{name}"), PRINT)


class TestUpkeepWithTheGraphOfVectors(IndexUpkeepContract):
    """The same with indexes that are large enough for it, and with more shards than one."""

    @pytest.fixture
    def open_index(self, base: str, monkeypatch: pytest.MonkeyPatch) -> OpenIndex:
        monkeypatch.setattr(passage_index, "EXACT_ROWS", 300)
        return lambda name: OpenSearchIndex.open(place_of(f"{base}-{name}", "shards=3"), PRINT)


def test_fingerprints_live_side_by_side_until_one_is_dropped(base: str) -> None:
    place = place_of(base)
    write(OpenSearchIndex.open(place, PRINT), [make_row("a", "ferry")])
    write(OpenSearchIndex.open(place, OTHER), [make_row("b", "ferry")])
    assert ids(OpenSearchIndex.open(place, PRINT).search_text("ferry", ANY, 5)) == ["a"]
    assert OpenSearchIndex.others(place, PRINT, OTHER) == []
    (gone,) = OpenSearchIndex.drop_others(place, OTHER)
    assert gone.startswith(f"{base}-b1-")
    assert stored_ids(OpenSearchIndex.open(place, PRINT)) == []
    assert stored_ids(OpenSearchIndex.open(place, OTHER)) == ["b"]


def test_bases_do_not_touch_each_other(base: str) -> None:
    one, other, longer = place_of(base), place_of(base, own="b2"), place_of(f"{base}-b")
    for place in (other, longer):
        write(OpenSearchIndex.open(place, PRINT), [make_row("a", "ferry")])
    assert OpenSearchIndex.others(one) == OpenSearchIndex.drop_others(one) == []
    assert OpenSearchIndex.open(one, PRINT).rows() == 0
    for place in (other, longer):
        assert stored_ids(OpenSearchIndex.open(place, PRINT)) == ["a"]


def test_a_purge_leaves_no_index_with_the_removed_rows(base: str) -> None:
    place = place_of(base, "replicas=9")  # more copies than there are nodes
    index = OpenSearchIndex.open(place, PRINT)
    write(index, [make_row("a", "ferry"), make_row("b", "gannet")])
    index.remove([("doc-b", "v1")])
    cluster = cluster_of(read_address(place))
    (before,) = indexes_of_base(cluster, cluster.address.base)
    index.purge()
    (after,) = indexes_of_base(cluster, cluster.address.base)
    assert after != before
    index_copies.unblock(cluster, index._alias, before)  # as after a switch whose answer was lost
    assert ids(index.search_vector(axes(0)[0], ANY, 5)) == ["a"]


def test_rows_that_are_written_while_the_index_is_copied_are_kept(base: str) -> None:
    index = OpenSearchIndex.open(place_of(base), PRINT)
    write(index, [make_row("a", "ferry"), make_row("gone", "gannet")])
    index.remove([("doc-gone", "v1")])
    copying = threading.Thread(target=index.purge)
    copying.start()
    for number in range(10):
        write(index, [make_row(f"p{number}", "ferry")])
    copying.join()
    assert len(stored_ids(index)) == 11


def test_a_copy_that_broke_off_is_given_up_by_the_next_writer(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_copies, "DEAD_SECONDS", 0.0)
    place = place_of(base)
    index = OpenSearchIndex.open(place, PRINT)
    write(index, [make_row("a", "ferry")])
    cluster = cluster_of(read_address(place))
    (name,) = indexes_of_base(cluster, cluster.address.base)
    cluster.ask("block", "transport.perform_request", method="PUT", url=f"/{name}/_block/write")
    write(index, [make_row("b", "ferry")])
    assert index.remove([("doc-a", "v1")]) == 1
    assert stored_ids(index) == ["b"]


def test_a_copy_given_up_early_is_begun_again(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index = OpenSearchIndex.open(place_of(base), PRINT)
    write(index, [make_row("a", "ferry"), make_row("gone", "gannet")])
    index.remove([("doc-gone", "v1")])
    ask, givings_up = Cluster.ask, iter(range(index_copies.ATTEMPTS + 1))

    def ask_late(cluster: Cluster, action: str, api: str, **arguments: Any) -> Any:
        if api == "reindex" and next(givings_up, None) is not None:
            index_copies.unblock(cluster, index._alias, arguments["body"]["source"]["index"])
        return ask(cluster, action, api, **arguments)

    monkeypatch.setattr(Cluster, "ask", ask_late)
    with pytest.raises(StoreError, match="the copy was given up meanwhile"):
        index.purge()
    index.purge()
    assert index.purged()
    assert ids(index.search_vector(axes(0)[0], ANY, 5)) == stored_ids(index) == ["a"]


def test_the_graph_agrees_with_the_exact_search(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index = OpenSearchIndex.open(place_of(base), PRINT)
    vectors = random_vectors(1_500)
    rows = [make_row(f"p{n}", "ferry", collection=f"c{n % 50}") for n in range(1_500)]
    index.write(rows, vectors)
    narrow = Filters(collections=("c1",))
    exact = [ids(index.search_vector(one, ANY, 10)) for one in vectors[:20]]
    wanted = [ids(index.search_vector(one, narrow, 10)) for one in vectors[:20]]
    monkeypatch.setattr(passage_index, "EXACT_ROWS", 0)
    found = [ids(index.search_vector(one, ANY, 10)) for one in vectors[:20]]
    assert sum(len(set(a) & set(b)) for a, b in zip(exact, found, strict=True)) >= 0.97 * 200
    assert [ids(index.search_vector(one, narrow, 10)) for one in vectors[:20]] == wanted


def test_a_home_moves_into_a_cluster_and_back(base: str, tmp_path: Path) -> None:
    note, home, url = tmp_path / "note.md", tmp_path / "home", place_of(base).url
    note.write_text("The ferry leaves at noon.", encoding="utf-8")
    with kept_in(home) as kb:
        add(kb, [str(note)])
    for settings, engine in (
        ({"url": url}, "opensearch"),
        ({"backend": "lancedb", "url": url}, "lancedb"),
    ):
        with kept_in(home, **settings) as kb:
            assert kb.reindex_needed
            assert reindex(kb).switched
            assert kb.other_indexes() == []
            assert kb.live().fingerprint.backend == engine
            assert [hit.passage.text for hit in search(kb, "When does the ferry leave?", ANY)]
    with kept_in(home) as kb:
        assert not kb.reindex_needed
        assert [hit.passage.text for hit in search(kb, "When does the ferry leave?", ANY)]


def test_where_the_address_is_taken_out_too_early_the_way_back_is_told(
    base: str, tmp_path: Path
) -> None:
    with kept_in(tmp_path, url=place_of(base).url) as kb:
        assert kb.index.rows() == 0
    with (
        kept_in(tmp_path) as kb,
        pytest.raises(SettingsError, match="address of the cluster is not set") as caught,
    ):
        kb.index  # noqa: B018 - it is opened here
    assert "wellread reindex" in str(caught.value.hint)


@pytest.mark.skipif(not DATA, reason="WELLREAD_TEST_OPENSEARCH_DATA names no folder of the nodes")
def test_no_byte_of_what_was_removed_is_left_on_the_nodes(base: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    word = f"quillabroth{uuid4().hex}"
    for number in range(30):
        kept = f"zanzivar{number}" if number else word
        (docs / f"{number}.md").write_text(f"Lamp {number} hangs in the harbour, wrote {kept}.")

    def nodes_hold(said: str) -> bool:
        for path in files_of(Path(DATA)):
            with suppress(FileNotFoundError):  # the nodes are at work
                if said.encode() in path.read_bytes().lower():
                    return True
        return False

    with kept_in(tmp_path / "home", url=place_of(base).url) as kb:
        add(kb, [str(docs)])
        assert nodes_hold(word)
        report = remove_named(kb, "default", [str(docs / "0.md")])
        assert (report.traces, report.purged) == ((), True)
        assert not nodes_hold(word)
        assert kb.index.rows() == 29


def kept_in(home: Path, **settings: str) -> KnowledgeBase:
    return open_kb(home, overrides={"index": settings}, embedder=ReadableEmbedder())
