"""The catalogue on a PostgreSQL server: writers side by side, snapshots, locks, copies."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.doubles.postgres_server import Databases
from tests.store.made import kept

from wellread.errors import StoreError
from wellread.identity import document_id, version_of
from wellread.store.catalogue import Catalogue
from wellread.store.locks import AdvisoryLocks, FileLocks, Locks
from wellread.store.recovery import moving
from wellread.store.recovery.moving import TableDigest, move_catalogue, table_digests
from wellread.store.schema.stored_values import SourceChange, SourceRecord
from wellread.types import Document, Filters

WRITERS, WRITES = 4, 25
ENGLISH = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'"


@pytest.fixture(scope="module")
def url(postgres: Databases) -> Iterator[str]:
    """A database that orders words as English does, unlike SQLite."""
    made = postgres.new(options=ENGLISH)
    yield made
    postgres.drop(made)


@pytest.fixture
def catalogue(url: str) -> Iterator[Catalogue]:
    opened = Catalogue.open(url)
    yield opened
    opened.close()


def change(source: str, name: str, text: str = "Word.") -> SourceChange:
    document = Document(collection="main", uri=name, kind="page", title=name, text=text)
    return kept(document, source=source)


def side_by_side(write: Callable[[int], object]) -> None:
    def work(writer: int) -> None:
        for turn in range(WRITES):
            write(writer * WRITES + turn)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(work, range(WRITERS)))


def test_writers_side_by_side_do_not_fail(catalogue: Catalogue) -> None:
    side_by_side(lambda turn: catalogue.commit([change("s", "a", f"Text {turn}.")]))
    side_by_side(lambda _: catalogue.record_sources([SourceRecord(collection="main", uri="s")]))
    side_by_side(lambda _: catalogue.intend([("d", "v")]))
    side_by_side(lambda turn: catalogue.collection_settings.set_settings("c", {"turn": turn}))
    side_by_side(lambda _: catalogue.record_gap("the same question", ""))
    assert len(list(catalogue.document_ids())) == 1
    (gap,) = catalogue.gaps()
    assert gap.asked == WRITERS * WRITES
    catalogue.settle([("d", "v")])


def test_a_snapshot_stays_as_it_is(catalogue: Catalogue) -> None:
    seen: list[str] = []
    catalogue.commit([change("s", "a")])
    ids = catalogue.document_ids()
    with catalogue.snapshot() as connection:
        before = connection.exec_driver_sql("SELECT count(*) FROM documents").scalar()
        catalogue.commit([change("other", "b")])
        after = connection.exec_driver_sql("SELECT count(*) FROM documents").scalar()
    seen += ids
    assert before == after
    assert len(seen) == 2
    catalogue.remove_sources("main", ["other"])


def test_titles_are_ordered_and_looked_up_alike(catalogue: Catalogue, tmp_path: Path) -> None:
    file = Catalogue.open(tmp_path / "catalogue.db")
    titles = ["ähre", "Zebra", "zahl", "_a", "Éclair", "e-b", "eb", "Straße", "STRASSE b"]
    orders = []
    for one in (catalogue, file):
        one.commit([change(f"titles {title}", title) for title in titles])
        found = one.listings.documents(Filters(), 50, order="title")
        named = [listed.facts.title for listed in found.documents]
        orders.append([title for title in named if title in titles])
        one.remove_sources("main", [f"titles {title}" for title in titles])
    file.close()
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(titles)


def test_a_broken_connection_is_made_anew(
    catalogue: Catalogue, url: str, postgres: Databases
) -> None:
    catalogue.commit([change("s", "a")])
    postgres.end_connections(url)
    assert list(catalogue.live_versions([document_id("main", "a")]))
    postgres.end_connections(url)
    catalogue.commit([change("s", "a", "Other words.")])


def test_what_was_deleted_is_written_away_unless_somebody_still_sees_it(
    catalogue: Catalogue,
) -> None:
    catalogue.commit([change("gone", "gone")])
    catalogue.remove_sources("main", ["gone"])
    assert not catalogue.forgetting.rewritten()
    with catalogue.snapshot() as reader:
        reader.exec_driver_sql("SELECT 1").all()
        catalogue.commit([change("again", "again")])
        catalogue.remove_sources("main", ["again"])
        assert not catalogue.forgetting.rewrite()
    assert catalogue.forgetting.rewrite()
    assert catalogue.forgetting.rewritten()
    catalogue.integrity.rebuild_indexes()
    assert catalogue.size_on_server() > 0


def test_what_lost_its_lock_writes_nothing(catalogue: Catalogue) -> None:
    one = change("s", "late", "Late.")
    version = version_of("Late.", ())
    key = (document_id("main", "late"), version)
    catalogue.intend([key])
    catalogue.settle([key])  # by whoever took this writer for dead
    with pytest.raises(StoreError, match="lost the writers' lock"):
        catalogue.commit([one], [key])
    assert catalogue.live_versions([key[0]]) == {}


@pytest.fixture(params=["files", "server"])
def locks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Locks, Locks]]:
    """Those of two processes."""
    if request.param == "files":
        yield FileLocks(tmp_path), FileLocks(tmp_path)
        return
    url = request.getfixturevalue("url")
    pair = AdvisoryLocks(url), AdvisoryLocks(url)
    yield pair
    for one in pair:
        one.close()


def test_a_lock_has_one_holder(locks: tuple[Locks, Locks]) -> None:
    one, two = locks
    with one.hold("a.lock") as ours:
        assert ours
        assert two.taken("a.lock")
        with two.hold("a.lock") as theirs, two.hold("b.lock") as other:
            assert (theirs, other) == (False, True)
        with two.hold("a.lock", 0.05) as theirs:
            assert not theirs
    with two.hold("a.lock") as theirs:
        assert theirs
    assert not one.taken("a.lock")


def test_who_waits_for_a_lock_gets_it(locks: tuple[Locks, Locks]) -> None:
    one, two = locks
    got = threading.Event()

    def wait() -> None:
        with two.hold("a.lock", 30) as ours:
            assert ours
            got.set()

    with one.hold("a.lock"):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not got.is_set()
    waiting.join()
    assert got.is_set()


def test_a_lock_that_broke_is_told(url: str, postgres: Databases) -> None:
    locks = AdvisoryLocks(url)
    with pytest.raises(StoreError, match="was lost"), locks.hold("a.lock"):
        postgres.end_connections(url)
    locks.close()


def digests(catalogue: Catalogue) -> list[TableDigest]:
    with catalogue.snapshot() as connection:
        return list(table_digests(connection))


@pytest.mark.sqlite_only
def test_a_copy_is_the_same_there_and_back(
    catalogue: Catalogue, tmp_path: Path, postgres: Databases
) -> None:
    catalogue.commit([change("one", "one", "Words of one."), change("two", "two", "Ä")])
    catalogue.record_gap("open?", "why")
    path, other = tmp_path / "copy.db", postgres.new()
    move_catalogue(catalogue, path)
    file = Catalogue.open(path)
    move_catalogue(file, other)
    again = Catalogue.open(other)
    held = [digests(each) for each in (catalogue, file, again)]
    assert held[0] == held[1] == held[2]
    assert {name: rows for name, rows, _ in held[2]}["documents"] == len(list(file.document_ids()))
    again.record_gap("a new one", "")  # numbers go on
    assert len(again.gaps()) == len(file.gaps()) + 1
    again.close()
    with pytest.raises(StoreError, match="already"):
        move_catalogue(file, other)
    file.close()
    with pytest.raises(StoreError, match="already"):
        move_catalogue(catalogue, path)
    postgres.drop(other)


@pytest.mark.sqlite_only
def test_nothing_is_left_of_a_copy_that_fails(
    catalogue: Catalogue, postgres: Databases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = postgres.new()

    def fail(was: TableDigest, _now: TableDigest) -> None:
        if was[0] == "gaps":
            raise KeyboardInterrupt

    with monkeypatch.context() as failing:
        failing.setattr(moving, "_compare", fail)
        for where in (target, tmp_path / "copy.db"):
            with pytest.raises(KeyboardInterrupt):
                move_catalogue(catalogue, where)
    assert not (tmp_path / "copy.db").exists()
    move_catalogue(catalogue, target)
    postgres.drop(target)


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError) as told:
        Catalogue.open("postgresql+psycopg://u:secret@127.0.0.1:1/db")
    assert "wellread[postgres]" in told.value.hint


@pytest.mark.parametrize(
    "where",
    [
        "postgresql://u:secret@127.0.0.1:1/db",
        "postgresql://u:secret@127.0.0.1:1/db?schema=No%20Name",
        "mysql://u:secret@h/db",
        "postgresql://u:secret@h:port/db",
    ],
)
def test_no_error_tells_the_password(where: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as told:
        Catalogue.open(where)
    assert "secret" not in str(told.value) + told.value.hint
