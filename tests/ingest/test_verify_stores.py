"""``verify`` finds every kind of damage that is planted, and mends what can be mended."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from string import Template

import pytest
from tests.ingest.conftest import found, index_ids
from tests.store.made import answer_of, citation_of

from wellread.ask.retrieve.search import search
from wellread.errors import StoreError
from wellread.identity import document_id
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.verify import NOT_PURGED, ON_SERVER, VerifyReport, verify
from wellread.ingest.pipeline.commit import index_rows, writing
from wellread.ingest.pipeline.job_log import job_log
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.base import Fingerprint, IndexKey
from wellread.store.index import lance_tables
from wellread.store.index.lance_tables import table_name
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Document, Filters, Passage, Span
from wellread.values.answers import Answer

FERRY = "The ferry Osprey carries ninety passengers."
MILL = """# Mill

The mill grinds barley and oats for the bakers of both harbours, six days in the week.

# Wind

It needs a west wind to grind, and in a calm the miller mends sails and counts his sacks.
"""
# Without backups: they would give damaged texts back (test_damaged_homes.py).
SMALL = {"chunking": {"tokens": 32}, "backups": {"keep": 0}}
OTHER = Fingerprint(embedder="another", dimensions=4, chunking="c")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sources in ``papers``, and a home in ``home`` that they were added to."""
    folder = tmp_path_factory.mktemp("prepared")
    papers = folder / "papers"
    papers.mkdir()
    (papers / "ferry.txt").write_text(FERRY)
    (papers / "mill.md").write_text(MILL)
    with open_kb(folder / "home", embedder=ReadableEmbedder(), overrides=SMALL) as opened:
        add(opened, [str(papers)])
    return folder


