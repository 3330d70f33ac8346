"""Removing and replacing: nothing of it is left, in any store, and other material stays whole."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.made import answer_of, citation_of

from wellread.ask.retrieve.search import search
from wellread.errors import SourceError, UnknownCollectionError
from wellread.ingest.integrity import purge as purging
from wellread.ingest.integrity.purge import find_traces, is_purged
from wellread.ingest.integrity.verify import verify
from wellread.ingest.pipeline.commit import index_rows
from wellread.ingest.remove import (
    INDEX_ROWS,
    RemoveReport,
    remove_collection,
    remove_documents,
    remove_named,
)
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.store.base import Fingerprint
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters, Span
from wellread.values.answers import Sentence, Verdict, VerdictName

FERRY = "The ferry Osprey carries ninety passengers across the sound."
MILL = "The mill grinds barley in the west wind every single day."
SHARED = "All notices of the harbour office are in the public domain."
NEWS = """<rss version="2.0"><channel><title>Harbour news</title><link>https://x.example/</link>
<item><title>Seals are back</title><link>https://x.example/seals</link>
<description>Nineteen grey seals were counted on the northern pier.</description></item>
<item><title>Crane sold</title><link>https://x.example/crane</link>
<description>The old steam crane was sold to a museum abroad.</description></item>
</channel></rss>"""
SEALS = "Nineteen grey seals were counted on the northern pier."
CRANE = "The old steam crane was sold to a museum abroad."
OTHER = Fingerprint(embedder="another", dimensions=4, chunking="c")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sources in ``papers``, and a home in ``home`` that they were added to."""
    folder = tmp_path_factory.mktemp("prepared")
    boats = folder / "papers" / "boats"
    boats.mkdir(parents=True)
    (boats / "ferry.txt").write_text(f"{FERRY} {SHARED}")
    (folder / "papers" / "mill.txt").write_text(f"{MILL} {SHARED}")
    (folder / "papers" / "news.xml").write_text(NEWS)
    with open_kb(folder / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder / "papers")])
    return folder


@pytest.fixture
def kb(prepared: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    home = shutil.copytree(prepared / "home", tmp_path / "home")
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
def papers(prepared: Path) -> Path:
    return prepared / "papers"


def uris(kb: KnowledgeBase) -> list[str]:
    return sorted(facts.uri.rpartition("/")[2] for facts in kb.catalogue.documents("default"))


def everything(kb: KnowledgeBase) -> str:
    """All that SQLite gives back, and all bytes of all files: nothing of ours is used to look."""
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as connection:
        said = "\n".join(connection.iterdump())
    files = [path.read_bytes() for path in kb.home.rglob("*") if path.is_file()]
    return said + b"\n".join(files).decode("latin-1")


def assert_gone(kb: KnowledgeBase, report: RemoveReport, *sentences: str) -> None:
    assert report.traces == ()
    assert report.purged
    assert is_purged(kb)
    assert find_traces(kb, sentences) == []
    left = everything(kb)
    for sentence in sentences:
        assert sentence not in left
        assert " ".join(sentence.split()[2:6]) not in left
        found = [hit.passage.text for hit in search(kb, sentence, Filters())]
        assert not any(sentence in text for text in found)
    checked = verify(kb)
    assert checked.problems == ()
    assert checked.notes == ()


@pytest.mark.sqlite_only
def test_what_was_removed_is_nowhere(kb: KnowledgeBase, papers: Path) -> None:
    uri = (papers / "boats" / "ferry.txt").as_uri()
    assert "Osprey" in everything(kb)
    report = remove_named(kb, "default", [str(papers / "boats" / "ferry.txt")])
    assert_gone(kb, report, FERRY)
    assert (report.sources, report.documents) == ((uri,), 1)
    counts = report.counts
    assert (counts["documents"], counts["passages"], counts[INDEX_ROWS]) == (1, 1, 1)
    assert (counts["texts"], counts["marks"], counts["sources"]) == (1, 1, 1)
    assert (report.looked_for, report.shared) == (1, 1)  # the mill says the second one as well
    assert "Osprey" not in everything(kb)
    assert [hit.passage.text for hit in search(kb, "barley", Filters(), mode="text")] == [
        f"{MILL} {SHARED}"
    ]


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("{papers}/mill.txt", ["crane", "ferry.txt", "seals"]),
        ("{papers}/boats", ["crane", "mill.txt", "seals"]),
        ("{papers}/boats/", ["crane", "mill.txt", "seals"]),
        ("file://{papers}/boats/ferry.txt", ["crane", "mill.txt", "seals"]),
        ("{papers}/news.xml", ["ferry.txt", "mill.txt"]),
        ("{papers}", []),
        ("https://x.example/seals", ["crane", "ferry.txt", "mill.txt"]),
        ("seals ARE back", ["crane", "ferry.txt", "mill.txt"]),
        ("doc_…", ["crane", "ferry.txt", "mill.txt"]),
    ],
)
def test_things_can_be_named_in_many_ways(
    kb: KnowledgeBase, papers: Path, name: str, left: list[str]
) -> None:
    (seals,) = [each.id for each in kb.catalogue.documents("default") if "seals" in each.uri]
    given = seals[:12] if name == "doc_…" else name.format(papers=papers)
    report = remove_named(kb, "default", [given], prove=False)
    assert uris(kb) == left
    assert report.documents == 4 - len(left)
    assert report.purged is None
    assert verify(kb).problems == ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("nothing.txt", "nothing in the collection “default”"),
        ("doc_0000", "nothing in the collection"),
        ("https://nowhere.example/", "nothing in the collection"),
        ("doc_", "names 4 documents"),
    ],
)
def test_a_name_that_names_nothing_or_too_much_stops_the_removal(
    kb: KnowledgeBase, papers: Path, given: str, reason: str
) -> None:
    with pytest.raises(SourceError, match=reason):
        remove_named(kb, "default", [str(papers / "mill.txt"), given])
    assert len(uris(kb)) == 4


