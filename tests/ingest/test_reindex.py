"""Re-indexing beside the live index: nothing is lost, nothing fails meanwhile, at any kill."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from numpy.typing import NDArray
from tests.doubles import forked
from tests.ingest.fault_points import REINDEXING

from wellread import kb as kb_module
from wellread.ask.retrieve.search import search
from wellread.config import EmbeddingSettings
from wellread.errors import StoreError
from wellread.identity import document_id
from wellread.ingest import reindex as reindexing
from wellread.ingest.integrity.damage import DEAD_JOB, ORPHAN, STRAY, UNFINISHED
from wellread.ingest.integrity.verify import verify
from wellread.ingest.pipeline.commit import (
    REINDEX_LOCK,
    ReadSource,
    VectorFiller,
    Window,
    drop_noted,
    tidy,
    write_window,
    writing,
)
from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.ingest.pipeline.parse import cut_text
from wellread.ingest.reindex import ReindexProgress, reindex
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.models.base import Embedder
from wellread.store.base import Fingerprint, IndexRow
from wellread.store.index.lance import LanceIndex
from wellread.store.index.lance_tables import table_name
from wellread.store.schema.stored_values import SourceRecord
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Candidate, Document, Filters

FILES = 7
OLD, NEW, THIRD = (128, 200), (96, 40), (64, 80)  # dimensions, tokens
# What a kill leaves is no loss: the next run drops it.
LEFTOVERS = (ORPHAN, UNFINISHED, DEAD_JOB, STRAY)

Shape = tuple[int, int]


# --- material --------------------------------------------------------------------------------


def opened(settings: EmbeddingSettings, home: Path) -> Embedder:
    """An embedder of any size: ``embedding.model`` says how many dimensions."""
    return ReadableEmbedder(int(settings.model))


@pytest.fixture(autouse=True)
def readable_embedders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_module, "open_embedder", opened)


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "WINDOW_PASSAGES", 8)


def shaped(home: Path, shape: Shape) -> KnowledgeBase:
    """The knowledge base with settings that ask for (dimensions, tokens)."""
    dimensions, tokens = shape
    embedding = {"backend": "http", "url": "http://127.0.0.1:9/v1", "model": str(dimensions)}
    return open_kb(home, overrides={"embedding": embedding, "chunking": {"tokens": tokens}})


def paper(number: int, edition: str = "first") -> Document:
    """A document of a few hundred word pieces whose words tell it and its edition."""
    sentences = " ".join(
        f"Lantern number {place} of harbour{number} burns in the {edition} winter."
        for place in range(30)
    )
    return Document(
        collection="default",
        uri=f"file:///papers/{number}.txt",
        kind="page",
        title=f"Paper {number}",
        text=f"Paper {number}.\n\n{sentences}",
    )


def known(number: int) -> str:
    return document_id("default", f"file:///papers/{number}.txt")


def put(kb: KnowledgeBase, *documents: Document) -> None:
    """Take in documents as a run does, their vectors included."""
    put_words(kb, *documents)
    filler = VectorFiller(kb, lambda _count: None)
    filler.no_more()
    while not filler.wait(1.0):
        pass


def put_words(kb: KnowledgeBase, *documents: Document) -> None:
    """Take in documents that are found by their words; their vectors are to come."""
    tokens = kb.live().tokens
    window = Window(tokens)
    for document in documents:
        record = SourceRecord(collection="default", uri=document.uri, digest=document.text)
        window.add(ReadSource(record=record, documents=(cut_text(document, tokens),)))
    write_window(kb, window)


def take_out(kb: KnowledgeBase, number: int) -> None:
    with writing(kb):
        kb.catalogue.remove_sources("default", [f"file:///papers/{number}.txt"])
        drop_noted(kb, kb.index)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with some papers, its index of the shape OLD."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kb_module, "open_embedder", opened)
        with shaped(home, OLD) as kb:
            put(kb, *(paper(number) for number in range(FILES)))
            kb.index.optimize()
    return home


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "home"))


# --- looking ---------------------------------------------------------------------------------


def shape_of(kb: KnowledgeBase) -> Shape:
    live = kb.live()
    return live.fingerprint.dimensions, live.tokens


def found(kb: KnowledgeBase, words: str) -> set[str]:
    """Ids of the documents found by ``words``."""
    hits = search(kb, words, Filters(), mode="text")
    return {hit.document.id for hit in hits}


def check_all_found(kb: KnowledgeBase, numbers: range | list[int]) -> None:
    """Every paper is found by its words and by its meaning."""
    for number in numbers:
        assert found(kb, f"harbour{number}") == {known(number)}
        document = kb.catalogue.document(known(number))
        assert document is not None
        passage = cut_text(document, kb.live().tokens).passages()[0]
        same = f"{passage.context}\n{passage.text}"
        (first, *_) = search(kb, same, Filters(), mode="vector", limit=3)
        assert first.passage == passage
        assert first.similarity is not None
        assert first.similarity > 0.999


def check_settled(kb: KnowledgeBase, shape: Shape, numbers: range | list[int]) -> None:
    """The index is of ``shape``, whole, and the only one."""
    assert shape_of(kb) == shape
    assert kb.reindex_needed == (kb.live().fingerprint != kb.wanted)
    assert verify(kb).problems == ()
    assert kb.catalogue.vectors.passages_pending() == 0
    assert kb.catalogue.reindexing.attempt() is None
    assert tables(kb) == [table_name(kb.live().fingerprint)]
    held = {facts.id for facts in kb.catalogue.documents("default")}
    assert held == {known(number) for number in numbers}
    (counts,) = kb.catalogue.listings.kinds()
    assert counts.passages == sum(1 for _ in kb.catalogue.passage_keys())
    check_all_found(kb, numbers)


def tables(kb: KnowledgeBase) -> list[str]:
    return sorted(path.stem for path in (kb.home / INDEX_FOLDER).glob("*.lance"))


def embeds_all(kb: KnowledgeBase) -> int:
    """How many passages the documents have in the shape that the settings ask for."""
    tokens = kb.settings.chunking.tokens
    documents = [kb.catalogue.document(each) for each in kb.catalogue.document_ids()]
    return sum(len(cut_text(each, tokens).cuts) for each in documents if each)


def half_made(kb: KnowledgeBase, passages: int = 40) -> None:
    """Begin to re-index, and stop after about so many passages."""

    def stop(progress: ReindexProgress) -> None:
        if progress.passages >= passages:
            for job in kb.catalogue.jobs.newest(5, "running"):
                kb.catalogue.jobs.cancel(job.id)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("wellread.ingest.pipeline.job_log.SECONDS_BETWEEN", 0.0)
        report = reindex(kb, on_progress=stop)
    assert report.cancelled
    assert not report.switched
    assert 0 < report.documents < FILES


# --- the whole way ---------------------------------------------------------------------------


def test_a_new_embedder_and_passage_size(home: Path, small_windows: None) -> None:
    seen: list[ReindexProgress] = []
    with shaped(home, NEW) as kb:
        assert kb.reindex_needed
        assert shape_of(kb) == OLD
        wanted = embeds_all(kb)
        report = reindex(kb, on_progress=seen.append)
        assert report.switched
        assert not report.cancelled
        assert (report.before.dimensions, report.now.dimensions) == (OLD[0], NEW[0])
        assert (report.documents, report.passages, report.embedded) == (FILES, wanted, wanted)
        check_settled(kb, NEW, range(FILES))
        last = seen[-1]
        assert last.done == last.total == FILES
        assert last.passages == wanted
        assert [each.passages for each in seen] == sorted(each.passages for each in seen)
        job = kb.catalogue.jobs.get(report.job_id)
        assert job is not None
        assert (job.action, job.state, job.done, job.total) == ("reindex", "done", FILES, FILES)
    with shaped(home, NEW) as kb:
        check_settled(kb, NEW, range(FILES))


def test_nothing_to_do(home: Path, tmp_path: Path) -> None:
    with shaped(home, OLD) as kb:
        report = reindex(kb)
        assert not report.switched
        assert not report.cancelled
        assert report.before == report.now == kb.live().fingerprint
        check_settled(kb, OLD, range(FILES))
    with shaped(tmp_path / "empty", NEW) as kb:
        assert not kb.reindex_needed
        assert not reindex(kb).switched
        put(kb, paper(1))
        check_settled(kb, NEW, [1])


def test_there_and_back_again(home: Path) -> None:
    """The first table's name comes back; nobody mistakes the new table for the old one."""
    with shaped(home, OLD) as other:
        check_all_found(other, [3])
        for shape in (NEW, OLD):
            with shaped(home, shape) as kb:
                assert reindex(kb).switched
                put(kb, paper(FILES))
                take_out(kb, FILES)
        put(other, paper(FILES))
        check_settled(other, OLD, range(FILES + 1))


