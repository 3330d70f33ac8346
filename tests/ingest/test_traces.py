"""Traces of removed text are found wherever they are: every table, every index, every file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import JSON, Boolean, Float, Integer, LargeBinary, String

from wellread.codec import marks_to_blob
from wellread.ingest import backup
from wellread.ingest.integrity.purge import Trace, find_traces, needles, occurs_elsewhere
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.store.base import Fingerprint
from wellread.store.schema.tables import metadata
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.index_model import make_row
from wellread.types import HeadingMark

SECRET = "Frü the lighthouse “keeper” hid nine silver spoons."
STAYS = "The ferry Osprey carries ninety passengers."
NUMBERS = count(1_000)
OTHER = Fingerprint(embedder="another", dimensions=4, chunking="c")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A home that tests only look into, or plant something in that stays unseen by others."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "ferry.txt").write_text(STAYS)
    with open_kb(folder / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder / "ferry.txt")])
        yield opened


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    (tmp_path / "ferry.txt").write_text(STAYS)
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(tmp_path / "ferry.txt")])
        yield opened


def places(found: list[Trace]) -> list[tuple[str, str]]:
    return [(trace.store, trace.place.partition(" ")[0]) for trace in found]


def prose_columns() -> list[tuple[str, str]]:
    """Every column of every table that may hold words."""
    return [
        (table.name, column.name)
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, String | JSON | LargeBinary)
    ]


def plant(path: Path, table: str, column: str, said: str) -> None:
    """A row that says it in this column, and plain values in all others; nothing is checked."""
    values: dict[str, object] = {}
    for each in metadata.tables[table].columns:
        mine = each.name == column
        match each.type:
            case JSON():
                values[each.name] = json.dumps([{"deep": [said]}] if mine else [])
            case LargeBinary():
                values[each.name] = said.encode() if mine else b""
            case String():
                values[each.name] = said if mine else f"planted-{table}-{column}"
            case Boolean():
                values[each.name] = 1
            case Integer() | Float():
                values[each.name] = next(NUMBERS)
            case _:  # a moment
                values[each.name] = "2025-01-02 03:04:05.000000"
    names = ", ".join(f'"{name}"' for name in values)
    places = ", ".join("?" * len(values))
    with closing(sqlite3.connect(path)) as connection, connection:
        statement = f"INSERT INTO {table} ({names}) VALUES ({places})"
        connection.execute(statement, list(values.values()))


def test_every_table_of_the_catalogue_has_columns_to_look_into() -> None:
    assert {table for table, _ in prose_columns()} == set(metadata.tables)
    assert len(prose_columns()) > 100


@pytest.mark.sqlite_only
def test_a_sentence_is_found_in_every_column_of_every_table(kb: KnowledgeBase) -> None:
    """Each column holds a sentence of its own; all are looked for at once."""
    said = {
        (table, column): f"Secret of the {table} in its {column} is number {number}."
        for number, (table, column) in enumerate(prose_columns())
    }
    for (table, column), sentence in said.items():
        plant(kb.home / CATALOGUE_FILE, table, column, sentence)
    found = find_traces(kb, list(said.values()))
    told = {(one.place.partition(" ")[0], one.words) for one in found if one.store == "catalogue"}
    assert told == {(table, sentence) for (table, _), sentence in said.items()}


@pytest.mark.sqlite_only
def test_a_compressed_blob_is_looked_into(kb: KnowledgeBase) -> None:
    blob = marks_to_blob((HeadingMark(start=0, end=1, path=(SECRET,)),))
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as connection, connection:
        connection.execute("UPDATE marks SET blob = ?", (blob,))
    assert places(find_traces(kb, [SECRET])) == [("catalogue", "marks")]


@pytest.mark.sqlite_only
def test_a_sentence_across_two_pieces_of_a_text_is_found(kb: KnowledgeBase) -> None:
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as connection, connection:
        connection.execute("UPDATE texts SET text = ?", (SECRET[:20],))
        connection.execute("INSERT INTO texts SELECT document_id, 1, ? FROM texts", (SECRET[20:],))
    found = [place for place in places(find_traces(kb, [SECRET])) if place[0] == "catalogue"]
    assert found == [("catalogue", "texts")]


@pytest.mark.parametrize("which", ["live", "next"])
def test_rows_of_every_index_are_looked_into(kb: KnowledgeBase, which: str) -> None:
    index = kb.index
    if which == "next":
        kb.catalogue.reindexing.begin(OTHER)
        index = kb.open_index(OTHER)
    index.write([make_row("x", "other words", context=SECRET)], None)
    assert Trace(store="index", place=f"{which} x", words=SECRET) in find_traces(kb, [SECRET])
    index.remove([("doc-x", "v1")])
    assert not index.purged()
    index.purge()
    assert find_traces(kb, [SECRET]) == []


def test_an_index_that_is_not_in_use_is_a_trace(kb: KnowledgeBase) -> None:
    kb.open_index(OTHER)
    (found,) = find_traces(kb, [SECRET])
    assert (found.store, found.words) == ("index", "")
    assert "not in use" in found.place


@pytest.mark.parametrize(
    "content",
    [
        SECRET.encode(),
        json.dumps({"said": SECRET}).encode(),
        json.dumps({"said": SECRET}, ensure_ascii=False).encode(),
        b"\x00" * ((1 << 23) - 9) + SECRET.encode() + b"\x00" * 9,
    ],
    ids=["utf-8", "ascii json", "json", "across two reads"],
)
def test_the_bytes_of_every_file_are_looked_into(kb: KnowledgeBase, content: bytes) -> None:
    folder = kb.home / "some" / "folder"
    folder.mkdir(parents=True)
    (folder / "left.bin").write_bytes(content)
    (kb.home / "empty.bin").touch()
    (found,) = find_traces(kb, [SECRET])
    assert found == Trace(store="files", place=str(Path("some/folder/left.bin")), words=SECRET)
    assert str(found) == f"files: {Path('some/folder/left.bin')}: “{SECRET}”"


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    ("how", "place"),
    [("secure_delete = ON", f"{CATALOGUE_FILE}-wal"), ("secure_delete = OFF", CATALOGUE_FILE)],
    ids=["log", "freed page"],
)
def test_what_no_copy_of_the_catalogue_shows_is_found(
    kb: KnowledgeBase, how: str, place: str
) -> None:
    """The proof looks at the live files: a copy has neither the log nor freed pages."""
    kb.catalogue.record_gap(SECRET, "")
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as connection:
        connection.execute(f"PRAGMA {how}")
        with connection:
            connection.execute("DELETE FROM gaps")
        if place == CATALOGUE_FILE:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert {trace.place for trace in find_traces(kb, [SECRET])} == {place}


@pytest.mark.sqlite_only
def test_a_file_that_sqlite_has_open_is_not_opened_again(kb: KnowledgeBase) -> None:
    """What the whole suite is watched for (``conftest``) is seen when it happens in our code."""
    path = kb.home / f"{CATALOGUE_FILE}-wal"
    kb.catalogue.listings.kinds()
    ours = compile("open(path, 'rb').close()", backup.__file__, "exec")
    with pytest.raises(RuntimeError, match="is opened once more"):
        exec(ours, {"path": str(path)})
    path.read_bytes()  # a test may


def test_nothing_is_found_where_nothing_is(shared: KnowledgeBase) -> None:
    assert find_traces(shared, [SECRET]) == []
    assert find_traces(shared, needles(["Too short a text."])) == []


def test_what_is_there_is_found_in_three_ways(shared: KnowledgeBase) -> None:
    assert {one.store for one in find_traces(shared, [STAYS])} == {"catalogue", "index", "files"}


def test_of_a_long_sentence_both_ends_are_looked_for() -> None:
    long = f"It began in the {'very ' * 40}early hours of a winter day."
    first, last = needles([long])
    assert long.startswith(first)
    assert long.endswith(last)
    assert len(first.split()) >= 5 <= len(last.split())


def test_what_others_say_as_well_is_told_apart(shared: KnowledgeBase) -> None:
    (known,) = shared.catalogue.document_ids()
    wanted = [STAYS, SECRET]
    assert occurs_elsewhere(shared, wanted, ()) == {STAYS}
    assert occurs_elsewhere(shared, wanted, [known]) == set()
    assert occurs_elsewhere(shared, [], ()) == set()