def test_other_collections_are_not_touched(kb: KnowledgeBase, papers: Path) -> None:
    add(kb, [str(papers / "mill.txt")], collection="copy")
    with pytest.raises(SourceError, match="nothing in the collection “copy”"):
        remove_named(kb, "copy", [str(papers / "boats")])
    report = remove_named(kb, "default", [str(papers / "mill.txt")])
    assert report.traces == ()
    assert (report.looked_for, report.shared) == (0, 2)  # the other collection says all of it
    assert len(kb.catalogue.documents("copy")) == 1


@pytest.mark.sqlite_only
def test_a_collection_goes_with_all_that_is_kept_of_it(kb: KnowledgeBase, papers: Path) -> None:
    add(kb, [str(papers / "mill.txt")], collection="copy")
    kb.catalogue.collection_settings.set_settings("default", {"relations": {}})
    report = remove_collection(kb, "default")
    assert_gone(kb, report, FERRY, SEALS, CRANE)
    assert report.documents == 4
    assert kb.catalogue.collection_names() == ["copy"]
    assert kb.catalogue.sources("default") == {}
    assert kb.catalogue.collection_settings.settings("default") is None
    assert [job.collection for job in kb.catalogue.jobs.newest()] == ["copy"]
    with pytest.raises(UnknownCollectionError, match="no collection “default”"):
        remove_collection(kb, "default")


@pytest.mark.sqlite_only
def test_a_removed_document_stays_away_until_its_source_changes(
    kb: KnowledgeBase, papers: Path
) -> None:
    (seals,) = [each.id for each in kb.catalogue.documents("default") if "seals" in each.uri]
    report = remove_documents(kb, [seals, "doc_unknown"], prove=True)
    assert_gone(kb, report, SEALS)
    assert (report.sources, report.documents) == ((), 1)
    assert sync(kb, [str(papers)]).counts()["unchanged"] == 3
    assert uris(kb) == ["crane", "ferry.txt", "mill.txt"]