@pytest.mark.sqlite_only
def test_documents_without_passages_and_damaged_ones_do_not_stop_it(home: Path) -> None:
    with shaped(home, NEW) as kb:
        put(kb, replace(paper(50), text=""))
        with closing(sqlite3.connect(home / CATALOGUE_FILE)) as raw, raw:
            raw.execute(
                "UPDATE texts SET text = replace(text, 'burns', 'fades') WHERE document_id = ?",
                [known(2)],
            )
        report = reindex(kb)
        assert report.switched
        assert report.documents == FILES + 1
        (problem,) = verify(kb).problems
        assert problem.subject == known(2)
        assert found(kb, "fades") == {known(2)}


@pytest.mark.sqlite_only
def test_a_document_that_cannot_be_read_keeps_the_old_index(home: Path) -> None:
    with shaped(home, NEW) as kb:
        with closing(sqlite3.connect(home / CATALOGUE_FILE)) as raw, raw:
            raw.execute("DELETE FROM marks WHERE document_id = ?", [known(2)])
        with pytest.raises(StoreError, match=f"document {known(2)} cannot be read"):
            reindex(kb)
        assert shape_of(kb) == OLD
        check_all_found(kb, [1, 3])


# --- changes meanwhile --------------------------------------------------------------------------


def test_a_cancelled_build_leaves_nothing_and_the_next_begins_anew(
    home: Path, small_windows: None
) -> None:
    with shaped(home, NEW) as kb:
        half_made(kb)
        check_settled(kb, OLD, range(FILES))
        report = reindex(kb)
        assert report.switched
        assert report.passages == report.embedded == embeds_all(kb)
        check_settled(kb, NEW, range(FILES))