@pytest.fixture
def kb(prepared: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    home = shutil.copytree(prepared / "home", tmp_path / "home")
    with open_kb(home, embedder=ReadableEmbedder(), overrides=SMALL) as opened:
        yield opened


@pytest.fixture
def papers(prepared: Path) -> str:
    return str(prepared / "papers")


@pytest.fixture
def ferry(kb: KnowledgeBase) -> tuple[str, str]:
    """Id and live version of the ferry's document."""
    return known(kb, "ferry")


@pytest.fixture
def mill(kb: KnowledgeBase) -> tuple[str, str]:
    """Id and live version of the mill's document, which has several passages."""
    return known(kb, "mill")


def known(kb: KnowledgeBase, name: str) -> tuple[str, str]:
    (facts,) = [each for each in kb.catalogue.documents("default") if name in each.uri]
    return facts.id, facts.version


def kinds(report: VerifyReport) -> list[tuple[str, str, bool]]:
    return [(each.kind, each.subject, each.repaired) for each in report.problems]


def by_sql(kb: KnowledgeBase, statement: str, *values: object, rows: int | None = 1) -> None:
    """Change the catalogue's file behind the back of everything, foreign keys included."""
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as connection, connection:
        changed = connection.execute(statement, values).rowcount
    assert rows is None or changed == rows


def in_lance(kb: KnowledgeBase, change: Callable[..., object]) -> None:
    """Change the live table of the index behind the back of everything."""
    import lancedb

    live = kb.catalogue.reindexing.live()
    assert live is not None
    change(lancedb.connect(kb.home / INDEX_FOLDER).open_table(table_name(live.fingerprint)))


def plant_rows(kb: KnowledgeBase, document: Document, version: str) -> str:
    """Index rows that the catalogue knows nothing of; the id of their document."""
    subject = document_id(document.collection, document.uri)
    passage = Passage(
        id=f"psg_{version}",
        document_id=subject,
        version=version,
        span=Span(start=0, end=len(document.text)),
        text=document.text,
    )
    kb.index.write(index_rows(document, [passage]), kb.embedder.embed([document.text], "passage"))
    return subject


def stray_document(uri: str = "file:///never-added.txt") -> Document:
    return Document(
        collection="default", uri=uri, kind="page", title="Stray", text="A stray gannet."
    )


def assert_whole(kb: KnowledgeBase) -> None:
    """Everything is there, in both searches, and nothing is left to report."""
    report = verify(kb)
    assert report.problems == ()
    assert set(report.notes) <= {ON_SERVER}
    assert found(kb, "osprey") == [FERRY]
    assert found(kb, "barley")
    rows = list(kb.index.held())
    assert all(row.vector for row in rows)
    assert len(rows) == report.counts["passages in the catalogue"] >= 3
    (hit,) = search(kb, "ferry osprey passengers", Filters(document_ids=(known(kb, "ferry")[0],)))
    assert hit.similarity is not None
    assert hit.similarity > 0.5


def check(kb: KnowledgeBase, *expected: tuple[str, str]) -> None:
    """Exactly these problems are found, mended, and gone; looking alone mends nothing."""
    assert set(kinds(verify(kb))) == {(*each, False) for each in expected}
    mended = verify(kb, repair=True)
    assert set(kinds(mended)) == {(*each, True) for each in expected}
    assert mended.clean
    assert_whole(kb)


def test_a_whole_home_has_no_problems(kb: KnowledgeBase) -> None:
    for repair in (False, True):
        report = verify(kb, repair=repair)
        assert report.problems == ()
        assert report.clean
        assert report.counts["documents"] == report.counts["sources"] == 2
        assert report.counts["passages in the catalogue"] == 3
        assert report.counts["rows in the index"] == 3
        assert report.counts["passages that wait for their vectors"] == 0
    assert_whole(kb)


# --- the index against the catalogue ---


def test_stems_of_another_language_are_no_difference(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("Die Fähren fahren am Tag fünfmal über den Hafen. 渡船在港口")
    add(kb, [str(tmp_path / "f.txt")])
    assert verify(kb).problems == ()


def test_missing_rows_are_written_again(kb: KnowledgeBase, ferry: tuple[str, str]) -> None:
    before = index_ids(kb)
    assert kb.index.remove([ferry]) == 1
    assert found(kb, "osprey") == []
    report = verify(kb)
    assert report.problems[0].detail == f"1 passages of {ferry[1]}"
    assert report.counts["rows in the index"] == 2
    check(kb, (damage.MISSING, ferry[0]))
    assert index_ids(kb) == before


@pytest.mark.parametrize("case", ["old version", "unknown document", "unknown passage"])
def test_orphan_rows_are_dropped(kb: KnowledgeBase, ferry: tuple[str, str], case: str) -> None:
    document = kb.catalogue.document(ferry[0])
    assert document is not None
    before = index_ids(kb)
    stray = stray_document() if case == "unknown document" else stray_document(document.uri)
    subject = plant_rows(kb, stray, ferry[1] if case == "unknown passage" else "ver_stray")
    assert (subject == ferry[0]) == (case != "unknown document")
    assert found(kb, "gannet") == []
    check(kb, (damage.ORPHAN, subject))
    assert index_ids(kb) == before


def test_rows_that_are_there_twice_are_made_one(kb: KnowledgeBase, mill: tuple[str, str]) -> None:
    before = index_ids(kb)
    in_lance(kb, lambda table: table.add(table.to_arrow()))
    assert len(index_ids(kb)) == 2 * len(before)
    check(kb, (damage.DUPLICATE, mill[0]), (damage.DUPLICATE, known(kb, "ferry")[0]))
    assert index_ids(kb) == before


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("search_text", "'The ferry Osprey carries ninety walruses.'"),
        ("collection", "'another'"),
        ("key", "replace(key, ', 0, ', ', 1, ')"),
        ("key", "replace(key, 'ver_', 'ver_0')"),
    ],
)
def test_rows_that_say_something_else_are_written_again(
    kb: KnowledgeBase, ferry: tuple[str, str], column: str, value: str
) -> None:
    where = f"document_id = '{ferry[0]}'"
    in_lance(kb, lambda table: table.update(where=where, values_sql={column: value}))
    check(kb, (damage.DIFFERENT, ferry[0]))


def test_rows_without_a_vector_that_nobody_owes_get_one(
    kb: KnowledgeBase, mill: tuple[str, str]
) -> None:
    document = kb.catalogue.document(mill[0])
    assert document is not None
    kb.index.write(index_rows(document, kb.catalogue.passages_of([mill[0]])), None)
    kb.index.purge()
    check(kb, (damage.NO_VECTOR, mill[0]))