@pytest.mark.sqlite_only
def test_what_answers_and_gaps_said_of_it_goes_too(kb: KnowledgeBase, papers: Path) -> None:
    (ferry,) = [each for each in kb.catalogue.documents("default") if "ferry" in each.uri]
    span = Span(start=0, end=len(FERRY))
    quote = citation_of(
        document_id=ferry.id,
        version=ferry.version,
        title=ferry.title,
        link=f"{ferry.uri}#:~:text=The%20ferry%20Osprey",
        quote=FERRY,
        answer_span=span,
        source_span=span,
    )
    verdict = Verdict(name=VerdictName.SUPPORTED, method="verbatim", score=1.0)
    answer = answer_of(
        question="How many?",
        text=f"{FERRY} [1]",
        citations=(quote,),
        sentences=(Sentence(text=FERRY, span=span, verdict=verdict, citations=(1,)),),
    )
    kb.catalogue.record_answer(answer)
    kb.catalogue.record_answer(
        replace(answer, id="ans_2", text="?", citations=(), sentences=(), notes=(FERRY,))
    )
    kb.catalogue.record_gap(f"Who says: {FERRY}", "nobody")
    report = remove_named(kb, "default", [str(papers / "boats")])
    assert_gone(kb, report, FERRY)
    assert report.answers == 2
    kept = kb.catalogue.answer("ans_1")
    assert kept is not None
    assert kept.citations[0].document_id == ferry.id
    assert kept.question == "How many?"


@pytest.mark.sqlite_only
def test_replaced_text_is_nowhere_after_the_run(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "tides.txt"
    path.write_text("High water comes twenty minutes late in the inner basin.")
    add(kb, [str(path)])
    assert find_traces(kb, ["High water comes twenty minutes late in the inner basin."])
    path.write_text("Low water is at six in the morning today.")
    assert add(kb, [str(path)]).counts()["updated"] == 1
    assert find_traces(kb, ["High water comes twenty minutes late in the inner basin."]) == []
    assert "twenty minutes" not in everything(kb)
    assert verify(kb).notes == ()
    path.unlink()
    (tmp_path / "else.txt").write_text("Something else is said here.")
    sync(kb, [str(tmp_path)])
    assert find_traces(kb, ["Low water is at six in the morning today."]) == []
    assert "six in the morning" not in everything(kb)


@pytest.mark.sqlite_only
def test_a_large_home_leaves_the_purge_to_remove_and_repair(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "MAX_QUICK_PASSAGES", 2)
    path = tmp_path / "tides.txt"
    path.write_text("High water comes twenty minutes late in the inner basin.")
    add(kb, [str(path)])
    path.write_text("Low water is at six in the morning today.")
    add(kb, [str(path)])
    assert not is_purged(kb)
    assert verify(kb).clean
    assert len(verify(kb).notes) == 1
    remove_named(kb, "default", [str(path)])
    assert is_purged(kb)
    assert "twenty minutes" not in everything(kb)


def test_an_index_in_the_making_forgets_it_as_well(kb: KnowledgeBase, papers: Path) -> None:
    facts = kb.catalogue.documents("default")
    state = kb.catalogue.reindexing
    state.begin(OTHER)
    index = kb.open_index(OTHER)
    for each in facts:
        edition = state.edition(each.id)
        assert edition is not None
        passages = kb.catalogue.passages_of([each.id])
        state.intend([passages])
        index.write(index_rows(edition.document, passages), None)
    assert {trace.place.partition(" ")[0] for trace in find_traces(kb, [FERRY])} >= {"live", "next"}
    report = remove_named(kb, "default", [str(papers / "boats")])
    assert report.traces == ()
    assert state.attempt() is None  # nobody was building it
    assert list(state.passage_keys()) == []


def test_what_could_not_be_removed_is_told(kb: KnowledgeBase, papers: Path) -> None:
    (kb.home / "notes.txt").write_text(f"To remember: {FERRY}")
    report = remove_named(kb, "default", [str(papers / "boats")])
    assert [(trace.store, trace.place) for trace in report.traces] == [("files", "notes.txt")]