def test_what_changes_while_it_is_made(home: Path, small_windows: None) -> None:
    """Changed, deleted, new, and changed in its facts only: all as they are at the end."""
    written: set[int] = set()

    def change(progress: ReindexProgress) -> None:
        if written or progress.done < 4:
            return
        staged = {key.document_id for key in kb.catalogue.reindexing.passage_keys()}
        written.update(number for number in range(FILES) if known(number) in staged)
        one, two, three, four = sorted(written)[:4]
        put(kb, paper(one, "second"), replace(paper(three), title="Renamed beacon"), paper(90))
        put(kb, paper(four, "second"))
        put(kb, paper(four))  # back to what is staged
        take_out(kb, two)

    with shaped(home, NEW) as kb:
        assert shape_of(kb) == OLD
        assert reindex(kb, on_progress=change).switched
        one, two, three, _ = sorted(written)[:4]
        left = [number for number in (*range(FILES), 90) if number != two]
        check_settled(kb, NEW, left)
        assert found(kb, "second") == {known(one)}
        assert found(kb, "renamed beacon") == {known(three)}
        assert found(kb, f"harbour{two}") == set()


def test_a_document_that_goes_and_comes_back_while_it_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was staged of it lost its words when it went; it is made anew."""
    real = LanceIndex.write
    struck: list[int] = []

    with shaped(home, NEW) as kb:
        assert shape_of(kb) == OLD

        def write_rows(
            self: LanceIndex, rows: Sequence[IndexRow], vectors: NDArray[np.float32] | None
        ) -> None:
            real(self, rows, vectors)
            if not struck:
                struck.append(1)
                take_out(kb, 3)
                put(kb, paper(3))

        monkeypatch.setattr(LanceIndex, "write", write_rows)
        assert reindex(kb).switched
        check_settled(kb, NEW, range(FILES))
        assert all(row.context == "Paper 3" for row in kb.catalogue.passages_of([known(3)]))


def test_rows_that_got_lost_are_written_again(home: Path, small_windows: None) -> None:
    lost: list[str] = []

    def lose(progress: ReindexProgress) -> None:
        if progress.done and not lost:
            key = next(kb.catalogue.reindexing.passage_keys())
            lost.append(key.document_id)
            kb.open_index(kb.wanted).remove([(key.document_id, key.version)])

    with shaped(home, NEW) as kb:
        assert reindex(kb, on_progress=lose).switched
        assert lost
        check_settled(kb, NEW, range(FILES))


def test_an_index_that_keeps_nothing_never_goes_live(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shaped(home, NEW) as kb:
        assert shape_of(kb) == OLD  # opened before its class is spoilt
        monkeypatch.setattr(LanceIndex, "write", lambda self, rows, vectors: None)
        with pytest.raises(StoreError, match=r"lacks \d+ rows"):
            reindex(kb)
        monkeypatch.undo()
        check_all_found(kb, range(FILES))
        (job,) = kb.catalogue.jobs.newest(1)
        assert job.state == "failed"


# --- while others are at it ------------------------------------------------------------------


@contextmanager
def asked_all_the_time(kbs: list[KnowledgeBase]) -> Iterator[list[str]]:
    """Ask for every paper again and again, in a thread for each; what went wrong."""
    wrong: list[str] = []
    asked = [0] * len(kbs)
    over = threading.Event()

    def ask(place: int, kb: KnowledgeBase) -> None:
        chance = random.Random(place)
        while not over.is_set():
            number = chance.randrange(FILES)
            try:
                hits = search(kb, f"harbour{number}", Filters(), limit=3)
            except Exception as error:  # noqa: BLE001 - nothing at all may be raised
                wrong.append(repr(error))
                continue
            if not hits or hits[0].document.id != known(number):
                wrong.append(f"{number}: {[hit.document.uri for hit in hits]}")
            asked[place] += 1

    threads = [threading.Thread(target=ask, args=each) for each in enumerate(kbs)]
    for thread in threads:
        thread.start()
    try:
        yield wrong
        while not wrong and min(asked) <= 5:  # however busy the machine is
            time.sleep(0.01)
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_questions_never_fail_and_never_come_back_empty(home: Path, small_windows: None) -> None:
    with shaped(home, NEW) as kb, shaped(home, OLD) as server:
        assert shape_of(server) == OLD
        with asked_all_the_time([server, server, kb]) as wrong:
            assert reindex(kb).switched
        assert wrong == []
        assert shape_of(server) == NEW
    with shaped(home, OLD) as kb, shaped(home, NEW) as server:
        with asked_all_the_time([server]) as wrong:
            for shape in (OLD, NEW):
                with shaped(home, shape) as other:
                    assert reindex(other).switched
        assert wrong == []


def test_a_search_that_runs_into_the_switch_is_made_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch comes between the look into the old index and that into the catalogue."""
    real = LanceIndex.search_text
    switches: list[Shape] = []

    with shaped(home, NEW) as kb, shaped(home, OLD) as server:

        def search_text(
            self: LanceIndex, query: str, filters: Filters, limit: int
        ) -> list[Candidate]:
            candidates = real(self, query, filters, limit)
            if not switches:
                switches.append(NEW)
                assert reindex(kb).switched
            return candidates

        monkeypatch.setattr(LanceIndex, "search_text", search_text)
        assert found(server, "harbour3") == {known(3)}
        assert switches
        assert shape_of(server) == NEW