def test_debts_that_were_paid_are_struck_out(kb: KnowledgeBase, mill: tuple[str, str]) -> None:
    kb.catalogue.integrity.add_pending([mill])
    check(kb, (damage.HAS_VECTORS, mill[0]))
    assert kb.catalogue.vectors.passages_pending() == 0


def test_an_index_that_is_not_in_use_is_dropped(kb: KnowledgeBase) -> None:
    kb.open_index(OTHER)
    check(kb, (damage.STRAY, table_name(OTHER)))
    assert not list((kb.home / INDEX_FOLDER).glob(f"{table_name(OTHER)}.[!l]*"))


@pytest.mark.sqlite_only
def test_an_index_in_the_making_is_no_stray(kb: KnowledgeBase) -> None:
    kb.catalogue.reindexing.begin(OTHER)
    kb.open_index(OTHER)
    by_sql(kb, "INSERT INTO next_passages VALUES ('psg_a', 'doc_a', 'ver_a', 0, 0, 1, '', '[]')")
    assert verify(kb, repair=True).problems == ()
    assert kb.other_indexes() == []


def test_an_index_with_damaged_files_is_filled_again(kb: KnowledgeBase) -> None:
    before = index_ids(kb)
    for path in (kb.home / INDEX_FOLDER).rglob("data/*.lance"):
        path.write_bytes(b"garbage")
    check(kb, (damage.UNREADABLE, "index"))
    assert index_ids(kb) == before


@pytest.mark.parametrize("large", [False, True], ids=["of words", "of words and filters"])
@pytest.mark.parametrize("damage_to", ["lost", "cut"])
def test_damaged_search_structures_are_made_anew(
    kb: KnowledgeBase, damage_to: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(lance_tables, "FILTER_INDEX_ROWS", 1)
        kb.index.optimize()
    for path in (kb.home / INDEX_FOLDER).rglob("_indices/*/*"):
        if damage_to == "lost":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:10])
    with open_kb(kb.home, embedder=ReadableEmbedder(), overrides=SMALL) as damaged:
        with pytest.raises(StoreError):
            search(damaged, "ferry", Filters(), mode="text")
        found = verify(damaged)
        assert {problem.kind for problem in found.problems} == {damage.UNSEARCHABLE}
        subjects = {problem.subject for problem in found.problems}
        assert subjects == {"words", "vectors", "ids"} if large else {"words"}
        repaired = verify(damaged, repair=True)
        assert repaired.clean
        assert len(repaired.problems) == len(found.problems)
        assert search(damaged, "ferry", Filters(), mode="text")
        assert verify(damaged).problems == ()


def test_a_note_of_an_interrupted_run_is_cleared(kb: KnowledgeBase, ferry: tuple[str, str]) -> None:
    kb.catalogue.intend([("doc_half", "ver_half"), ferry])
    check(kb, (damage.UNFINISHED, "doc_half"), (damage.UNFINISHED, ferry[0]))
    assert kb.catalogue.pending() == []


def test_rows_of_a_writer_at_work_are_no_problem(kb: KnowledgeBase) -> None:
    with writing(kb):
        kb.catalogue.intend([(document_id("default", stray_document().uri), "ver_stray")])
        subject = plant_rows(kb, stray_document(), "ver_stray")
        assert kb.catalogue.pending()[0].document_id == subject
        assert verify(kb).problems == ()
    check(kb, (damage.UNFINISHED, subject))
    assert "psg_ver_stray" not in index_ids(kb)


