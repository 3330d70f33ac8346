"""Folders in a bucket and on a WebDAV server, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doubles.remote_stores import Bucket, SharedFolder, s3, webdav
from tests.ingest.conftest import found, statuses

from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase


@pytest.fixture(params=["s3", "webdav"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bucket | SharedFolder]:
    opened = s3() if request.param == "s3" else webdav(tmp_path)
    with opened as (made, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
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