def test_documents_added_by_another_process_meanwhile(
    home: Path, tmp_path: Path, small_windows: None
) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    for number in range(20, 26):
        (folder / f"{number}.txt").write_text(paper(number).text)
    adding: list[Child] = []
    with shaped(home, NEW) as kb:

        def begin(progress: ReindexProgress) -> None:
            if not adding:
                adding.append(Child("add", home, NEW, folder))
                adding[0].wait_for_begun()

        assert reindex(kb, on_progress=begin).switched
        said, complained = adding[0].communicate()
        assert "done" in said, complained
        assert adding[0].returncode == 0
        assert verify(kb).problems == ()
        assert shape_of(kb) == NEW
        for number in range(20, 26):
            assert len(found(kb, f"harbour{number}")) == 1
        assert len(kb.catalogue.documents("default")) == FILES + 6
        assert kb.catalogue.vectors.passages_pending() == 0
        assert len(tables(kb)) == 1


def test_the_switch_waits_for_other_writers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shaped(home, NEW) as kb:
        with writing(kb):
            run = threading.Thread(target=reindex, args=[kb])
            run.start()
            run.join(0.3)
            assert run.is_alive()
            assert shape_of(kb) == OLD
        run.join()
        check_settled(kb, NEW, range(FILES))


@pytest.mark.sqlite_only
def test_two_at_once_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "LOCK_SECONDS", 0.1)
    with shaped(home, NEW) as kb, FileLock(home / REINDEX_LOCK):
        with pytest.raises(StoreError, match="another process is re-indexing"):
            reindex(kb)
        tidy(kb)  # leaves it to the other process


