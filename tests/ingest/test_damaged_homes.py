"""Homes whose files are damaged: told in a line, mended by ``verify --repair`` or by adding again.

A small sample of ``benchmarks/damage.py``, which goes through all ways with the command line.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.damage_ways import ways

from wellread.ask.retrieve.search import search
from wellread.errors import DamageError, StoreError, UnknownNameError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.backups import (
    back_up,
    back_up_if_due,
    backups_of,
    find_copy,
    restore_copy,
)
from wellread.ingest.integrity.verify import VerifyReport, verify
from wellread.ingest.pipeline.commit import index_rows, writing
from wellread.ingest.remove import remove_named
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.index.lance import LanceIndex
from wellread.store.recovery.copies import copies_in
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

pytestmark = pytest.mark.sqlite_only

FERRY = "The ferry Osprey carries ninety passengers across the sound. " * 3
SAMPLE = (
    "data file, 200 bytes flipped",
    "deletion files gone",
    "catalogue gone",
    "page of texts zeros",
    "letter of a text changed",
    "index's name nonsense",
    "backup cut",
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``papers``, and a ``home`` that they were added to."""
    folder = tmp_path_factory.mktemp("prepared")
    papers = folder / "papers"
    papers.mkdir()
    (papers / "ferry.md").write_text(f"# Ferry\n\n{FERRY}\n")
    for number in range(8):
        lamps = " ".join(f"Lamp {number} of keeper {n} shines {n * 7} miles." for n in range(40))
        (papers / f"note{number}.md").write_text(f"# Note {number}\n\n{lamps}\n")
    with opened(folder / "home") as kb:
        add(kb, [str(papers)])
        ferry = known(kb, "ferry")
        document, passages = kb.catalogue.document(ferry), kb.catalogue.passages_of([ferry])
        assert document is not None
        texts = [f"{one.context}\n{one.text}" for one in passages]
        kb.index.write(index_rows(document, passages), kb.embedder.embed(texts, "passage"))
    return folder


def opened(home: Path) -> KnowledgeBase:
    return open_kb(home, embedder=ReadableEmbedder())


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared / "home", tmp_path / "home"))


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    with opened(home) as made:
        yield made


def known(kb: KnowledgeBase, name: str) -> str:
    return next(each.id for each in kb.catalogue.documents("default") if name in each.uri)


def texts(home: Path) -> dict[str, str]:
    with opened(home) as kb:
        return dict(kb.catalogue.integrity.texts())


def problems(report: VerifyReport) -> set[str]:
    return {problem.kind for problem in report.problems}


@pytest.mark.parametrize("name", SAMPLE)
def test_what_is_damaged_is_told_mended_and_whole(prepared: Path, home: Path, name: str) -> None:
    (way,) = (way for way in ways() if way.name == name)
    way.harm(home, random.Random(name))
    with opened(home) as kb:
        found = verify(kb)
        assert found.problems
        told = "\n".join(f"{one.kind}: {one.detail}" for one in found.problems)
        assert way.told.strip("*") in told
        assert ".lance" not in told
        assert "rust" not in told.lower()
        report = verify(kb, repair=True)
        assert {(one.kind, one.subject) for one in found.problems} <= {
            (one.kind, one.subject) for one in report.problems
        }
        if way.add:
            add(kb, [str(prepared / "papers")])
            assert verify(kb).problems == ()
        else:
            assert report.clean, report.problems
        (hit,) = search(kb, "ninety passengers", Filters(), limit=1)
        assert "ninety passengers" in hit.passage.text
    assert texts(home) == texts(prepared / "home")


def test_a_home_without_its_catalogue_is_left_as_it_is(home: Path) -> None:
    (home / CATALOGUE_FILE).unlink()
    shutil.rmtree(home / "backups")
    before = {path: path.stat().st_size for path in (home / INDEX_FOLDER).rglob("*")}
    with opened(home) as kb:
        for repair in (False, True):
            report = verify(kb, repair=repair)
            ((kind, detail),) = ((one.kind, one.detail) for one in report.problems)
            assert kind == damage.CATALOGUE
            assert "no backup" in detail
            assert not report.clean
        assert "To start again" in detail
        with pytest.raises(DamageError, match="so it is not new"):
            kb.catalogue  # noqa: B018 - opening is what is tried
    assert not (home / CATALOGUE_FILE).exists()
    assert {path: path.stat().st_size for path in (home / INDEX_FOLDER).rglob("*")} == before


def test_a_damaged_catalogue_without_a_backup_is_left_and_made_of_the_sources_again(
    prepared: Path, home: Path
) -> None:
    (way,) = (way for way in ways() if way.name.startswith("pages of documents and texts"))
    way.harm(home, random.Random(1))
    before = (home / CATALOGUE_FILE).read_bytes()
    with opened(home) as kb:
        for repair in (False, True):
            (lost,) = verify(kb, repair=repair).problems
            assert lost.kind == damage.CATALOGUE
            assert "wellread backup restore" in lost.detail
            assert "add the sources again" in lost.detail
    assert (home / CATALOGUE_FILE).read_bytes() == before
    (home / CATALOGUE_FILE).unlink()
    shutil.rmtree(home / INDEX_FOLDER)
    with opened(home) as kb:
        add(kb, [str(prepared / "papers")])
        assert verify(kb).problems == ()
    assert texts(home) == texts(prepared / "home")