@pytest.mark.sqlite_only
def test_what_a_writer_replaces_while_verify_looks_is_no_problem(
    kb: KnowledgeBase, mill: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are gone when the index is looked through again, for a version that came since."""
    keys = kb.index.keys
    kb.index.remove([mill])

    def replaced() -> Iterator[IndexKey]:
        by_sql(kb, "UPDATE documents SET version = 'ver_next' WHERE id = ?", mill[0])
        return keys()

    monkeypatch.setattr(kb.index, "keys", replaced)
    told = {each.kind for each in verify(kb).problems}
    assert damage.MISSING not in told


# --- texts, marks, passages ---


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE texts SET text = replace(text, 'ninety', 'eighty') WHERE document_id = ?",
        "UPDATE texts SET text = 'Lost.' WHERE document_id = ?",
        "DELETE FROM texts WHERE document_id = ?",
        "DELETE FROM marks WHERE document_id = ?",
        "UPDATE marks SET blob = x'0102' WHERE document_id = ?",
        "UPDATE documents SET characters = 7 WHERE id = ?",
    ],
)
def test_a_damaged_text_is_read_again_by_the_next_run(
    kb: KnowledgeBase, papers: str, ferry: tuple[str, str], statement: str
) -> None:
    by_sql(kb, statement, ferry[0])
    assert add(kb, [papers]).counts()["unchanged"] == 2  # the file has not changed
    for repair in (False, True, True):
        report = verify(kb, repair=repair)
        problems = [each for each in report.problems if each.kind == damage.DAMAGED]
        assert [(each.subject, each.repaired) for each in problems] == [(ferry[0], False)]
        assert not report.clean
        assert "ferry.txt" in problems[0].detail
        assert "again" in problems[0].detail
    counts = add(kb, [papers]).counts()
    assert (counts["updated"], counts["unchanged"]) == (1, 1)
    assert_whole(kb)


@pytest.mark.sqlite_only
def test_a_cut_text_leaves_its_passages_outside(kb: KnowledgeBase, ferry: tuple[str, str]) -> None:
    by_sql(kb, "UPDATE texts SET text = substr(text, 1, 9) WHERE document_id = ?", ferry[0])
    assert kinds(verify(kb)) == [
        (damage.DAMAGED, ferry[0], False),
        (damage.MARKS, ferry[0], False),
        (damage.OUTSIDE, ferry[0], False),
    ]


# --- the rest of the catalogue ---


ITEM = (
    'INSERT INTO story_items (document_id, start, "end", version, story_id, vector, fingerprint, '
    "repeats) VALUES ('$ferry', 0, {}, '{}', '{}', x'', x'', '')"
)
STORY = (
    "INSERT INTO stories VALUES ('s', 'default', 'T', '', '[]', x'', '', NULL, NULL, 1, 1, 0, 0)"
)
SCAN = "INSERT OR REPLACE INTO mention_scans VALUES ('$ferry', '{}', '')"
MENTION = "INSERT INTO mentions VALUES ('$ferry', 0, 'e', {}, {}, 'E')"
OF_FERRY = "WHERE document_id = '$ferry'"
SECOND = "WHERE document_id = '$mill' AND ordinal = 1"
# Table with its columns, of which the first names what is not there, and the values.
ORPHANS = {
    "texts (document_id, piece, text)": "'doc_x', 0, 'left over'",
    "marks (document_id, blob)": "'doc_x', x'00'",
    "entities (document_id, entity_id, entity_type, aliases)": "'doc_x', 'e', '', '[]'",
    "relations (document_id, ordinal, source, type, target)": "'doc_x', 0, 'e', 't', 'f'",
    "past_questions (document_id, question, body)": "'doc_x', 'Why?', '{}'",
    "vector_debts (document_id, version, passages)": "'doc_x', 'v', 1",
    "mention_scans (document_id, version, names)": "'doc_x', 'v', ''",
    'mentions (document_id, ordinal, entity_id, start, "end", name)': "'doc_x', 0, 'e', 0, 1, 'E'",
    "job_items (job_id, ordinal, uri, status, reason, seconds, documents, passages)": (
        "'job_x', 0, 'u', 'added', '', 0, 0, 0"
    ),
    'answer_sentences (answer_id, ordinal, start, "end", verdict, citations, marked, within)': (
        "'ans_x', 0, 0, 1, '{}', '[]', 0, 0"
    ),
}
Planted = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
# What is done behind the back of everything, and what is found then.
PLANTED: dict[str, Planted] = {
    "debt of another version": (
        ("INSERT INTO vector_debts VALUES ('$mill', 'ver_old', 2)",),
        ((damage.OUTDATED_PENDING, "$mill"),),
    ),
    "passage that is gone": (
        (f"DELETE FROM passages {SECOND}",),
        ((damage.UNCOVERED, "$mill"), (damage.MISCOUNTED, "$mill"), (damage.ORPHAN, "$mill")),
    ),
    "count": (
        ("UPDATE documents SET passages = 5 WHERE id = '$ferry'",),
        ((damage.MISCOUNTED, "$ferry"),),
    ),
    "name": (
        (f"DELETE FROM document_names {OF_FERRY} AND ordinal = 1",),
        ((damage.WRONG_LOOKUP_NAMES, "$ferry"),),
    ),
    "item of no story": (
        (ITEM.format(9, "$version", "gone"),),
        ((damage.REFERENCE, "story_items.story_id"),),
    ),
    "item of another version": (
        (STORY, ITEM.format(9, "ver_old", "s")),
        ((damage.ITEMS, "$ferry"),),
    ),
    "item outside": ((STORY, ITEM.format(9_999, "$version", "s")), ((damage.ITEMS, "$ferry"),)),
    "mention of another version": (
        (SCAN.format("ver_old"), MENTION.format(4, 9)),
        ((damage.MENTIONS, "$ferry"),),
    ),
    "mention outside": (
        (SCAN.format("$version"), MENTION.format(4, 9_999)),
        ((damage.MENTIONS, "$ferry"),),
    ),
    "mention of nothing": (
        (SCAN.format("$version"), MENTION.format(9, 9)),
        ((damage.MENTIONS, "$ferry"),),
    ),
    "rows of what is not there": (
        tuple(f"INSERT INTO {table} VALUES ({values})" for table, values in ORPHANS.items()),
        tuple((damage.REFERENCE, table.split(",")[0].replace(" (", ".")) for table in ORPHANS),
    ),
}


@pytest.mark.sqlite_only
@pytest.mark.parametrize("planted", PLANTED)
def test_what_does_not_fit_in_the_catalogue_is_mended(
    kb: KnowledgeBase, ferry: tuple[str, str], mill: tuple[str, str], planted: str
) -> None:
    statements, problems = PLANTED[planted]
    names = {"ferry": ferry[0], "version": ferry[1], "mill": mill[0]}
    before = kb.catalogue.integrity.row_counts()
    passages = kb.catalogue.passages_of([mill[0]])
    for statement in statements:
        by_sql(kb, Template(statement).substitute(names))
    check(kb, *((kind, Template(subject).substitute(names)) for kind, subject in problems))
    after = kb.catalogue.integrity.row_counts()
    # An item that belongs to no story is put into one by the next run; names are looked for again.
    again = {"story_items", "mention_scans"}
    assert {name for name in before if before[name] != after[name]} <= again
    assert kb.catalogue.passages_of([mill[0]]) == passages


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (damage.OUTSIDE, '"end" = 9999'),
        (damage.OUTSIDE, '"end" = 1'),
        (damage.OVERLAPPING, "start = 5"),
        (damage.OVERLAPPING, "ordinal = 7"),
        (damage.MISNAMED, "id = 'odd'"),
        (damage.MISNAMED, "version = 'odd'"),
    ],
)
def test_passages_that_do_not_fit_are_cut_again(
    kb: KnowledgeBase, mill: tuple[str, str], kind: str, change: str
) -> None:
    before = kb.catalogue.passages_of([mill[0]])
    where = Template(SECOND).substitute(mill=mill[0])
    by_sql(kb, f"UPDATE passages SET {change} {where}")
    assert (kind, mill[0], False) in kinds(verify(kb))
    assert (kind, mill[0], True) in kinds(verify(kb, repair=True))
    assert_whole(kb)
    assert kb.catalogue.passages_of([mill[0]]) == before


@pytest.mark.sqlite_only
def test_a_document_without_a_source_gets_one(kb: KnowledgeBase, ferry: tuple[str, str]) -> None:
    by_sql(kb, "DELETE FROM sources WHERE uri LIKE '%ferry%'")
    check(kb, (damage.UNSOURCED, ferry[0]))
    (uri,) = [uri for uri in kb.catalogue.sources("default") if "ferry" in uri]
    assert add(kb, [uri]).counts()["updated"] + add(kb, [uri]).counts()["unchanged"] >= 1
    assert_whole(kb)


@pytest.mark.sqlite_only
def test_a_source_whose_documents_are_gone_is_read_again(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    kb.index.remove([ferry])
    kb.index.purge()
    for table in ("texts", "marks", "passages", "document_names"):
        by_sql(kb, f"DELETE FROM {table} WHERE document_id = ?", ferry[0], rows=None)
    by_sql(kb, "DELETE FROM documents WHERE id = ?", ferry[0])
    (uri,) = [uri for uri in kb.catalogue.sources("default") if "ferry" in uri]
    assert kinds(verify(kb)) == [(damage.SOURCE_WITHOUT_DOCUMENTS, uri, False)]
    assert verify(kb, repair=True).clean
    assert verify(kb).problems == ()
    assert add(kb, [uri]).counts()["unchanged"] == 0
    assert_whole(kb)


def answer_about(key: tuple[str, str]) -> Answer:
    whole = Span(start=0, end=len(FERRY))
    cited = citation_of(document_id=key[0], version=key[1], quote=FERRY, source_span=whole)
    return answer_of(text="Ninety people.", citations=(cited,))


@pytest.mark.sqlite_only
def test_an_answer_that_rests_on_what_changed_is_marked(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    kb.catalogue.record_answer(answer_about(ferry))
    by_sql(kb, "UPDATE answer_citations SET version = 'ver_old'")
    check(kb, (damage.NOT_STALE, "ans_1"))
    assert [each.stale for each in kb.catalogue.answers()] == [True]


@pytest.mark.sqlite_only
def test_an_answer_that_quotes_what_was_removed_forgets_it(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    kb.catalogue.record_answer(answer_about(ferry))
    by_sql(kb, "UPDATE answer_citations SET document_id = 'doc_gone'")
    check(kb, (damage.NOT_STALE, "ans_1"), (damage.QUOTING, "ans_1"))
    kept = kb.catalogue.answer("ans_1")
    assert kept is not None
    assert FERRY not in repr(kept)
    assert [each.stale for each in kb.catalogue.answers()] == [True]


def test_a_job_whose_process_is_gone_is_ended(kb: KnowledgeBase) -> None:
    job = kb.catalogue.jobs.start("add", "default", ["x"], (platform.node(), 1))
    check(kb, (damage.DEAD_JOB, job.id))
    ended = kb.catalogue.jobs.get(job.id)
    assert ended is not None
    assert ended.state == "interrupted"


def test_a_running_job_is_no_problem(kb: KnowledgeBase) -> None:
    with job_log(kb, "add", "default", []):
        assert verify(kb).problems == ()


@pytest.mark.sqlite_only
def test_a_damaged_search_tree_of_the_catalogue_is_made_anew(
    kb: KnowledgeBase, ferry: tuple[str, str]
) -> None:
    """An index of SQLite that lacks a row: taken off the books while the row is written."""
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE, isolation_level=None)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'ix_relations_source'"
        ).fetchone()
        connection.execute("PRAGMA writable_schema = ON")
        (statement,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'ix_relations_source'"
        ).fetchone()
        connection.execute("DELETE FROM sqlite_master WHERE name = 'ix_relations_source'")
        connection.execute("PRAGMA writable_schema = RESET")
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE, isolation_level=None)) as connection:
        connection.execute("INSERT INTO relations VALUES (?, 0, 'a', 't', 'b')", (ferry[0],))
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "INSERT INTO sqlite_master VALUES ('index', 'ix_relations_source', 'relations', ?, ?)",
            (root, statement),
        )
        connection.execute("PRAGMA writable_schema = RESET")
    check(kb, (damage.FILE, "catalogue"))


# --- all together ---


def test_what_is_not_purged_is_told_and_purged(kb: KnowledgeBase, ferry: tuple[str, str]) -> None:
    kb.catalogue.remove_documents([ferry[0]])
    kb.index.remove([ferry])
    kb.catalogue.settle([ferry])
    assert NOT_PURGED in verify(kb).notes
    assert NOT_PURGED not in verify(kb, repair=True).notes
    assert kb.index.purged()


def test_mending_needs_the_writers_lock(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.ingest.pipeline.commit.LOCK_SECONDS", 0.1)
    with writing(kb):
        assert verify(kb).clean  # looking is always possible
        with pytest.raises(StoreError, match="another process"):
            verify(kb, repair=True)
