"""What the OpenSearch index does when the cluster refuses, is slow, or lacks a node."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("opensearchpy")

from tests.store.cluster_double import ClusterDouble, cluster_double, failed_items, hits_answer

from wellread.errors import DamageError, SettingsError, StoreError
from wellread.settings_file import load_settings
from wellread.store.base import Fingerprint, ServiceAddress
from wellread.store.index import backend_of
from wellread.store.index.opensearch import cluster as calls
from wellread.store.index.opensearch import passage_index
from wellread.store.index.opensearch.cluster import ClusterAddress, read_address
from wellread.store.index.opensearch.passage_index import OpenSearchIndex
from wellread.testing.index_model import ANY, DIMENSIONS, axes, ids, make_row

PRINT = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c1", backend="opensearch")
ROWS = [make_row("a", "ferry"), make_row("b", "gannet")]
BUSY = (429, {"error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}})
LACKS = (503, {"error": {"type": "no_shard_available_action_exception", "reason": "none"}})
KEY = json.dumps(["a", "doc-a", "v1", 0, 5])


@pytest.fixture
def double() -> Iterator[ClusterDouble]:
    with cluster_double() as made:
        yield made


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses are written down instead of being made."""
    made: list[float] = []
    monkeypatch.setattr(calls, "pause", made.append)
    return made


def opened(*ports: int, options: str = "", user: str = "") -> OpenSearchIndex:
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    url = f"opensearch+http://{user}{hosts}/base?{options}"
    return OpenSearchIndex.open(
        ServiceAddress(url=url, base="b1", password="hush" if user else ""), PRINT
    )


def closed_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def test_a_write_that_there_is_no_room_for_is_sent_again(
    double: ClusterDouble, waited: list[float]
) -> None:
    double.will_say("_bulk", BUSY, LACKS, BUSY)
    opened(double.port).write(ROWS, None)
    assert len(double.bodies("_bulk")) == 4
    assert len(waited) == 3
    assert waited[0] < waited[2]


def test_of_a_bulk_call_only_the_refused_rows_are_sent_again(double: ClusterDouble) -> None:
    double.will_say("_bulk", (200, failed_items(a=(201, ""), b=(429, "queue is full"))))
    opened(double.port).write(ROWS, axes(0, 1))
    first, second = double.bodies("_bulk")
    assert '"_id":"a"' in first
    assert '"_id":"a"' not in second
    assert '"_id":"b"' in second


def test_a_row_that_will_never_go_ends_the_write(
    double: ClusterDouble, waited: list[float]
) -> None:
    double.will_say("_bulk", (200, failed_items(a=(201, ""), b=(400, "failed to parse"))))
    with pytest.raises(StoreError, match="failed to parse") as caught:
        opened(double.port).write(ROWS, None)
    assert not caught.value.retryable
    assert waited == []


def test_a_cluster_that_stays_busy_is_told_as_passing(
    monkeypatch: pytest.MonkeyPatch, double: ClusterDouble, waited: list[float]
) -> None:
    monkeypatch.setattr(passage_index, "RETRY_SECONDS", 20.0)
    double.will_say("_bulk", *[(200, failed_items(a=(429, "full"), b=(429, "full")))] * 50)
    with pytest.raises(StoreError, match=r"is overloaded .* full") as caught:
        opened(double.port).write(ROWS, None)
    assert caught.value.retryable
    assert 5 < sum(waited) <= 20


def test_a_full_disk_is_told_at_once(double: ClusterDouble, waited: list[float]) -> None:
    reason = "index blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark]"
    double.will_say("_bulk", (200, failed_items(a=(429, reason), b=(429, reason))))
    with pytest.raises(StoreError, match=r"a disk of OpenSearch .* is full"):
        opened(double.port).write(ROWS, None)
    assert waited == []


def test_vectors_of_rows_that_are_gone_are_passed_over(double: ClusterDouble) -> None:
    gone = {"_id": "a", "status": 404, "error": {"type": "document_missing_exception"}}
    double.will_say("_bulk", (200, {"errors": True, "items": [{"update": gone}]}))
    opened(double.port).set_vectors(["a"], axes(0))
    assert len(double.bodies("_bulk")) == 1


def test_a_write_waits_for_a_copy_of_the_index_and_goes_to_the_new_one(
    double: ClusterDouble, waited: list[float]
) -> None:
    blocked = "index [x] blocked by: [FORBIDDEN/8/index write (api)];"
    refused = {"type": "cluster_block_exception", "reason": blocked}
    items = [{"index": {"_id": known, "status": 403, "error": refused}} for known in "ab"]
    double.will_say("_bulk", (200, {"errors": True, "items": items}))
    blocks = {"settings": {"index.blocks.write": "true"}}
    index = opened(double.port)
    (_, path, _) = double.asked[0]
    name = f"{path.split('/')[1]}-000001"
    double.will_say("_settings", (200, {name: blocks}), (200, {name: blocks}))
    double.index = "{alias}-000002"
    double.purged = False
    index.write(ROWS, None)
    assert [path for _, path, _ in double.asked if "_bulk" in path][-1].endswith("2-rows/_bulk")


