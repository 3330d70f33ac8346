"""Watching real folders: what is looked at, and when."""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from wellread.config import SourceSettings
from wellread.errors import FingerprintError, SourceError, StoreError
from wellread.ingest.pipeline.job_log import Report
from wellread.ingest.sources.discover import FoundFile, find_files
from wellread.ingest.watch import watch
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.catalogue.run_logs import JobItem
from wellread.store.schema.stored_values import SourceRecord
from wellread.testing.embedding import ReadableEmbedder

PATIENCE = 300.0  # seconds, however busy the machine is; who waits this long has failed
FEED = "https://x.example/feed"
SOON: Mapping[str, Mapping[str, object]] = {"web": {"poll_minutes": 0.002}}


class Sync:
    """Stands in for the run: keeps the catalogue's sources in step, and tells what was asked."""

    def __init__(self) -> None:
        self.runs: queue.Queue[tuple[list[str], list[str]]] = queue.Queue()
        self.problems: list[Exception] = []

    def __call__(
        self, kb: KnowledgeBase, inputs: Sequence[str], *, collection: str, changed_only: bool
    ) -> Report:
        assert changed_only
        found = find_files(inputs, kb.settings.sources.exclude)
        self.runs.put((list(inputs), [Path(item.uri).name for item in found]))
        if self.problems:
            raise self.problems.pop(0)
        rows = []
        for item in found:
            failed = isinstance(item, SourceError)
            rows.append(JobItem(uri=item.uri, status="failed" if failed else "added"))
            if not isinstance(item, SourceError):
                file = item if isinstance(item, FoundFile) else None
                size, mtime = (file.size, file.mtime_ns) if file else (0, 0)
                record = SourceRecord(
                    collection=collection,
                    uri=item.uri,
                    root=item.root,
                    size=size,
                    mtime_ns=mtime,
                    digest="d",
                )
                kb.catalogue.record_sources([record])
        there = {item.uri for item in found}
        gone = [uri for uri in kb.catalogue.sources(collection) if uri not in there]
        if len(gone) < len(kb.catalogue.sources(collection)):
            kb.catalogue.remove_sources(collection, [uri for uri in gone if uri[:5] == "file:"])
        return Report(rows=tuple(rows), passages=0, seconds=0.0)

    def next(self) -> list[str]:
        """The names of what the next run found."""
        return self.runs.get(timeout=PATIENCE)[1]

    def until(self, fits: Callable[[list[str]], bool]) -> list[str]:
        """What the first run from now on found that fits."""
        while not fits(found := self.next()):
            continue
        return found


class Watching:
    """A watch in a thread."""

    def __init__(self, kb: KnowledgeBase, sync: Sync, *inputs: str | os.PathLike[str]) -> None:
        self.stop = threading.Event()
        self.reports: list[Report] = []
        self.problem: Exception | None = None
        self.thread = threading.Thread(target=self._run, args=(kb, sync, inputs))
        self.thread.start()

    def _run(self, kb: KnowledgeBase, sync: Sync, inputs: Sequence[str | os.PathLike[str]]) -> None:
        try:
            watch(
                kb,
                [os.fspath(each) for each in inputs],
                collection="c",
                on_report=self.reports.append,
                stop=self.stop,
                run=sync,
            )
        except FingerprintError as error:
            self.problem = error

    def end(self) -> None:
        self.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


@pytest.fixture
def sync() -> Sync:
    return Sync()


Begin = Callable[..., Watching]


