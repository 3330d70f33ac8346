"""Homes of every earlier schema, made by the release of that time, opened by this one.

``homes/NNNN.tar.gz`` holds a home of schema NNNN, without model and locks: three files of a small
town (a page, a meeting, two news), and one question that was asked then. ``0008-lived`` is one of
more questions, a report of research, a file that was removed and one that was called otherwise; in
``expected.json`` stands how that release showed its answers.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text
from tests.doubles.postgres_server import Databases
from typer.testing import CliRunner

from wellread.ask.answer import answer, final
from wellread.codec import to_plain
from wellread.errors import StoreError
from wellread.ingest.backup import export_home, import_home
from wellread.ingest.integrity.verify import verify
from wellread.ingest.remove import remove_documents
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Embedder
from wellread.models.embedders.open_embedder import open_embedder
from wellread.serve.cli import app
from wellread.settings_file import load_settings
from wellread.store.catalogue import Catalogue, conversion
from wellread.store.catalogue.answer_figures import TimeRange
from wellread.store.catalogue.conversion import OLD_SCHEMAS
from wellread.store.schema.tables import metadata
from wellread.values.answers import Question, VerdictName

pytestmark = pytest.mark.sqlite_only

HOMES = Path(__file__).parent / "homes"
LIVED = ("0008-lived", "0100-lived")
ASKED = "What was paid for the ferry Osprey?"
PAID = "The ferry Osprey was bought for 2.6 million euros in 2021."


def unpacked(schema: str, folder: Path) -> Path:
    with tarfile.open(HOMES / f"{schema}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "home"


@pytest.fixture(params=OLD_SCHEMAS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A home of an earlier schema."""
    return unpacked(str(request.param), tmp_path)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The one that the homes were made with: that of the default settings."""
    folder = tmp_path_factory.mktemp("embedder")
    return open_embedder(load_settings(folder, environ={}).embedding, folder / "models")


@pytest.fixture
def kb(old: Path, embedder: Embedder) -> Iterator[KnowledgeBase]:
    """The same, opened, with the embedder that it was made with."""
    with open_kb(old, embedder=embedder) as opened:
        yield opened


def test_nothing_is_lost_it_answers_and_what_is_removed_is_gone(kb: KnowledgeBase) -> None:
    assert {one.title for one in kb.catalogue.documents("default")} == {
        "The ferry Osprey",
        "Meeting",
        "Ferry Osprey breaks down",
        "Ferry Osprey is repaired",
    }
    assert verify(kb).problems == ()
    (kept,) = kb.catalogue.answers()
    assert kept.question == ASKED
    then = kb.catalogue.answer(kept.id)
    assert then is not None
    assert then.citations
    spans = [(one.document_id, one.source_span) for one in then.citations]
    assert kb.catalogue.texts(spans) == [one.quote for one in then.citations]
    given = asyncio.run(final(answer(kb, Question(text=ASKED, fresh=True))))
    assert PAID in given.text
    assert given.sentences[0].verdict.name is VerdictName.QUOTED
    remove_documents(kb, [given.citations[0].document_id])
    assert verify(kb).problems == ()
    assert all(PAID not in repr(one) for one in kb.catalogue.answers())


@pytest.mark.parametrize("old", [OLD_SCHEMAS[0], OLD_SCHEMAS[-1]], indirect=True)
def test_imported_into_postgresql_it_is_the_same(
    old: Path, embedder: Embedder, postgres: Databases, tmp_path: Path
) -> None:
    url = postgres.new()
    with open_kb(old, embedder=embedder) as kb:
        before = kb.catalogue.listings.kinds()
        export_home(kb, tmp_path / "home.tar")
    import_home(tmp_path / "home.tar", tmp_path / "moved", server=url)
    there = {"catalogue": {"url": url}}
    with open_kb(tmp_path / "moved", embedder=embedder, overrides=there) as kb:
        assert kb.catalogue.listings.kinds() == before
        assert verify(kb).problems == ()
        (kept,) = kb.catalogue.answers()
        assert kept.question == ASKED
        given = asyncio.run(final(answer(kb, Question(text=ASKED, fresh=True))))
        assert PAID in given.text
    postgres.drop(url)


def test_there_is_a_home_of_every_earlier_schema() -> None:
    assert {path.name.partition(".")[0] for path in HOMES.iterdir()} == {*OLD_SCHEMAS, *LIVED}


def test_an_old_schema_becomes_that_of_the_code(old: Path) -> None:
    Catalogue.open(old / "catalogue.db").close()
    engine = create_engine(f"sqlite:///{old / 'catalogue.db'}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        there = inspect(connection)
        assert {*there.get_table_names()} == {*metadata.tables, "alembic_version"}
        for table in metadata.sorted_tables:
            key = there.get_pk_constraint(table.name)["constrained_columns"]
            assert set(key) == {column.name for column in table.primary_key}
    engine.dispose()


@pytest.mark.parametrize("lived", LIVED)
def test_answers_and_reports_are_shown_as_they_were(tmp_path: Path, lived: str) -> None:
    home = unpacked(lived, tmp_path)
    expected = json.loads((tmp_path / "expected.json").read_text())
    with closing(sqlite3.connect(home / "catalogue.db")) as plain, plain:
        plain.execute("UPDATE answers SET stale = 1 WHERE answered_by = 'none'")
        (declined,) = plain.execute("SELECT id FROM answers WHERE answered_by = 'none'").fetchone()
    catalogue = Catalogue.open(home / "catalogue.db")
    shown = {known: to_plain(catalogue.answer(known)) for known in expected["answers"]}
    assert shown == expected["answers"]
    stale = {one.id: one.stale for one in catalogue.answers()}
    assert stale == expected["stale"] | {declined: True}
    report = to_plain(catalogue.research.report(expected["run"]))
    gone = {"matrix", "timeline"}  # fields of reports that are shown no more
    assert report == {name: of for name, of in expected["report"].items() if name not in gone}
    for session, turns in expected["turns"].items():
        assert [one.id for one in catalogue.sessions.turns(session, "", 9)] == turns
    assert catalogue.figures.sums(TimeRange()).asked == len(shown)
    assert catalogue.forgetting.quoting_removed() == {}
    catalogue.close()


@pytest.mark.parametrize("step", ["_rewrite_answers", "_drop_obsolete", "_sync_indexes"])
def test_an_upgrade_that_breaks_off_leaves_the_catalogue_as_it_was(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpacked(LIVED[0], tmp_path) / "catalogue.db"
    before = everything(path)
    whole = getattr(conversion, step)

    def broken(*args: Any) -> None:
        whole(*args)
        raise MemoryError

    monkeypatch.setattr(conversion, step, broken)
    with pytest.raises(MemoryError):
        Catalogue.open(path)
    assert everything(path) == before
    monkeypatch.undo()
    Catalogue.open(path).close()


def test_documents_that_name_their_readers_are_refused_untouched(tmp_path: Path) -> None:
    path = unpacked("0007", tmp_path) / "catalogue.db"
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("UPDATE documents SET readers = '[\"ana\"]' WHERE title = 'Meeting'")
    before = everything(path)
    with pytest.raises(StoreError, match=r"meeting\S+ has a list of its own readers"):
        Catalogue.open(path)
    assert everything(path) == before


def everything(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as plain:
        return list(plain.iterdump())


def fingerprint(home: Path) -> dict[str, str]:
    """Every file with a hash of its bytes; locks may come."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


@pytest.mark.parametrize(
    "command",
    [
        ["show", "document"],
        ["ask", ASKED],
        ["verify", "--repair"],
        ["add", __file__],
        ["remove", "x"],
    ],
    ids=lambda words: words[0],
)
def test_a_newer_home_is_refused_untouched(tmp_path: Path, command: list[str]) -> None:
    home = unpacked(OLD_SCHEMAS[-1], tmp_path)
    engine = create_engine(f"sqlite:///{home / 'catalogue.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    before = fingerprint(home)
    result = CliRunner().invoke(app, ["--home", str(home), *command])
    assert result.exit_code
    assert "newer Wellread" in " ".join(result.stderr.split())
    assert fingerprint(home) == before
