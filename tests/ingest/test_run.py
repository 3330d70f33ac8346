"""``run.add`` on real homes: what every source's result is, and that nothing gets lost."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.ingest.conftest import found, index_ids, statuses

from wellread.errors import StoreError
from wellread.ingest import run
from wellread.ingest.integrity.verify import verify
from wellread.ingest.loaders.kind_table import LOADERS
from wellread.ingest.pipeline import parse as parsing
from wellread.ingest.pipeline import readers
from wellread.ingest.pipeline.commit import writing
from wellread.ingest.pipeline.job_log import Progress, Report
from wellread.ingest.pipeline.parse import Parsed, ParseRequest, parse
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.base import IndexRow
from wellread.store.catalogue import Catalogue
from wellread.store.schema.stored_values import SourceChange, VersionKey
from wellread.testing.embedding import ReadableEmbedder

FERRY = "The ferry Osprey carries ninety passengers across the sound every morning.\n"
MILL = "The mill grinds barley when the wind blows from the west.\n"
FEED = (
    """<?xml version="1.0"?><rss version="2.0"><channel><title>Herald</title>{}</channel></rss>"""
)
ITEM = (
    "<item><title>{0}</title><link>https://herald.example/{0}</link>"
    "<description>News of the {0} by the harbour wall.</description></item>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    return made


def reason(report: Report, name: str) -> str:
    return next(row.reason for row in report.rows if row.uri.endswith(name))


def texts(kb: KnowledgeBase) -> dict[str, str]:
    """The last part of each document's uri to its text."""
    held = {}
    for known in kb.catalogue.document_ids():
        document = kb.catalogue.document(known)
        assert document is not None
        held[document.uri.rsplit("/", 1)[-1]] = document.text
    return held


def passage_ids(kb: KnowledgeBase) -> list[str]:
    return sorted(key.passage_id for key in kb.catalogue.passage_keys())


def assert_in_step(kb: KnowledgeBase) -> None:
    """The index holds exactly the live passages, each once, and nothing is pending."""
    assert index_ids(kb) == passage_ids(kb)
    assert kb.catalogue.pending() == []
    assert verify(kb).problems == ()