def test_what_may_replace_rows_is_noted_before_it_is_written(double: ClusterDouble) -> None:
    double.will_say("_mget", (200, {"docs": [{"_id": "a", "found": True}]}))
    opened(double.port).write(ROWS, None)
    steps = [path.rpartition("/")[2] for method, path, _ in double.asked if method != "GET"]
    assert steps.index("_mapping") < steps.index("_bulk")
    assert '"purged":false' in double.bodies("_mapping")[0].replace(" ", "")


def test_a_search_without_all_its_shards_is_asked_again(
    double: ClusterDouble, waited: list[float]
) -> None:
    double.will_say("_search", LACKS, (500, LACKS[1]), (200, hits_answer([KEY])))
    assert ids(opened(double.port).search_text("ferry", ANY, 5)) == ["a"]
    assert len(waited) == 2


def test_another_node_is_asked_where_one_is_gone(double: ClusterDouble) -> None:
    index = opened(closed_port(), double.port)
    double.will_say("_search", *[(200, hits_answer([KEY]))] * 4)
    for _ in range(4):
        assert ids(index.search_text("ferry", ANY, 5)) == ["a"]


def test_no_node_at_all_is_told_as_passing() -> None:
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        opened(closed_port())
    assert caught.value.retryable


def test_a_slow_answer_is_told_as_passing(double: ClusterDouble) -> None:
    index = opened(double.port, options="timeout=1")
    double.silent = True
    with pytest.raises(StoreError, match="took too long") as caught:
        index.rows()
    assert caught.value.retryable


def test_a_user_without_rights_is_told_and_the_password_is_not(double: ClusterDouble) -> None:
    index = opened(double.port, user="ann@")
    double.will_say("_count", (401, {"error": {"reason": "no permissions"}}))
    with pytest.raises(StoreError, match="OPENSEARCH_PASSWORD") as caught:
        index.rows()
    assert not caught.value.retryable
    assert "hush" not in str(caught.value)


def test_an_index_that_is_gone_is_damage(double: ClusterDouble) -> None:
    index = opened(double.port)
    gone = {"error": {"type": "index_not_found_exception", "reason": "no such index [x]"}}
    double.will_say("_count", *[(404, gone)] * 9)
    with pytest.raises(DamageError, match="no longer has the index"):
        index.rows()
    double.index = ""
    with pytest.raises(DamageError, match="no longer has the index"):
        index.write(ROWS, None)


def test_an_address_is_read() -> None:
    url = "opensearch+https://ann@one:9201,two,[::1]:9202/team-a?shards=3&replicas=2&timeout=5"
    assert read_address(ServiceAddress(url=url, base="b1", password="hush")) == ClusterAddress(
        hosts=("https://one:9201", "https://two:9200", "https://[::1]:9202"),
        user="ann",
        password="hush",
        base="team-a-b1",
        shards=3,
        replicas=2,
        timeout=5.0,
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("elastic+http://one", "another scheme"),
        ("opensearch+http://one:x", "names the host"),
        ("opensearch+http://", "names the host"),
        ("opensearch+http://one/Base", "has the base"),
        ("opensearch+http://one?shards=0", "has shards=0"),
        ("opensearch+http://one?timeout=-1", "has timeout=-1"),
        ("opensearch+http://one?ca=/nowhere.pem", "has ca="),
        ("opensearch+http://one?shard=1", "has shard=1"),
        ("opensearch+http://ann:hush@one", "contains a password"),
    ],
)
def test_a_wrong_address_is_named(url: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        read_address(ServiceAddress(url=url, base="b1"))
    assert "hush" not in str(caught.value)


def test_a_password_in_the_setting_is_refused(tmp_path: Path) -> None:
    given = {"index": {"url": "opensearch+http://ann:hush@one"}}
    with pytest.raises(SettingsError, match="password") as caught:
        load_settings(tmp_path, given, environ={})
    assert "hush" not in str(caught.value)


def test_without_the_package_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if "opensearch" in name.split(".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    monkeypatch.delattr("wellread.store.index.opensearch", raising=False)
    with pytest.raises(StoreError, match="not installed") as caught:
        backend_of("opensearch")
    assert "wellread[opensearch]" in caught.value.hint