@pytest.fixture
def begin(tmp_path: Path, sync: Sync) -> Iterator[Begin]:
    """Starts to watch, and ends it after the test."""
    begun: list[tuple[Watching, KnowledgeBase]] = []

    def start(
        *inputs: str | os.PathLike[str],
        home: Path | None = None,
        settings: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Watching:
        kb = open_kb(home or tmp_path / "home", overrides=settings)
        watching = Watching(kb, sync, *inputs)
        begun.append((watching, kb))
        return watching

    yield start
    for watching, kb in begun:
        watching.end()
        kb.close()


def test_files_that_come_change_and_go(root: Path, sync: Sync, begin: Begin) -> None:
    (root / "a.md").write_text("a")
    watching = begin(root)
    assert sync.next() == ["a.md"]
    (root / "b.md").write_text("b")
    assert sync.next() == ["a.md", "b.md"]
    (root / "a.md").write_text("a changed")
    assert sync.next() == ["a.md", "b.md"]
    (root / "a.md").unlink()
    assert sync.next() == ["b.md"]
    odd = root / os.fsdecode(b"caf\xe9.md")
    odd.write_text("coffee")
    assert sync.next() == ["b.md", "caf%E9.md"]
    watching.end()
    assert len(watching.reports) == 5


def test_with_the_run_that_it_is_made_for(root: Path, tmp_path: Path) -> None:
    (root / "a.md").write_text("# Rivers\n\nThe river is wide here.")
    kb = open_kb(tmp_path / "home", embedder=ReadableEmbedder())
    reports: queue.Queue[Report] = queue.Queue()
    stop = threading.Event()
    named = {"collection": "c", "on_report": reports.put, "stop": stop}
    thread = threading.Thread(target=watch, args=(kb, [str(root)]), kwargs=named)
    thread.start()
    try:
        assert reports.get(timeout=PATIENCE).counts()["added"] == 1
        (root / "b.md").write_text("# Lakes\n\nThe lake is deep here.")
        assert [row.status for row in reports.get(timeout=PATIENCE).rows] == ["added"]
        (root / "a.md").unlink()
        assert reports.get(timeout=PATIENCE).counts()["removed"] == 1
        assert [document.title for document in kb.catalogue.documents("c")] == ["Lakes"]
        (root / "b.md").unlink()  # nothing is left, as with a drive that was taken out
        assert reports.get(timeout=PATIENCE).counts()["failed"] == 1
        assert len(kb.catalogue.documents("c")) == 1
    finally:
        stop.set()
        thread.join(PATIENCE)
        kb.close()
    assert not thread.is_alive()


def test_files_saved_by_replacing_them(root: Path, sync: Sync, begin: Begin) -> None:
    path = root / "a.md"
    path.write_text("a")
    (root / "other.md").write_text("not watched")
    begin(path)
    assert sync.next() == ["a.md"]
    for number in range(2):
        (root / "new").write_text(f"changed {number} times")
        (root / "new").rename(path)
        assert sync.next() == ["a.md"]


def test_what_is_left_out_starts_no_run(root: Path, sync: Sync, begin: Begin) -> None:
    (root / ".git").mkdir()
    (root / ".wellreadignore").write_text("*.log\n")
    (root / "a.md").write_text("a")
    begin(root, home=root / "home")
    sync.next()
    for name in ("x.log", ".git/index", "home/catalogue.tmp"):
        (root / name).write_text("noise")
    threading.Event().wait(0.5)  # so that these are told before the next
    (root / "b.md").write_text("b")
    assert {"a.md", "b.md"} <= set(sync.next())
    (root / ".wellreadignore").write_text("*.md\n")
    sync.until(lambda found: "b.md" not in found)


def test_a_folder_that_goes_away_is_followed_when_it_is_back(
    root: Path, tmp_path: Path, sync: Sync, begin: Begin
) -> None:
    (root / "a.md").write_text("a")
    begin(root)
    sync.next()
    root.rename(tmp_path / "away")
    assert sync.next() == ["root"]  # the run tells that it is not there
    (tmp_path / "away").rename(root)
    (root / "b.md").write_text("b")
    sync.until(lambda found: "b.md" in found)
    (root / "c.md").write_text("c")
    sync.until(lambda found: "c.md" in found)


def test_a_run_that_fails_is_tried_again(
    root: Path, sync: Sync, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wellread.ingest.watch.FIRST_RETRY_SECONDS", 0.01)
    sync.problems = [StoreError("disk full"), StoreError("disk full")]
    (root / "there.md").write_text("there")
    watching = begin(root)
    assert [sync.next() for _ in range(3)] == [["there.md"]] * 3
    watching.end()
    assert len(watching.reports) == 1


def test_an_index_of_other_settings_ends_the_watch(root: Path, sync: Sync, begin: Begin) -> None:
    sync.problems = [FingerprintError("built with others")]
    watching = begin(root)
    watching.thread.join(PATIENCE)
    assert isinstance(watching.problem, FingerprintError)


def test_folders_are_looked_over_again_now_and_then(
    root: Path, sync: Sync, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "there.md").write_text("there")
    monkeypatch.setattr(SourceSettings, "rescan_minutes", 0.001)
    begin(root)
    assert [sync.next() for _ in range(3)] == [["there.md"]] * 3


def test_a_system_that_refuses_notices_is_survived(
    root: Path, sync: Sync, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system has so many watches and no more; then the folder is looked over by polling."""
    monkeypatch.setattr("wellread.ingest.watch.MAX_PAUSE_SECONDS", 0.05)
    real = watchfiles.watch
    calls: list[dict[str, object]] = []

    def refusing(*paths: str, **named: Any) -> object:
        calls.append(named)
        if len(calls) <= 2:
            raise OSError(28, "inotify watch limit reached")
        return real(*paths, **named)

    monkeypatch.setattr("watchfiles.watch", refusing)
    (root / "there.md").write_text("there")
    begin(root)
    sync.next()
    (root / "a.md").write_text("a")
    sync.until(lambda found: "a.md" in found)
    while len(calls) < 3:  # followed again, after a pause
        threading.Event().wait(0.05)
    (root / "b.md").write_text("b")
    sync.until(lambda found: "b.md" in found)
    assert [call["force_polling"] for call in calls[:3]] == [None, None, True]


def test_addresses_are_asked_at_their_own_pace(root: Path, sync: Sync, begin: Begin) -> None:
    (root / "a.md").write_text("a")
    feeds = root / "feeds.opml"
    feeds.write_text(f'<opml><body><outline text="x" xmlUrl="{FEED}"/></body></opml>')
    watching = begin(root / "a.md", feeds, "ftp://x.example/a", settings=SOON)
    every, web = [sync.runs.get(timeout=PATIENCE) for _ in range(2)]
    assert len(every[0]) == 3
    assert web == ([str(feeds), "ftp://x.example/a"], ["a", "feed"])
    watching.end()
    rows = [(row.uri, row.status) for row in watching.reports[1].rows]
    assert rows == [("ftp://x.example/a", "failed"), (FEED, "added")]


def test_stopping_ends_all_threads(root: Path, sync: Sync, begin: Begin) -> None:
    before = threading.active_count()
    watching = begin(root, FEED)
    sync.next()
    watching.end()
    assert threading.active_count() == before
    shutil.rmtree(root)
