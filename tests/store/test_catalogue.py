"""The catalogue: what goes in comes out, flips are whole, and nothing outlives a removal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.doubles import forked
from tests.store.made import passages_of

from wellread.errors import StoreError
from wellread.identity import document_id, version_of
from wellread.store.base import Fingerprint, IndexKey
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.reindexing import LiveIndex
from wellread.store.schema.stored_values import (
    DocumentChange,
    PendingWrite,
    SourceChange,
    SourceRecord,
    VersionKey,
)
from wellread.store.schema.tables import PIECE
from wellread.types import Document, EntityFacts, LineMark, Span


def doc(name: str, text: str = "One. Two. Three.", **fields: Any) -> Document:
    plain = Document(collection="main", uri=f"file:///{name}", kind="page", title=name, text=text)
    return replace(plain, **fields)


def cut(document: Document, size: int = 5) -> DocumentChange:
    spans = [
        Span(start=start, end=min(start + size, len(document.text)))
        for start in range(0, len(document.text), size)
    ]
    passages = passages_of(document, spans, context=document.title, speakers=("Ann",))
    return DocumentChange(document=document, passages=passages)


def change(source: str, *documents: Document, collection: str = "main") -> SourceChange:
    record = SourceRecord(collection=collection, uri=source, size=3, mtime_ns=9, digest="d")
    return SourceChange(record=record, documents=[cut(document) for document in documents])


def key(document: Document) -> VersionKey:
    return (
        document_id(document.collection, document.uri),
        version_of(document.text, document.marks),
    )


def pending(catalogue: Catalogue) -> set[tuple[str, str, str]]:
    return {(one.document_id, one.version, one.action) for one in catalogue.pending()}


def removals(*documents: Document) -> set[tuple[str, str, str]]:
    return {(*key(document), "remove") for document in documents}


# --- documents ---


def test_facts_passages_texts_and_marks_of_a_document(catalogue: Catalogue) -> None:
    document = doc("a", "One. Two. Three.", marks=(LineMark(start=0, end=9, line=1),))
    catalogue.commit([change("s", document)])
    known, version = key(document)
    facts = catalogue.facts([known, "nobody"])[known]
    assert (facts.version, facts.title, facts.characters) == (version, "a", 16)
    assert catalogue.documents("main") == [facts]
    assert catalogue.live_versions([known, "nobody"]) == {known: version}
    assert catalogue.marks([known, "nobody"]) == {known: document.marks}
    passages = cut(document).passages
    assert catalogue.passages_of([known]) == passages
    assert catalogue.live_passages([passage.id for passage in passages] + ["nobody"]) == {
        passage.id: passage for passage in passages
    }
    assert set(catalogue.passage_keys()) == {
        IndexKey(passage_id=passage.id, document_id=known, version=version) for passage in passages
    }
    assert catalogue.document("nobody") is None


def test_spans_are_read_across_the_pieces_of_a_long_text(catalogue: Catalogue) -> None:
    text = "".join(chr(0x1F600 + number % 70) for number in range(3 * PIECE + 7))
    document = doc("long", text)
    changed = SourceChange(
        record=SourceRecord(collection="main", uri="s"), documents=[cut(document, PIECE - 3)]
    )
    catalogue.commit([changed])
    known = key(document)[0]
    edges = (0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE, len(text))
    spans = [Span(start=a, end=b) for a in edges for b in edges if a < b]
    assert catalogue.texts([(known, span) for span in spans]) == [span.of(text) for span in spans]
    passages = changed.documents[0].passages
    found = catalogue.live_passages([passage.id for passage in passages])
    assert [found[passage.id] for passage in passages] == list(passages)
    whole = catalogue.document(known)
    assert whole is not None
    assert whole.text == text


def test_marks_over_a_span_are_those_that_touch_it(catalogue: Catalogue) -> None:
    marks = tuple(LineMark(start=n * 4, end=n * 4 + 4, line=n + 1) for n in range(4))
    document = doc("a", "One. Two. Three.", marks=marks)
    catalogue.commit([change("s", document)])
    known = key(document)[0]
    spans = [Span(start=4, end=8), Span(start=3, end=9), Span(start=8, end=8)]
    assert catalogue.marks_over([*((known, span) for span in spans), ("nobody", spans[0])]) == [
        marks[1:2],
        marks[0:3],
        marks[2:3],
        (),
    ]


def test_neighbours_come_in_reading_order_and_stop_at_the_ends(catalogue: Catalogue) -> None:
    document = doc("a", "aaaaabbbbbcccccddddd")
    catalogue.commit([change("s", document, doc("b", "other text of its own"))])
    ids = [passage.id for passage in cut(document).passages]
    assert [one.text for one in catalogue.neighbours(ids[1], 1, 1)] == ["aaaaa", "bbbbb", "ccccc"]
    assert [one.text for one in catalogue.neighbours(ids[0], 5, 0)] == ["aaaaa"]
    assert [one.text for one in catalogue.neighbours(ids[2], 0, 9)] == ["ccccc", "ddddd"]
    assert catalogue.neighbours("nobody", 1, 1) == []


def test_moments_are_kept_in_utc(catalogue: Catalogue) -> None:
    east = datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=3)))
    naive = datetime(2025, 1, 1, 1)
    catalogue.commit([change("s", doc("a", published_at=east), doc("b", published_at=naive))])
    by_uri = {facts.uri: facts.published_at for facts in catalogue.documents("main")}
    assert by_uri == {"file:///a": east, "file:///b": naive.replace(tzinfo=UTC)}
    assert {moment.utcoffset() for moment in by_uri.values() if moment} == {timedelta()}


def test_text_that_no_database_keeps_is_a_store_error(catalogue: Catalogue) -> None:
    with pytest.raises(StoreError, match="could not write"):
        catalogue.commit(
            [
                SourceChange(
                    record=SourceRecord(collection="main", uri="s"),
                    documents=[DocumentChange(document=doc("a", title="\ud800"), passages=[])],
                )
            ]
        )
    assert catalogue.collection_names() == []


def test_passages_of_another_version_are_refused(catalogue: Catalogue) -> None:
    wrong = DocumentChange(document=doc("a"), passages=cut(doc("b")).passages)
    with pytest.raises(StoreError, match="does not belong to version"):
        catalogue.commit(
            [SourceChange(record=SourceRecord(collection="main", uri="s"), documents=[wrong])]
        )
    assert catalogue.sources("main") == {}


# --- flips ---


def test_a_new_version_replaces_the_old_one_whole(catalogue: Catalogue) -> None:
    old, new = doc("a", "old words"), doc("a", "new words, more")
    catalogue.commit([change("s", old)])
    catalogue.settle([key(old)])
    catalogue.intend([key(new)], run="r1")
    assert catalogue.pending() == [
        PendingWrite(document_id=key(new)[0], version=key(new)[1], action="write", run="r1")
    ]
    catalogue.commit([change("s", new)])
    assert pending(catalogue) == removals(old)
    assert catalogue.live_versions([key(new)[0]]) == dict([key(new)])
    assert catalogue.live_passages([one.id for one in cut(old).passages]) == {}
    assert len(catalogue.live_passages([one.id for one in cut(new).passages])) == 3
    catalogue.settle([key(old)])
    assert catalogue.pending() == []


def test_changed_facts_alone_remove_nothing_from_the_index(catalogue: Catalogue) -> None:
    catalogue.commit([change("s", doc("a", title="Old"))])
    catalogue.commit([change("s", doc("a", title="New"))])
    assert catalogue.pending() == []
    assert [facts.title for facts in catalogue.documents("main")] == ["New"]


def test_going_back_to_an_earlier_version_cancels_its_removal(catalogue: Catalogue) -> None:
    first, second = doc("a", "first"), doc("a", "second")
    for document in (first, second, first):
        catalogue.commit([change("s", document)])
    assert pending(catalogue) == removals(second)


def test_documents_that_a_source_no_longer_yields_are_deleted(catalogue: Catalogue) -> None:
    kept, gone = doc("kept"), doc("gone", "gone for good")
    other = doc("other", "of another source")
    catalogue.commit([change("feed", kept, gone), change("file", other)])
    catalogue.commit([change("feed", kept)])
    assert [facts.title for facts in catalogue.documents("main")] == ["kept", "other"]
    assert pending(catalogue) == removals(gone)
    assert catalogue.live_passages([one.id for one in cut(gone).passages]) == {}


def test_a_document_that_moved_to_another_source_stays(catalogue: Catalogue) -> None:
    document = doc("a")
    catalogue.commit([change("one", document)])
    catalogue.commit([change("one"), change("two", document)])
    assert [facts.title for facts in catalogue.documents("main")] == ["a"]
    assert catalogue.pending() == []
    assert catalogue.remove_sources("main", ["one"]) == []
    assert catalogue.remove_sources("main", ["two"]) == [key(document)]


def test_a_failed_commit_changes_nothing(catalogue: Catalogue) -> None:
    before = doc("a", "before")
    catalogue.commit([change("s", before)])
    bad = DocumentChange(document=doc("b", summary="\ud800"), passages=[])
    broken = SourceChange(record=SourceRecord(collection="main", uri="t"), documents=[bad])
    with pytest.raises(StoreError):
        catalogue.commit([change("s", doc("a", "after")), broken])
    assert catalogue.live_versions([key(before)[0]]) == dict([key(before)])
    assert catalogue.pending() == []


@pytest.mark.sqlite_only
def test_removing_a_source_leaves_nothing_of_it(catalogue: Catalogue, tmp_path: Path) -> None:
    secret = doc("a", "the word is xyzzyplugh", entity=EntityFacts(entity_id="e:a"))
    catalogue.commit([change("s", secret), change("t", doc("b"))])
    assert _holds(tmp_path, b"xyzzyplugh")
    assert catalogue.remove_sources("main", ["s", "nobody"]) == [key(secret)]
    assert not _holds(tmp_path, b"xyzzyplugh")
    assert pending(catalogue) == removals(secret)
    assert set(catalogue.sources("main")) == {"t"}
    assert catalogue.graph.entities(["main"]) == []
    assert [(one.documents, one.passages) for one in catalogue.listings.kinds()] == [(1, 4)]


def test_many_documents_in_one_commit(catalogue: Catalogue) -> None:
    documents = [doc(f"{number:04}", f"text {number}") for number in range(1_203)]
    catalogue.commit([change("s", *documents)])
    ids = [key(document)[0] for document in documents]
    assert len(catalogue.facts(ids)) == len(catalogue.live_versions(ids)) == 1_203
    assert len(catalogue.remove_sources("main", ["s"])) == 1_203
    assert catalogue.listings.kinds() == []


# --- sources, overviews, properties ---


def test_sources_are_recorded(catalogue: Catalogue) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    bad = SourceRecord(
        collection="main",
        uri="bad.pdf",
        size=2**40,
        mtime_ns=2**60,
        status="failed",
        reason="not a PDF",
        seen_at=long_ago,
    )
    catalogue.record_sources([bad])
    assert catalogue.sources("main") == {"bad.pdf": bad}
    catalogue.record_sources([replace(bad, reason="encrypted")])
    assert catalogue.sources("main")["bad.pdf"].reason == "encrypted"
    assert catalogue.sources("other") == {}


def test_counts_by_collection_and_kind(catalogue: Catalogue) -> None:
    talk = doc("t", "12345678", kind="transcript")
    news = replace(doc("n", "123"), collection="news")
    catalogue.commit([change("s", doc("a"), talk), change("s", news, collection="news")])
    assert catalogue.collection_names() == ["main", "news"]
    counts = {(one.collection, one.kind): one for one in catalogue.listings.kinds()}
    assert set(counts) == {("main", "page"), ("main", "transcript"), ("news", "page")}
    talks = counts["main", "transcript"]
    assert (talks.documents, talks.passages, talks.characters) == (1, 2, 8)


def test_the_live_index_is_kept(catalogue: Catalogue) -> None:
    assert catalogue.reindexing.live() is None
    live = LiveIndex(fingerprint=Fingerprint(embedder="e", dimensions=4, chunking="c", schema=2))
    assert catalogue.reindexing.claim(live) == live
    assert catalogue.reindexing.live() == live


# --- processes and threads ---


def test_a_commit_survives_a_kill(tmp_path: Path, place_of: Callable[[Path], str]) -> None:
    code = (
        "import os, signal, sys\n"
        "from wellread.store.catalogue import Catalogue\n"
        "from wellread.store.base import Fingerprint\n"
        "from wellread.store.catalogue.documents.reindexing import LiveIndex\n"
        "catalogue = Catalogue.open(sys.argv[1])\n"
        "fingerprint = Fingerprint(embedder='e', dimensions=4, chunking='c')\n"
        "catalogue.reindexing.claim(LiveIndex(fingerprint=fingerprint))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "catalogue.db"
    ended = forked.run(code, place_of(path))
    assert ended.returncode == -signal.SIGKILL
    again = Catalogue.open(path)
    fingerprint = Fingerprint(embedder="e", dimensions=4, chunking="c")
    assert again.reindexing.live() == LiveIndex(fingerprint=fingerprint)
    again.close()


def test_threads_can_commit_and_read_at_once(catalogue: Catalogue) -> None:
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                document = doc(f"{number}-{turn}", f"text {number} {turn}")
                catalogue.commit([change(f"s{number}-{turn}", document)])
                assert catalogue.document(key(document)[0]) == document
        except (StoreError, AssertionError) as error:
            failures.append(error)

    _run([threading.Thread(target=work, args=(number,)) for number in range(6)])
    assert failures == []
    assert catalogue.listings.kinds()[0].documents == 30


def test_a_snapshot_is_not_moved_by_a_writer(catalogue: Catalogue) -> None:
    catalogue.commit([change("s", doc("a"))])
    keys = catalogue.passage_keys()
    first = next(keys)
    catalogue.commit([change("t", doc("b"))])
    assert {one.document_id for one in [first, *keys]} == {key(doc("a"))[0]}


@pytest.mark.sqlite_only
def test_a_path_that_cannot_be_used_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "junk.db").write_bytes(os.urandom(8_192))
    for path in (tmp_path / "file" / "catalogue.db", tmp_path / "junk.db"):
        with pytest.raises(StoreError):
            Catalogue.open(path)
    for where in ("sqlite:///one.db", "nonsense://user@host/db", "://"):
        with pytest.raises(StoreError):
            Catalogue.open(where)


def _run(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _holds(folder: Path, word: bytes) -> bool:
    return any(word in path.read_bytes() for path in folder.rglob("*") if path.is_file())