def test_a_damaged_catalogue_is_replaced_by_its_newest_backup_and_kept(home: Path) -> None:
    (way,) = (way for way in ways() if way.name == "page of texts zeros")
    way.harm(home, random.Random(1))
    spoiled = (home / CATALOGUE_FILE).read_bytes()
    with opened(home) as kb:
        (lost,) = verify(kb).problems
        assert lost.kind == damage.CATALOGUE
        assert "verify --repair" in lost.detail
        assert "add the sources again" in lost.detail
        verify(kb, repair=True)
        (aside,) = backups_of(kb).glob("damaged-*.db")
    assert aside.read_bytes() == spoiled


def test_removed_documents_do_not_come_back_with_a_damaged_page(
    prepared: Path, kb: KnowledgeBase
) -> None:
    remove_named(kb, "default", [str(prepared / "papers" / "note3.md")])
    (way,) = (way for way in ways() if way.name == "page of sources zeros")
    kb.forget_catalogue()
    way.harm(kb.home, random.Random(1))
    assert verify(kb, repair=True).clean
    assert "note3" not in "".join(each.uri for each in kb.catalogue.documents("default"))


# --- repairing looks again ---


class PanicException(BaseException):
    """Stands in for the exception of a panic, which is no ``Exception``."""


@pytest.mark.parametrize(
    "error", [PanicException("range start"), RuntimeError("lance error: x.rs")]
)
def test_an_engine_that_gives_up_is_damage_in_a_line(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def give_up(*_: object) -> object:
        raise error

    monkeypatch.setattr("wellread.store.index.lance.LanceFtsQueryBuilder", give_up)
    with pytest.raises(DamageError) as told:
        kb.index.search_text("ferry", Filters(), 3)
    assert ".rs" not in str(told.value)
    assert "wellread verify --repair" in told.value.hint


def test_an_index_that_cannot_be_mended_is_made_anew(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    (way,) = (way for way in ways() if way.name == "search structures gone")
    way.harm(kb.home, random.Random(1))

    def refuse(_: object) -> None:
        raise DamageError("no")

    monkeypatch.setattr(LanceIndex, "rebuild", refuse)
    assert problems(verify(kb)) == {damage.UNSEARCHABLE}
    assert verify(kb, repair=True).clean
    assert kb.other_indexes() == []


def test_a_full_disk_is_not_taken_for_damage(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> object:
        raise OSError("LanceError(IO): No space left on device (os error 28)")

    monkeypatch.setattr("wellread.store.index.lance.LanceFtsQueryBuilder", refuse)
    with pytest.raises(StoreError, match="no space left") as told:
        kb.index.search_text("ferry", Filters(), 3)
    assert not isinstance(told.value, DamageError)


# --- backups by themselves ---


def test_a_run_makes_a_backup_once_a_day(prepared: Path, kb: KnowledgeBase) -> None:
    assert len(copies_in(backups_of(kb))) == 1
    back_up_if_due(kb)
    assert len(copies_in(backups_of(kb))) == 1
    (copy,) = copies_in(backups_of(kb))
    copy.path.rename(copy.path.with_name(f"catalogue-20260101T000000Z-{copy.digest}.db"))
    add(kb, [str(prepared / "papers")])
    assert len(copies_in(backups_of(kb))) == 2


def test_what_is_removed_leaves_the_backups(prepared: Path, kb: KnowledgeBase) -> None:
    (old,) = copies_in(backups_of(kb))
    shutil.copy(old.path, backups_of(kb) / "damaged-20260101T000000Z.db")
    assert b"ninety passengers" in old.path.read_bytes()
    report = remove_named(kb, "default", [str(prepared / "papers" / "ferry.md")])
    assert report.traces == ()
    (left,) = backups_of(kb).iterdir()
    assert left != old.path
    assert b"ninety passengers" not in left.read_bytes()
    with closing(sqlite3.connect(left)) as connection:
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (8,)


def test_a_backup_brings_the_catalogue_back_and_the_index_follows(
    prepared: Path, kb: KnowledgeBase, tmp_path: Path
) -> None:
    extra = tmp_path / "extra.md"
    extra.write_text("The gannet nests on the eastern cliff and eats herring.")
    add(kb, [str(extra)])
    restore_copy(kb, find_copy(kb))
    report = verify(kb, repair=True)
    assert report.clean
    assert problems(report) == {damage.ORPHAN}
    assert len(kb.catalogue.documents("default")) == 9
    assert verify(kb).problems == ()


@pytest.fixture
def named(kb: KnowledgeBase) -> Callable[[str], str]:
    return lambda name: find_copy(kb, name).name


def test_backups_are_named_by_how_they_begin(
    kb: KnowledgeBase, named: Callable[[str], str]
) -> None:
    (copy,) = copies_in(backups_of(kb))
    for name in (copy.name, f"{copy.made_at:%Y%m%d}", ""):
        assert named(name) == copy.name
    with pytest.raises(UnknownNameError):
        named("1999")
    copy.path.write_bytes(b"")
    for name in (copy.name, ""):
        with pytest.raises(DamageError):
            named(name)
    copy.path.unlink()
    with pytest.raises(UnknownNameError, match="there is no backup"):
        named("")


def test_a_backup_that_fails_fails_no_run(
    kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.rmtree(backups_of(kb))
    backups_of(kb).write_text("a file")
    back_up_if_due(kb)
    assert "could not back up" in caplog.text
    with pytest.raises(StoreError), writing(kb):
        back_up(kb)


@pytest.mark.parametrize("made", [False, True], ids=["no byte", "no table"])
@pytest.mark.parametrize("repair", [False, True])
def test_a_home_whose_disk_was_full_at_its_first_table_is_a_new_one(
    tmp_path: Path, made: bool, repair: bool
) -> None:
    (tmp_path / "home").mkdir()
    path = tmp_path / "home" / CATALOGUE_FILE
    path.touch()
    if made:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert verify(kb, repair=repair).problems == ()
