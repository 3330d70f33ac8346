"""Watching real folders: what is looked at, and when."""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
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

PATIENCE = 20.0  # seconds; a test that waits this long has failed
Only = frozenset[str] | None


class Sync:
    """Stands in for the run: keeps the catalogue's sources in step, and tells what was asked."""

    def __init__(self) -> None:
        self.runs: queue.Queue[Only] = queue.Queue()
        self.problems: list[Exception] = []
        self.poll_after: dict[str, datetime] = {}

    def __call__(
        self, kb: KnowledgeBase, inputs: Sequence[str], *, collection: str, only: Only
    ) -> Report:
        if self.problems:
            problem = self.problems.pop(0)
            self.runs.put(only)
            raise problem
        rows = []
        found = find_files(inputs, kb.settings.sources.exclude, only=only)
        for item in found:
            failed = isinstance(item, SourceError)
            rows.append(JobItem(uri=item.uri, status="failed" if failed else "added"))
            if not isinstance(item, SourceError):
                kb.catalogue.record_sources([self.record(item.uri, collection, item)])
        there = {item.uri for item in found}
        for uri in (only or frozenset()) & set(kb.catalogue.sources(collection)) - there:
            if uri.startswith("file:"):
                kb.catalogue.remove_sources(collection, [uri])
        self.runs.put(only)
        return Report(rows=tuple(rows), passages=0, seconds=0.0)

    def record(self, uri: str, collection: str, item: object) -> SourceRecord:
        file = item if isinstance(item, FoundFile) else None
        return SourceRecord(
            collection=collection,
            uri=uri,
            root=uri,
            size=file.size if file else 0,
            mtime_ns=file.mtime_ns if file else 0,
            digest="d",
            poll_after=self.poll_after.get(uri),
        )

    def next(self) -> set[str]:
        return set(self.runs.get(timeout=PATIENCE) or ())

    def until(self, fits: Callable[[set[str]], bool]) -> set[str]:
        """Everything that was asked for from now until it fits."""
        seen: set[str] = set()
        while not fits(seen):
            seen |= self.next()
        return seen


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
        before: Callable[[KnowledgeBase], None] | None = None,
    ) -> Watching:
        kb = open_kb(home or tmp_path / "home", overrides=settings)
        if before:
            before(kb)
        watching = Watching(kb, sync, *inputs)
        begun.append((watching, kb))
        return watching

    yield start
    for watching, kb in begun:
        watching.end()
        kb.close()


def uri(path: Path) -> str:
    return path.as_uri()


def test_all_is_looked_at_first_then_only_what_changes(
    root: Path, sync: Sync, begin: Begin
) -> None:
    (root / "a.md").write_text("a")
    watching = begin(root)
    assert sync.next() == {uri(root)}
    (root / "b.md").write_text("b")
    assert sync.until(lambda seen: uri(root / "b.md") in seen) == {uri(root / "b.md")}
    (root / "a.md").write_text("a changed")
    assert sync.until(lambda seen: uri(root / "a.md") in seen) == {uri(root / "a.md")}
    (root / "a.md").unlink()
    assert sync.until(lambda seen: uri(root / "a.md") in seen) == {uri(root / "a.md")}
    watching.end()
    assert len(watching.reports) >= 4
    assert [row.uri for row in watching.reports[0].rows] == [uri(root / "a.md")]


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
        assert reports.get(timeout=PATIENCE).counts()["added"] == 1
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
    assert sync.next() == {uri(path)}
    for number in range(2):
        (root / "new").write_text(f"changed {number}")
        (root / "new").rename(path)
        seen = sync.until(lambda seen: uri(path) in seen)
        assert uri(root / "other.md") not in seen


def test_folders_that_come_are_looked_at_as_a_whole(
    root: Path, tmp_path: Path, sync: Sync, begin: Begin
) -> None:
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    (tmp_path / "elsewhere/deep/x.md").write_text("x")
    begin(root)
    sync.next()
    (tmp_path / "elsewhere").rename(root / "come")
    seen = sync.until(lambda seen: any(name.startswith(uri(root / "come")) for name in seen))
    found = find_files([str(root)], (), only=seen)
    assert [item.uri for item in found] == [uri(root / "come/deep/x.md")]


