"""The upgrade from documents that name their readers to rights per collection (of schema 0007)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import JSON, bindparam, text
from tests.doubles.postgres_server import Databases

from wellread.ask.answer import answer, final
from wellread.codec import to_plain
from wellread.identity import Asker
from wellread.ingest.integrity.verify import verify
from wellread.ingest.pipeline.commit import recover
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.seen_by import seen_by
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Question

pytestmark = pytest.mark.sqlite_only  # it opens both kinds itself

SECRET = "correct horse battery staple"
Open = Callable[[], KnowledgeBase]
SAYS = "# {}\n\nThe ferry of {} was bought for 2.6 million euros.\n"
RECORDS = [{"title": name, "text": f"The ferry of {name} sank."} for name in ("All", "Some")]
READERS = {  # by the end of the address, as release 0007 kept them
    "board.md": '["ana", "group:board"]',
    "ana.md": '["ana"]',
    "nobody.md": '["(no one)"]',
    "talk.vtt": '["group:crew"]',
    "news.jsonl#L2": '["ana"]',
}
NOBODY, BOARD, ANA, CREW = (f"default-restricted{end}" for end in ("", "-2", "-3", "-4"))
THERE = {
    "open.md": "default",
    "news.jsonl#L1": "default",
    "board.md": BOARD,
    "ana.md": ANA,
    "nobody.md": NOBODY,
    "talk.vtt": CREW,
    "news.jsonl#L2": ANA,
}
BEFORE = (  # how the schema of 0007 differs from today's, as far as it matters
    "DROP TABLE document_names",
    *(f"ALTER TABLE {name} ADD COLUMN readers TEXT" for name in ("documents", "sources")),
    "ALTER TABLE job_items ADD COLUMN readers TEXT",
    "CREATE INDEX ix_documents_readers_collection ON documents (readers, collection)",
    "DROP TABLE answer_sentences",
    "ALTER TABLE answers DROP COLUMN text",
    "ALTER TABLE answers DROP COLUMN type",
    "UPDATE alembic_version SET version_num = '0007'",
    "CREATE TABLE answer_evidence (answer_id TEXT, document_id TEXT)",
    "INSERT INTO answer_evidence SELECT answer_id, document_id FROM answer_citations",
    "DROP TABLE answer_citations",
)


@pytest.fixture(params=["sqlite", "postgresql"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the home, whose catalogue is in a file or on a server."""
    opened: list[KnowledgeBase] = []
    overrides: dict[str, dict[str, str]] = {}
    drop: Callable[[], None] | None = None
    if request.param == "postgresql":
        postgres: Databases = request.getfixturevalue("postgres")
        url = postgres.new()
        overrides["catalogue"] = {"url": url}
        drop = partial(postgres.drop, url)

    def made() -> KnowledgeBase:
        while opened:
            opened.pop().close()
        opened.append(open_kb(tmp_path / "home", embedder=ReadableEmbedder(), overrides=overrides))
        return opened[0]

    yield made
    opened.pop().close()
    if drop:
        drop()


@pytest.fixture
def kb(opening: Open, tmp_path: Path) -> KnowledgeBase:
    """A home of 0007 whose documents name readers, as it is after the upgrade."""
    kb = opening()
    write(tmp_path, kb)
    people(kb)
    ana = kb.catalogue.accounts.users.named("ana")
    asked = Question(text="What was the ferry of board.md bought for?", owner=ana.id)
    view = seen_by(kb, Asker(owner=ana.id, reads=frozenset({"default"})))
    given = asyncio.run(final(answer(view, asked)))
    with opening().catalogue._database.write() as connection:  # no view of an asker is left
        body = bindparam("body", type_=JSON)
        connection.execute(text("UPDATE answers SET body = :body").bindparams(body),
                           {"body": to_plain(given)})  # fmt: skip
        for statement in BEFORE:
            connection.execute(text(statement))
        for end, names in READERS.items():
            for table in ("documents", "sources", "job_items"):
                said = f"UPDATE {table} SET readers = :n WHERE uri LIKE :end"
                connection.execute(text(said), {"n": names, "end": f"%/{end}"})
        drawn = (
            "INSERT INTO answer_topics (answer_id, kind, topic, at, gap) SELECT answer_id,"
            " 'readers', :n, at, gap FROM answer_topics WHERE kind = 'read' AND answer_id = :id"
        )
        rows = [{"n": READERS[end], "id": given.id} for end in ("board.md", "ana.md")]
        connection.execute(text(drawn), rows)
    upgraded = opening()
    assert upgraded.catalogue.answer(given.id) is not None
    return upgraded


