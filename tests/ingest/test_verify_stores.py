"""``verify`` finds every kind of damage that is planted, and mends what can be mended."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from wellread.ask.retrieve import search
from wellread.errors import StoreError
from wellread.identity import document_id
from wellread.ingest import verify as verifying
from wellread.ingest.rows import index_rows
from wellread.ingest.run import add
from wellread.ingest.verify import VerifyReport, verify
from wellread.ingest.writing import writing
from wellread.kb import CATALOGUE_FILE, KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Document, Filters, Passage, Span

TEXTS = {
    "ferry.txt": "The ferry Osprey carries ninety passengers.",
    "mill.txt": "The mill grinds barley in the west wind.",
}


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder)])
        yield opened


@pytest.fixture
def ferry(kb: KnowledgeBase) -> tuple[str, str]:
    """Id and live version of the ferry's document."""
    (facts,) = [each for each in kb.catalogue.documents("default") if "ferry" in each.uri]
    return facts.id, facts.version


def kinds(report: VerifyReport) -> list[tuple[str, str, bool]]:
    return [(each.kind, each.subject, each.repaired) for each in report.problems]


def by_sql(kb: KnowledgeBase, statement: str, *values: object) -> None:
    """Change the catalogue's file behind the back of everything."""
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as connection, connection:
        assert connection.execute(statement, values).rowcount == 1


def plant_rows(kb: KnowledgeBase, document: Document, version: str) -> str:
    """Index rows that the catalogue knows nothing of; the id of their document."""
    known = document_id(document.collection, document.uri)
    passage = Passage(
        id=f"psg_{version}",
        document_id=known,
        version=version,
        span=Span(start=0, end=len(document.text)),
        text=document.text,
    )
    kb.index.write(index_rows(document, [passage]), kb.embedder.embed([document.text], "passage"))
    return known


def index_ids(kb: KnowledgeBase) -> list[str]:
    """The passage of every row of the index."""
    rows = kb.index.keys()
    return sorted(row.passage_id for row in rows)


def found(kb: KnowledgeBase, words: str) -> list[str]:
    return [hit.passage.text for hit in search(kb, words, Filters(), mode="text")]


def test_a_whole_home_has_no_problems(kb: KnowledgeBase) -> None:
    for repair in (False, True):
        report = verify(kb, repair=repair)
        assert report.problems == ()
        assert report.clean
        assert report.counts == {
            "documents": 2,
            "passages in the catalogue": 2,
            "rows in the index": 2,
        }


def test_missing_rows_are_found_and_written_again(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    before = index_ids(kb)
    assert kb.index.remove([ferry]) == 1
    report = verify(kb)
    assert kinds(report) == [(verifying.MISSING, ferry[0], False)]
    assert report.problems[0].detail == f"1 passages of {ferry[1]}"
    assert report.counts["rows in the index"] == 1
    assert not report.clean
    assert found(kb, "osprey") == []  # looking mends nothing

    mended = verify(kb, repair=True)
    assert kinds(mended) == [(verifying.MISSING, ferry[0], True)]
    assert mended.clean
    assert mended.counts["rows in the index"] == 2
    assert verify(kb).problems == ()
    assert index_ids(kb) == before
    assert found(kb, "osprey") == [TEXTS["ferry.txt"]]
    (hit,) = search(kb, "ferry osprey passengers", Filters(document_ids=(ferry[0],)))
    assert hit.similarity is not None
    assert hit.similarity > 0.5


@pytest.mark.parametrize("living", [True, False], ids=["old version", "unknown document"])
def test_orphan_rows_are_found_and_dropped(
    kb: KnowledgeBase, ferry: tuple[str, str], living: bool
) -> None:
    document = kb.catalogue.document(ferry[0])
    assert document is not None
    uri = document.uri if living else "file:///never-added.txt"
    stray = Document(
        collection="default", uri=uri, kind="page", title="Stray", text="A stray gannet."
    )
    subject = plant_rows(kb, stray, "ver_stray")
    assert (subject == ferry[0]) == living
    assert kinds(verify(kb)) == [(verifying.ORPHAN, subject, False)]
    assert found(kb, "gannet") == []

    report = verify(kb, repair=True)
    assert kinds(report) == [(verifying.ORPHAN, subject, True)]
    assert verify(kb).problems == ()
    assert "psg_ver_stray" not in index_ids(kb)
    assert found(kb, "osprey") == [TEXTS["ferry.txt"]]


def test_a_note_of_an_interrupted_run_is_found_and_cleared(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    kb.catalogue.intend([("doc_half", "ver_half"), ferry])
    report = verify(kb)
    assert set(kinds(report)) == {
        (verifying.UNFINISHED, "doc_half", False),
        (verifying.UNFINISHED, ferry[0], False),
    }
    assert verify(kb, repair=True).clean
    assert kb.catalogue.pending() == []
    assert verify(kb).problems == ()
    assert found(kb, "osprey") == [TEXTS["ferry.txt"]]  # what is live is not dropped


def test_a_changed_text_is_found_and_not_called_mended(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    by_sql(
        kb,
        "UPDATE texts SET text = replace(text, 'ninety', 'eighty') WHERE document_id = ?",
        ferry[0],
    )
    for repair in (False, True, True):
        report = verify(kb, repair=repair)
        assert kinds(report) == [(verifying.DAMAGED, ferry[0], False)]
        assert not report.clean
        assert "ferry.txt" in report.problems[0].detail
        assert "again" in report.problems[0].detail


def test_a_cut_text_leaves_its_passages_outside(kb: KnowledgeBase, ferry: tuple[str, str]) -> None:
    by_sql(kb, "UPDATE texts SET text = substr(text, 1, 9) WHERE document_id = ?", ferry[0])
    assert kinds(verify(kb)) == [
        (verifying.DAMAGED, ferry[0], False),
        (verifying.OUTSIDE, ferry[0], False),
    ]


def test_a_removal_of_the_record_and_a_new_add_mend_a_changed_text(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    """What the problem's text advises."""
    by_sql(kb, "UPDATE texts SET text = 'Lost.' WHERE document_id = ?", ferry[0])
    (uri,) = [uri for uri in kb.catalogue.sources("default") if "ferry" in uri]
    kb.catalogue.remove_sources("default", [uri])
    assert add(kb, [uri]).counts()["added"] == 1
    assert verify(kb).problems == ()
    assert found(kb, "osprey") == [TEXTS["ferry.txt"]]


def test_several_sorts_of_damage_at_once(kb: KnowledgeBase, ferry: tuple[str, str]) -> None:
    kb.index.remove([ferry])
    kb.catalogue.intend([("doc_half", "ver_half")])
    stray = Document(collection="default", uri="file:///s", kind="page", title="S", text="Gannet.")
    subject = plant_rows(kb, stray, "ver_stray")
    (mill,) = [each.id for each in kb.catalogue.documents("default") if "mill" in each.uri]
    by_sql(kb, "UPDATE texts SET text = text || '!' WHERE document_id = ?", mill)
    assert set(kinds(verify(kb, repair=True))) == {
        (verifying.MISSING, ferry[0], True),
        (verifying.ORPHAN, subject, True),
        (verifying.UNFINISHED, "doc_half", True),
        (verifying.DAMAGED, mill, False),
    }
    assert kinds(verify(kb)) == [(verifying.DAMAGED, mill, False)]


def test_mending_needs_the_writers_lock(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.ingest.writing.LOCK_SECONDS", 0.1)
    with writing(kb):
        assert verify(kb).clean  # looking is always possible
        with pytest.raises(StoreError, match="another process"):
            verify(kb, repair=True)