def test_what_is_left_out_starts_no_run(
    root: Path, sync: Sync, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wellread.ingest.sources.file_changes.GROUP_MS", 20)
    monkeypatch.setattr("wellread.ingest.sources.file_changes.QUIET_MS", 5)
    (root / ".git").mkdir()
    (root / ".wellreadignore").write_text("*.log\n")
    (root / "a.md").write_text("a")
    begin(root)
    sync.next()
    for name in ("x.log", ".git/index"):
        (root / name).write_text("noise")
    os.utime(root / "a.md", ns=((root / "a.md").stat().st_mtime_ns,) * 2)  # nothing new in it
    threading.Event().wait(0.5)  # so that these are told before the next
    (root / "b.md").write_text("b")
    assert sync.next() == {uri(root / "b.md")}


def test_a_new_ignore_file_concerns_its_whole_folder(root: Path, sync: Sync, begin: Begin) -> None:
    (root / "deep").mkdir()
    (root / "deep/a.log").write_text("a")
    begin(root)
    sync.next()
    (root / "deep/.wellreadignore").write_text("*.log\n")
    assert uri(root / "deep") in sync.until(lambda seen: uri(root / "deep") in seen)


def test_a_home_inside_the_folder_does_not_wake_itself(
    root: Path, sync: Sync, begin: Begin
) -> None:
    begin(root, home=root / "home")
    sync.next()
    (root / "home/catalogue.tmp").write_text("x")
    (root / "a.md").write_text("a")
    seen = sync.until(lambda seen: uri(root / "a.md") in seen)
    assert not any("/home" in name for name in seen)


def test_a_glob_is_followed_from_its_fixed_part(root: Path, sync: Sync, begin: Begin) -> None:
    (root / "deep").mkdir()
    (root / "deep/a.md").write_text("a")
    begin(f"{root}/**/*.md")
    assert uri(root) in sync.next()
    (root / "deep/b.txt").write_text("b")
    (root / "deep/b.md").write_text("b")
    sync.until(lambda seen: uri(root / "deep/b.md") in seen)


def test_a_folder_that_goes_away_is_looked_at_as_a_whole_and_followed_when_it_is_back(
    root: Path, tmp_path: Path, sync: Sync, begin: Begin
) -> None:
    """As with a drive that is taken out: the run itself knows not to remove all of it."""
    (root / "a.md").write_text("a")
    begin(root)
    sync.next()
    root.rename(tmp_path / "away")
    assert sync.runs.get(timeout=PATIENCE) is None
    (tmp_path / "away").rename(root)
    sync.until(lambda seen: uri(root) in seen)
    # The notices of before it was back are done with when a new file is told alone.
    (root / "b.md").write_text("b")
    sync.until(lambda seen: uri(root / "b.md") in seen or uri(root) in seen)


def test_an_emptied_folder_is_looked_at_as_a_whole(root: Path, sync: Sync, begin: Begin) -> None:
    """As with a drive that was taken out: a run over all of it does not remove all of it."""
    for name in ("a.md", "b.md"):
        (root / name).write_text(name)
    begin(root)
    assert sync.runs.get(timeout=PATIENCE) == frozenset({uri(root)})
    for name in ("a.md", "b.md"):
        (root / name).unlink()
    while sync.runs.get(timeout=PATIENCE) is not None:
        continue


def test_a_folder_that_is_not_there_yet(root: Path, sync: Sync, begin: Begin) -> None:
    later = root / "later"
    watching = begin(later)
    assert sync.runs.get(timeout=PATIENCE) is None
    later.mkdir()
    (later / "a.md").write_text("a")
    sync.until(lambda seen: uri(later) in seen)
    watching.end()
    assert watching.reports[0].rows[0].status == "failed"


def test_a_run_that_fails_is_tried_again(
    root: Path, sync: Sync, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wellread.ingest.watch.FIRST_RETRY_SECONDS", 0.01)
    sync.problems = [StoreError("disk full"), StoreError("disk full")]
    (root / "there.md").write_text("there")
    watching = begin(root)
    assert [sync.next() for _ in range(3)] == [{uri(root)}] * 3
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
    assert [sync.next() for _ in range(3)] == [{uri(root)}] * 3


def test_a_changed_name_that_is_not_utf8(root: Path, sync: Sync, begin: Begin) -> None:
    begin(root)
    sync.next()
    odd = root / os.fsdecode(b"caf\xe9.md")
    odd.write_text("coffee")
    seen = sync.until(bool)
    assert [item.uri for item in find_files([str(root)], (), only=seen)] == [uri(odd)]


def test_a_great_many_changes_are_a_full_look(
    root: Path, sync: Sync, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wellread.ingest.watch.MOST_CHANGES", 2)
    begin(root)
    sync.next()
    for number in range(9):
        (root / f"{number}.md").write_text("x")
    assert uri(root) in sync.until(lambda seen: uri(root) in seen)


def test_a_system_that_refuses_notices_is_survived(
    root: Path, sync: Sync, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system has so many watches and no more; then the folder is looked over by polling."""
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
    assert sync.next() == {uri(root)}
    (root / "a.md").write_text("a")
    sync.until(lambda seen: bool(seen & {uri(root), uri(root / "a.md")}))
    while len(calls) < 3:  # followed again, after a pause
        sync.next()
    assert [call["force_polling"] for call in calls] == [None, None, True]


# --- the web ---------------------------------------------------------------------------------

FEED = "https://x.example/feed"
OTHER = "https://y.example/feed"
SOON: Mapping[str, Mapping[str, object]] = {"web": {"poll_minutes": 0.002}}


def test_addresses_are_asked_at_their_own_pace(sync: Sync, begin: Begin) -> None:
    hour = datetime.now(UTC) + timedelta(hours=1)
    sync.poll_after = {OTHER: hour}
    begin(FEED, OTHER, settings=SOON)
    assert sync.next() == {FEED, OTHER}
    assert [sync.next() for _ in range(3)] == [{FEED}] * 3


def test_a_pause_is_kept_over_a_new_start(sync: Sync, begin: Begin) -> None:
    hour = datetime.now(UTC) + timedelta(hours=1)
    sync.poll_after = {OTHER: hour}
    begin(
        FEED, OTHER, before=lambda kb: kb.catalogue.record_sources([sync.record(OTHER, "c", None)])
    )
    assert sync.next() == {FEED}


def test_the_feeds_of_a_list_in_a_file_have_their_own_pace(
    root: Path, sync: Sync, begin: Begin
) -> None:
    path = root / "feeds.opml"
    path.write_text(f'<opml><body><outline text="x" xmlUrl="{FEED}"/></body></opml>')
    address = "https://x.example/feeds.opml"  # of this one, only the server knows the feeds
    begin(path, address)
    assert sync.next() == {uri(path), FEED, address}


def test_a_changed_list_is_read_again(root: Path, sync: Sync, begin: Begin) -> None:
    path = root / "feeds.opml"
    path.write_text(f'<opml><body><outline text="x" xmlUrl="{FEED}"/></body></opml>')
    begin(path)
    assert sync.next() == {uri(path), FEED}
    path.write_text(f'<opml><body><outline text="y" xmlUrl="{OTHER}"/></body></opml>')
    sync.until(lambda seen: uri(path) in seen)


def test_what_is_no_address_is_told(sync: Sync, begin: Begin) -> None:
    watching = begin("ftp://x.example/a", FEED)
    sync.next()
    watching.end()
    assert [(row.uri, row.status) for row in watching.reports[0].rows] == [
        ("ftp://x.example/a", "failed"),
        (FEED, "added"),
    ]


def test_stopping_ends_all_threads(root: Path, sync: Sync, begin: Begin) -> None:
    before = threading.active_count()
    watching = begin(root, FEED)
    sync.next()
    watching.end()
    assert threading.active_count() == before
    shutil.rmtree(root)