def later(path: Path) -> None:
    """Give ``path`` another modification time."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 5_000_000_000))


class InlinePool(WorkerPool):
    """Parses in this process, where a test can reach it."""

    def submit(self, request: ParseRequest, data: bytes | None = None) -> Future[Parsed]:
        done: Future[Parsed] = Future()
        done.set_result(parse(request, data))
        return done


def refuse_to_read(monkeypatch: pytest.MonkeyPatch, name: str = "") -> None:
    """The system fails to read files of that name."""
    monkeypatch.setattr(run, "WorkerPool", InlinePool)

    def refusing(path: str, mode: str) -> IO[bytes]:
        if path.endswith(name):
            raise OSError(errno.EIO, "Input/output error")
        return Path(path).open("rb")

    monkeypatch.setattr(parsing, "open", refusing, raising=False)


# --- how sources fare ------------------------------------------------------------------------


def test_every_source_has_a_result_and_a_reason_when_it_was_not_read(
    kb: KnowledgeBase, folder: Path
) -> None:
    (folder / "ferry.txt").write_text(FERRY)
    (folder / "broken.vtt").write_text("WEBVTT\n\nno cue at all")
    (folder / "empty.txt").write_text(" \n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (folder / "bad.md").write_text("---\ntitle: [never closed\n---\nText.\n")
    (folder / "mill.txt").write_text(MILL)
    report = add(kb, [str(folder), str(folder / "nowhere.txt")])
    assert statuses(report) == {
        "bad.md": "failed",
        "broken.vtt": "failed",
        "empty.txt": "failed",
        "ferry.txt": "added",
        "mill.txt": "added",
        "nowhere.txt": "failed",
        "picture.png": "skipped",
    }
    assert report.counts() == {
        "added": 2,
        "updated": 0,
        "unchanged": 0,
        "skipped": 1,
        "failed": 4,
        "removed": 0,
    }
    for row in report.rows:
        assert bool(row.reason) == (row.status in ("failed", "skipped")), row
    assert "front matter, line" in reason(report, "bad.md")
    assert "unsupported file type" in reason(report, "picture.png")
    assert "there is no such file" in reason(report, "nowhere.txt")
    assert report.passages == 2
    assert report.seconds > 0
    assert texts(kb) == {"ferry.txt": FERRY.strip(), "mill.txt": MILL.strip()}
    assert found(kb, "barley") == [MILL.strip()]
    assert_in_step(kb)


def test_a_second_run_reads_no_file(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ferry.txt").write_text(FERRY)
    (folder / "feed.rss").write_text(FEED.format(ITEM.format("ferry") + ITEM.format("mill")))
    first = add(kb, [str(folder)])
    assert statuses(first) == {"ferry.txt": "added", "feed.rss": "added"}
    assert {row.documents for row in first.rows} == {1, 2}
    refuse_to_read(monkeypatch)
    second = add(kb, [str(folder)])
    assert statuses(second) == {"ferry.txt": "unchanged", "feed.rss": "unchanged"}
    assert second.passages == 0
    assert_in_step(kb)


def test_a_touched_file_is_unchanged_and_known_by_its_new_time(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "ferry.txt"
    path.write_text(FERRY)
    add(kb, [str(folder)])
    before = passage_ids(kb)
    later(path)
    report = add(kb, [str(folder)])
    assert statuses(report) == {"ferry.txt": "unchanged"}
    assert report.passages == 0
    assert passage_ids(kb) == before
    refuse_to_read(monkeypatch)
    assert statuses(add(kb, [str(folder)])) == {"ferry.txt": "unchanged"}


def test_a_changed_text_replaces_the_old_one_everywhere(kb: KnowledgeBase, folder: Path) -> None:
    path = folder / "ferry.txt"
    path.write_text(FERRY)
    (folder / "mill.txt").write_text(MILL)
    add(kb, [str(folder)])
    before = passage_ids(kb)
    path.write_text("The hovercraft Petrel carries forty passengers.\n")
    report = add(kb, [str(folder)])
    assert statuses(report) == {"ferry.txt": "updated", "mill.txt": "unchanged"}
    assert report.passages == 1
    assert found(kb, "osprey") == []
    assert found(kb, "hovercraft") == ["The hovercraft Petrel carries forty passengers."]
    assert len(set(before) & set(passage_ids(kb))) == 1
    assert_in_step(kb)


def test_an_entry_that_leaves_its_feed_goes(kb: KnowledgeBase, folder: Path) -> None:
    path = folder / "feed.rss"
    path.write_text(FEED.format(ITEM.format("ferry") + ITEM.format("mill")))
    add(kb, [str(folder)])
    assert sorted(texts(kb)) == ["ferry", "mill"]
    path.write_text(FEED.format(ITEM.format("mill")))
    report = add(kb, [str(folder)])
    assert statuses(report) == {"feed.rss": "updated"}
    assert sorted(texts(kb)) == ["mill"]
    assert found(kb, "ferry") == []
    assert report.passages == 0  # the entry that stayed is not embedded again
    assert_in_step(kb)
    path.write_text(FEED.format(""))
    add(kb, [str(folder)])
    assert texts(kb) == {}
    assert_in_step(kb)


# --- failures --------------------------------------------------------------------------------


def test_a_file_over_the_limit_fails_with_the_settings_name(tmp_path: Path, folder: Path) -> None:
    (folder / "ferry.txt").write_text(FERRY)
    (folder / "tiny.txt").write_text("Tiny.")
    limits = {"sources": {"max_bytes": 20}}
    with open_kb(tmp_path / "home", overrides=limits, embedder=ReadableEmbedder()) as kb:
        report = add(kb, [str(folder)])
    assert statuses(report) == {"ferry.txt": "failed", "tiny.txt": "added"}
    assert "sources.max_bytes" in reason(report, "ferry.txt")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert statuses(add(kb, [str(folder)])) == {"ferry.txt": "added", "tiny.txt": "unchanged"}


def test_a_file_that_cannot_be_read_fails_alone_and_is_tried_again(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ferry.txt").write_text(FERRY)
    (folder / "mill.txt").write_text(MILL)
    with monkeypatch.context() as patched:
        refuse_to_read(patched, "ferry.txt")
        report = add(kb, [str(folder)])
    assert statuses(report) == {"ferry.txt": "failed", "mill.txt": "added"}
    assert reason(report, "ferry.txt") == "cannot be read: Input/output error"
    assert statuses(add(kb, [str(folder)])) == {"ferry.txt": "added", "mill.txt": "unchanged"}


def test_a_file_that_became_broken_keeps_its_last_good_document(
    kb: KnowledgeBase, folder: Path
) -> None:
    path = folder / "ferry.md"
    path.write_text(f"---\ntitle: Crossing\n---\n{FERRY}")
    add(kb, [str(folder)])
    path.write_text(f"---\ntitle: [Crossing\n---\n{MILL}")
    for _ in range(2):  # reported on every run, not only on the first
        report = add(kb, [str(folder)])
        assert statuses(report) == {"ferry.md": "failed"}
        assert reason(report, "ferry.md")
        assert found(kb, "osprey") == [FERRY.strip()]
    path.write_text(f"---\ntitle: Crossing\n---\n{MILL}")
    assert statuses(add(kb, [str(folder)])) == {"ferry.md": "updated"}
    assert found(kb, "osprey") == []
    assert_in_step(kb)


def test_a_newer_loader_reads_its_files_again_and_only_them(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ferry.txt").write_text(FERRY)
    (folder / "mill.md").write_text(MILL)
    add(kb, [str(folder)])
    newer = replace(LOADERS["text"], version="newer")
    monkeypatch.setitem(LOADERS, "text", newer)
    monkeypatch.setattr(run, "WorkerPool", InlinePool)
    assert statuses(add(kb, [str(folder)])) == {"ferry.txt": "updated", "mill.md": "unchanged"}
    source = kb.catalogue.sources("default")[(folder / "ferry.txt").as_uri()]
    assert source.loader == newer.identity
    assert add(kb, [str(folder)]).counts()["unchanged"] == 2
    assert_in_step(kb)


def test_two_runs_at_once_both_finish(tmp_path: Path, folder: Path) -> None:
    names = many(folder)
    reports: list[Report] = []

    def run_one() -> None:
        with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as own:
            reports.append(add(own, [str(folder)]))

    threads = [threading.Thread(target=run_one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.counts()["failed"] for report in reports] == [0, 0, 0]
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert sorted(texts(kb)) == names
        assert_in_step(kb)


def test_a_run_waits_for_another_ones_window(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ferry.txt").write_text(FERRY)
    monkeypatch.setattr("wellread.ingest.pipeline.commit.LOCK_SECONDS", 0.1)
    with writing(kb):
        with pytest.raises(StoreError, match="another process") as caught:
            add(kb, [str(folder)])
        assert str(kb.home) in str(caught.value)
        assert texts(kb) == {}
    assert add(kb, [str(folder)]).counts()["added"] == 1


def many(folder: Path) -> list[str]:
    """Six files of one passage; with a window of two, three windows."""
    names = []
    for number in range(6):
        path = folder / f"{number}.txt"
        path.write_text(f"Lantern number{number} hangs at the quay.")
        names.append(path.name)
    return names


@pytest.mark.parametrize("written", [False, True], ids=["before the write", "after the write"])
def test_a_full_disk_loses_nothing_that_was_committed(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    monkeypatch.setattr(run, "WINDOW_PASSAGES", 2)
    monkeypatch.setattr(run, "WorkerPool", InlinePool)
    monkeypatch.setattr(readers, "QUEUED_PER_PARSER", 1)
    names = many(folder)
    (folder / "0.txt").write_text("The old wording about a beacon.")
    add(kb, [str(folder / "0.txt")])
    many(folder)
    real = kb.index.write
    calls: list[int] = []

    def write(rows: Sequence[IndexRow], vectors: NDArray[np.float32] | None) -> None:
        calls.append(len(rows))
        if len(calls) == 2:
            if written:
                real(rows, vectors)
            raise StoreError("no space left on the device")
        real(rows, vectors)

    with monkeypatch.context() as patched:
        patched.setattr(kb.index, "write", write)
        with pytest.raises(StoreError, match="no space"):
            add(kb, [str(folder)])
    assert sorted(texts(kb)) == names[:2]
    assert len(found(kb, "lantern")) == 2  # rows that never became live are not shown
    assert found(kb, "beacon") == []
    report = add(kb, [str(folder)])
    assert report.counts()["unchanged"] == 2
    assert report.counts()["added"] == 4
    assert sorted(texts(kb)) == names
    assert_in_step(kb)


# --- progress --------------------------------------------------------------------------------


def test_progress_only_grows_and_ends_with_everything_done(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "WINDOW_PASSAGES", 2)
    names = many(folder)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    for expected in (6, 0):  # the second run finds everything unchanged
        told: list[Progress] = []
        report = add(kb, [str(folder), "nowhere.txt"], on_progress=told.append)
        for one, other in pairwise(told):
            assert one.sources_done <= other.sources_done
            assert one.passages_done <= other.passages_done
        assert {step.sources_total for step in told} == {8}
        assert told[0].sources_done == 0
        assert (told[-1].sources_done, told[-1].passages_done) == (8, expected)
        assert report.passages == expected
        read = [step.current.rsplit("/", 1)[-1] for step in told if "/" in step.current]
        assert sorted(read) == sorted([*names, "picture.png", "nowhere.txt"])


# --- what no store takes -----------------------------------------------------------------------


def test_half_an_emoji_in_any_field_is_replaced(kb: KnowledgeBase, folder: Path) -> None:
    fields = (
        '"title": "Ferry \\ud83d", "authors": ["Ida \\ude00"], "source": "Her\\ud83dald", '
        '"summary": "\\udc00", "tags": ["\\ud800"]'
    )
    text = '"content": "The ferry Osprey \\ud83d carries ninety passengers."'
    (folder / "news.jsonl").write_text(f'{{"id": "a1", {fields}, {text}}}\n')
    (folder / "feed.json").write_text(
        '{"version": "https://jsonfeed.org/version/1.1", "title": "Mill", "items": ['
        '{"id": "m", "title": "Mill \\ud83d", "content_text": "The mill \\ud83d grinds."}]}'
    )
    (folder / "ferry.txt").write_text(FERRY)
    report = add(kb, [str(folder)])
    assert [row.reason for row in report.rows if row.status != "added"] == []
    titles = {facts.title for facts in kb.catalogue.documents("default")}
    assert titles == {"Ferry \ufffd", "Mill \ufffd", "Ferry"}
    assert_in_step(kb)
    assert add(kb, [str(folder)]).counts()["unchanged"] == 3


@pytest.mark.parametrize("cause", [OverflowError, UnicodeError])
def test_a_source_that_the_catalogue_cannot_take_fails_alone(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch, cause: type[Exception]
) -> None:
    names = many(folder)
    real = type(kb.catalogue).commit

    def commit(
        catalogue: Catalogue, changes: Sequence[SourceChange], noted: Sequence[VersionKey]
    ) -> None:
        if any(change.record.uri.endswith(names[2]) for change in changes):
            if cause is OverflowError:
                raise cause("too large to keep")
            raise StoreError("could not write") from cause("too large to keep")
        real(catalogue, changes, noted)

    with monkeypatch.context() as patched:
        patched.setattr(type(kb.catalogue), "commit", commit)
        report = add(kb, [str(folder)])
    assert {name for name, status in statuses(report).items() if status == "failed"} == {names[2]}
    assert reason(report, names[2]) == "cannot be stored: too large to keep"
    assert sorted(texts(kb)) == [name for name in names if name != names[2]]
    assert_in_step(kb)
    assert add(kb, [str(folder)]).counts()["added"] == 1