# --- killed ----------------------------------------------------------------------------------


class Child(forked.Forked):
    """A process that re-indexes, or adds."""

    def __init__(
        self, action: str, home: Path, shape: Shape, folder: Path | str = "", point: str = ""
    ) -> None:
        super().__init__("from tests.ingest.reindexing_process import main; main()")
        print(json.dumps([action, str(home), shape, str(folder), point]), file=self.stdin)

    def wait_for_begun(self) -> None:
        assert self.stdout.readline() == "begun\n"


def test_a_kill_at_any_point_loses_nothing(home: Path, small_windows: None) -> None:
    """``benchmarks/kills.py`` strikes at random moments, far more often."""
    shape, former = NEW, OLD
    numbers = list(range(FILES))
    for turn, point in enumerate(REINDEXING):
        child = Child("reindex", home, shape, point=point)
        child.communicate()
        assert child.returncode == -signal.SIGKILL, point
        with shaped(home, shape) as kb:
            check_whole(kb, numbers)
            if turn % 3 == 0:
                numbers = changed(kb, numbers, turn)
            assert (shape_of(kb) == former) == (point != "switch")
            assert reindex(kb).switched == (point != "switch")
            end_dead_jobs(kb)
            check_settled(kb, shape, numbers)
        shape, former = former, shape


def check_whole(kb: KnowledgeBase, numbers: list[int]) -> None:
    """Whichever index is live, it is whole, and every paper is found."""
    assert shape_of(kb) in (OLD, NEW)
    problems = verify(kb).problems
    assert [problem for problem in problems if problem.kind not in LEFTOVERS] == []
    check_all_found(kb, numbers)


def changed(kb: KnowledgeBase, numbers: list[int], turn: int) -> list[int]:
    """Change one paper, take one out, add one; the papers that are there then."""
    put(kb, paper(numbers[0], f"edition{turn}"), paper(100 + turn))
    take_out(kb, numbers[1])
    return [numbers[0], *numbers[2:], 100 + turn]


# --- left behind -----------------------------------------------------------------------------


def test_an_index_that_a_kill_left_behind_is_dropped(home: Path) -> None:
    with shaped(home, OLD) as kb:
        live = kb.live().fingerprint
        stray = replace(live, embedder="gone")
        kb.open_index(stray)
        assert tables(kb) == sorted([table_name(live), table_name(stray)])
        tidy(kb)
        check_settled(kb, OLD, range(FILES))
    with shaped(home, OLD) as kb:
        kb.open_index(stray)
        assert not reindex(kb).switched
        check_settled(kb, OLD, range(FILES))


def test_what_a_killed_build_left_is_dropped_by_any_run(home: Path, small_windows: None) -> None:
    Child("reindex", home, NEW, point="index").communicate()
    with shaped(home, OLD) as kb:  # another run, with other settings; it opens no embedder
        assert kb.catalogue.reindexing.attempt() is not None
        assert len(tables(kb)) == 2
        tidy(kb)
        assert list(kb.catalogue.reindexing.passage_keys()) == []
        end_dead_jobs(kb)
        check_settled(kb, OLD, range(FILES))


def test_an_old_index_that_cannot_be_dropped_is_left_to_the_next_run(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: Path, *keep: Fingerprint) -> list[str]:
        raise StoreError("a file is being read")

    with shaped(home, NEW) as kb:
        with monkeypatch.context() as patched:
            patched.setattr(LanceIndex, "drop_others", staticmethod(refuse))
            assert reindex(kb).switched
        assert "a file is being read" in caplog.text
        assert len(tables(kb)) == 2
        assert shape_of(kb) == NEW
        assert not reindex(kb).switched
        check_settled(kb, NEW, range(FILES))