def write(folder: Path, kb: KnowledgeBase) -> None:
    docs, kept = folder / "docs", kb.home / "uploads" / "c-default"
    docs.mkdir()
    kept.mkdir(parents=True)
    for name in ("open.md", "board.md", "ana.md", "nobody.md"):
        (docs / name).write_text(SAYS.format(name, name))
    (docs / "news.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    (kept / "talk.vtt").write_text("WEBVTT\n\n00:01.000 --> 00:02.000\nThe ferry of the talk.\n")
    (kept / "talk.mp3").write_bytes(b"sound")
    add(kb, [str(docs), str(kept / "talk.vtt")])


def people(kb: KnowledgeBase) -> None:
    """Who may read ``default``, and who is in which group."""
    accounts = kb.catalogue.accounts
    accounts.users.add("root", "admin", SECRET)
    ids = {
        n: accounts.users.add(n, "editor", SECRET).id for n in ("ana", "ben", "cas", "dan", "eve")
    }
    groups = {name: accounts.groups.add(name).id for name in ("board", "crew")}
    for group, name in (("board", "ben"), ("board", "cas"), ("board", "dan"), ("crew", "ben")):
        accounts.groups.join(groups[group], ids[name])
    for name in ("ana", "eve"):
        accounts.grants.give("default", "reader", user_id=ids[name])
    accounts.grants.give("default", "editor", group_id=groups["crew"])
    accounts.grants.give("*", "reader", user_id=ids["cas"])
    accounts.keys.new(ids["ana"], "script", ("read",), collections=("default",))


def placed(kb: KnowledgeBase) -> dict[str, str]:
    """The end of each document's address to its collection."""
    with kb.catalogue._database.read() as connection:
        rows = connection.execute(text("SELECT uri, collection FROM documents")).all()
    assert len({row.uri for row in rows}) == len(rows)
    return {row.uri.rpartition("/")[2]: row.collection for row in rows}


def finds(kb: KnowledgeBase, *collections: str) -> set[str]:
    """The ends of addresses of what is found by words by who may read the collections."""
    view = seen_by(kb, Asker(owner="somebody", reads=frozenset(collections)))
    hits = view.index.search_text("ferry", Filters(collections=collections), 50)
    facts = view.catalogue.facts(one.document_id for one in hits)
    return {one.uri.rpartition("/")[2] for one in facts.values()}


def test_nobody_sees_more_than_before_and_it_is_told(
    kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    assert placed(kb) == THERE
    assert {
        (one.collection, one.user or f"group:{one.group}", one.role)
        for one in kb.catalogue.accounts.grants.every()
    } == {
        ("default", "ana", "reader"),
        ("default", "eve", "reader"),
        ("default", "group:crew", "editor"),
        ("default", "cas", "reader"),  # in place of one of all collections
        (BOARD, "ana", "reader"),
        (BOARD, "ben", "editor"),  # by the crew's grant; dan may not read the old one
        (BOARD, "cas", "reader"),
        (ANA, "ana", "reader"),
        (CREW, "group:crew", "editor"),
    }
    (key,) = kb.catalogue.accounts.keys.of(kb.catalogue.accounts.users.named("ana").id)
    assert set(key.collections or ()) == {"default", BOARD, ANA}
    told = " ".join(one.getMessage() for one in caplog.get_records("setup"))
    assert f"2 documents of the collection 'default' with the readers ana: in '{ANA}'" in told
    assert f"in '{NOBODY}' from now on, open to admins only" in told
    assert "cas had a grant of all collections" in told
    jobs = seen_by(kb, Asker(owner="eve", reads=frozenset({"default"}))).catalogue.jobs
    items = {item.uri.rpartition("/")[2] for job in jobs.newest() for item in jobs.items(job.id)}
    assert items == {"open.md", "news.jsonl"}


def test_answers_follow_what_they_were_drawn_from(kb: KnowledgeBase) -> None:
    ana = kb.catalogue.accounts.users.named("ana").id
    (kept,) = kb.catalogue.answers()
    given = kb.catalogue.answer(kept.id)
    assert given is not None
    spans = [(one.document_id, one.source_span) for one in given.citations]
    assert kb.catalogue.texts(spans) == [one.quote for one in given.citations]
    read = text("SELECT topic FROM answer_topics WHERE kind = 'read'")
    with kb.catalogue._database.read() as connection:
        assert set(connection.execute(read).scalars()) == {"default", BOARD, ANA}
    every = set(THERE.values())
    for reads, there in ((every, True), (every - {BOARD}, False), (every - {ANA}, False)):
        view = seen_by(kb, Asker(owner=ana, reads=frozenset(reads)))
        assert (view.catalogue.answer(kept.id) is not None) is there


def test_the_index_shows_them_in_their_collections_only(kb: KnowledgeBase) -> None:
    assert finds(kb, "default") == {"open.md", "news.jsonl#L1"}
    recover(kb)
    assert finds(kb, "default") == {"open.md", "news.jsonl#L1"}
    assert finds(kb, BOARD) == {"board.md"}
    assert finds(kb, ANA) == {"ana.md", "news.jsonl#L2"}
    assert {row.collection for row in kb.index.held()} == set(THERE.values())
    assert verify(kb).problems == ()


def test_what_moved_is_not_read_into_the_open_collection_again(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    (docs / "board.md").write_text(SAYS.format("board.md", "the other harbour"))
    rows = {row.uri.rpartition("/")[2]: row for row in sync(kb, [str(docs)]).rows}
    assert {name for name, row in rows.items() if row.status == "failed"} == {
        "board.md", "ana.md", "nobody.md", "news.jsonl"
    }  # fmt: skip
    assert BOARD not in rows["board.md"].reason  # its name is in no log of the others
    assert placed(kb) == THERE
    (row,) = sync(kb, [str(docs / "board.md")], collection=BOARD).rows
    assert (row.status, placed(kb)) == ("updated", THERE)
    assert verify(kb).problems == ()


def test_a_kept_file_moves_with_its_recording(kb: KnowledgeBase) -> None:
    uploads = kb.home / "uploads"
    assert list((uploads / "c-default").iterdir()) == []
    assert {one.name for one in (uploads / f"c-{CREW}").iterdir()} == {"talk.vtt", "talk.mp3"}
    (source,) = kb.catalogue.sources(CREW).values()
    assert source.uri == source.root == (uploads / f"c-{CREW}" / "talk.vtt").as_uri()
