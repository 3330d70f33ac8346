"""Folders in a bucket and on a WebDAV server, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doubles.remote_stores import Bucket, SharedFolder, s3, webdav
from tests.ingest.conftest import found, statuses

from wellread.ingest.integrity.verify import verify
from wellread.ingest.remove import remove_named
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder


@pytest.fixture(params=["s3", "webdav"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bucket | SharedFolder]:
    with s3(monkeypatch) if request.param == "s3" else webdav(tmp_path, monkeypatch) as made:
        for name in ("ferry", "mill", "old/quay"):
            made.write(f"{name}.txt", f"The {name[-4:]} stands by the water.\n".encode())
        yield made


def held(kb: KnowledgeBase) -> list[str]:
    return sorted(each.uri.rsplit("/", 1)[-1] for each in kb.catalogue.documents("default"))


def test_a_folder_elsewhere_is_synced_like_one_of_the_disk(
    kb: KnowledgeBase, store: Bucket | SharedFolder
) -> None:
    assert statuses(add(kb, [store.address])) == dict.fromkeys(
        ("ferry.txt", "mill.txt", "quay.txt"), "added"
    )
    assert found(kb, "quay") == ["The quay stands by the water."]
    store.line.sent = b""
    assert set(statuses(add(kb, [store.address])).values()) == {"unchanged"}
    assert b"GET /papers/" not in store.line.sent  # nothing was fetched again
    store.remove("mill.txt")
    store.write("old/quay.txt", b"The quay was built anew.\n")
    store.write("new pier.txt", b"A pier came.\n")
    assert statuses(sync(kb, [f"{store.address}/"])) == {
        "ferry.txt": "unchanged",
        "mill.txt": "removed",
        "quay.txt": "updated",
        "new%20pier.txt": "added",
    }
    assert held(kb) == ["ferry.txt", "new%20pier.txt", "quay.txt"]
    assert verify(kb).problems == ()


def test_a_store_that_is_away_removes_nothing(
    kb: KnowledgeBase, store: Bucket | SharedFolder
) -> None:
    add(kb, [store.address])
    store.remove("mill.txt")
    store.line.allowed = 0
    report = sync(kb, [store.address])
    assert [(row.uri, row.status) for row in report.rows] == [(store.address, "failed")]
    assert held(kb) == ["ferry.txt", "mill.txt", "quay.txt"]
    store.line.allowed = None
    assert statuses(sync(kb, [store.address]))["mill.txt"] == "removed"


def test_a_run_that_was_cut_off_is_finished_by_the_next(
    kb: KnowledgeBase, store: Bucket | SharedFolder
) -> None:
    add(kb, [store.address])
    words = b"The catalogue of the harbour goes on and on.\n" * 20_000
    store.write("long.txt", words)
    store.line.allowed = len(words) // 2
    report = sync(kb, [store.address])
    assert statuses(report)["long.txt"] == "failed"
    assert "removed" not in statuses(report).values()
    assert held(kb) == ["ferry.txt", "mill.txt", "quay.txt"]
    store.line.allowed = None
    assert statuses(sync(kb, [store.address]))["long.txt"] == "added"
    assert found(kb, "harbour")


def test_what_the_patterns_leave_out_is_not_read(
    kb: KnowledgeBase, store: Bucket | SharedFolder
) -> None:
    store.write("draft.tmp", b"The draft stands nowhere.\n")
    store.write("old/.wellreadignore", b"*.txt\n!well.txt\n")
    store.write("old/well.txt", b"The well stands by the road.\n")
    store.write(".wellreadignore", b"mill.txt\nhidden/\n")
    store.write("hidden/a.txt", b"It is hidden.\n")
    assert statuses(add(kb, [store.address])) == {"ferry.txt": "added", "well.txt": "added"}
    # A file that is named is read, whatever a pattern says.
    assert statuses(add(kb, [f"{store.address}/mill.txt"])) == {"mill.txt": "added"}


def test_a_file_or_folder_is_removed_by_its_address(
    kb: KnowledgeBase, store: Bucket | SharedFolder
) -> None:
    store.write("a b.txt", b"The name has a space.\n")
    add(kb, [store.address])
    remove_named(kb, "default", [f"{store.address}/a b.txt"], prove=False)
    assert held(kb) == ["ferry.txt", "mill.txt", "quay.txt"]
    remove_named(kb, "default", [f"{store.address}/old"], prove=False)
    assert held(kb) == ["ferry.txt", "mill.txt"]
    remove_named(kb, "default", [f"{store.address}/"], prove=False)
    assert held(kb) == []


def test_what_is_too_large_or_a_recording_is_not_fetched(
    tmp_path: Path, store: Bucket | SharedFolder
) -> None:
    store.write("talk.mp3", b"\xff\xfb" * 100)
    store.write("long.txt", b"It is long.\n" * 50)
    limits = {"sources": {"max_bytes": 400}}
    with open_kb(tmp_path / "small", overrides=limits, embedder=ReadableEmbedder()) as kb:
        rows = {row.uri.rsplit("/", 1)[-1]: row for row in add(kb, [store.address]).rows}
    assert rows["talk.mp3"].status == "skipped"
    assert "transcript" in rows["talk.mp3"].reason
    assert (rows["long.txt"].status, rows["ferry.txt"].status) == ("failed", "added")
    assert "sources.max_bytes" in rows["long.txt"].reason
    assert b"ferry.txt HTTP" in store.line.sent
    assert b"talk.mp3 HTTP" not in store.line.sent
    assert b"long.txt HTTP" not in store.line.sent
