"""Ways in which a home is damaged: each changes files behind the back of everything."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

Damage = Callable[[Path, random.Random], object]
PAGE = 4096


@dataclass(frozen=True, slots=True)
class Way:
    """One way.

    Attributes:
        told: words that the diagnosis of ``verify`` has to hold; empty where nothing is lost and
            every command goes on.
        add: whether the sources have to be added again after the repair.
    """

    name: str
    harm: Damage
    told: str = ""
    add: bool = False


# --- where the files are ---


def table(home: Path) -> Path:
    """The folder of the index's only table."""
    (found,) = (home / "index").glob("*.lance")
    return found


def newest_manifest(home: Path) -> Path:
    """LanceDB counts its manifests down."""
    return min((table(home) / "_versions").glob("*.manifest"))


def manifests(home: Path) -> list[Path]:
    """All of them."""
    return sorted((table(home) / "_versions").glob("*.manifest"))


def data(home: Path) -> Path:
    """The largest data file."""
    return max((table(home) / "data").glob("*.lance"), key=lambda path: path.stat().st_size)


def structures(home: Path, part: str) -> list[Path]:
    """Files of search structures whose name holds ``part``."""
    return sorted(path for path in (table(home) / "_indices").rglob("*.lance") if part in path.name)


def catalogue(home: Path) -> Path:
    """The catalogue's file."""
    return home / "catalogue.db"


def model(home: Path) -> Path:
    """The derived model."""
    (found,) = (home / "models").glob("*.onnx")
    return found


# --- what is done to them ---


def cut(path: Path, share: float = 0.5) -> None:
    """Keep only the first part of a file."""
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def empty(path: Path) -> None:
    """Keep nothing."""
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    """Put other words in place of a file."""
    path.write_bytes(b"This is no such file. " * 40)


def flip(path: Path, chance: random.Random, count: int, first: int = 0, last: int = 0) -> None:
    """Change one bit each of ``count`` bytes."""
    content = bytearray(path.read_bytes())
    for _ in range(count):
        content[chance.randrange(first, last or len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def zero(path: Path, first: int, count: int = PAGE) -> None:
    """Overwrite a part of a file with zeros."""
    content = bytearray(path.read_bytes())
    content[first : first + count] = bytes(len(content[first : first + count]))
    path.write_bytes(content)


def by_sql(home: Path, *statements: str) -> None:
    """Change the catalogue without its rules."""
    with closing(sqlite3.connect(catalogue(home))) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def root_page(home: Path, name: str) -> int:
    """Where the rows of a table, or of a search tree, begin in the catalogue's file."""
    with closing(sqlite3.connect(catalogue(home))) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (page,) = connection.execute(query, (name,)).fetchone()
    return (int(page) - 1) * PAGE


def zero_leaf(home: Path, name: str) -> None:
    """Overwrite the second page of a table's rows; its only one where it has no more."""
    start = root_page(home, name)
    content = catalogue(home).read_bytes()
    inner = content[start] == 0x05
    first = int.from_bytes(content[start + 12 : start + 14], "big") if inner else 0
    child = int.from_bytes(content[start + first : start + first + 4], "big") if inner else 0
    zero(catalogue(home), (child - 1) * PAGE if inner else start)


def letter(home: Path) -> None:
    """Another letter in the text of a document, at its place in the file."""
    misspelt(home, b"z")


def high_letter(home: Path) -> None:
    """A byte in a text that is no letter at all."""
    misspelt(home, b"\xff")


def misspelt(home: Path, last: bytes) -> None:
    """Another byte at the end of "passengers", wherever the file has it."""
    path = catalogue(home)
    content = path.read_bytes()
    changed = content.replace(b"carries ninety passengers", b"carries ninety passenger" + last)
    assert changed != content
    path.write_bytes(changed)


def no_backups(home: Path) -> None:
    """The home has none."""
    shutil.rmtree(home / "backups")


def all_of(paths: list[Path], do: Callable[[Path], object]) -> None:
    """Do the same to every file."""
    assert paths
    for path in paths:
        do(path)


def log_of_garbage(home: Path) -> None:
    """A write-ahead log that belongs to nothing."""
    catalogue(home).with_name("catalogue.db-wal").write_bytes(b"no log at all" * 700)


def folder_instead(path: Path) -> None:
    """A folder of the file's name."""
    path.unlink()
    path.mkdir()


def cut_structures(part: str) -> Damage:
    """Cuts search structures whose name holds ``part``."""
    return lambda home, _: all_of(structures(home, part), cut)


def zero_leaf_of(name: str) -> Damage:
    """``zero_leaf`` of that table."""
    return lambda home, _: zero_leaf(home, name)


def changed_by(statement: str) -> Damage:
    """``by_sql`` with that statement."""
    return lambda home, _: by_sql(home, statement)


INDEX = "the index cannot be read"
SEARCH = "searches do not find"
MISSING = "missing from the index"
LOST = "the catalogue cannot be used"


def index_ways() -> Iterator[Way]:
    """Damage to the files of the index."""
    one = newest_manifest
    yield Way("newest manifest cut", lambda h, _: cut(one(h)), INDEX)
    yield Way("newest manifest empty", lambda h, _: empty(one(h)), INDEX)
    yield Way("newest manifest, 200 bytes flipped", lambda h, c: flip(one(h), c, 200), INDEX)
    yield Way("newest manifest of zeros", lambda h, _: zero(one(h), 0, 1 << 20), INDEX)
    yield Way("newest manifest garbage", lambda h, _: garbage(one(h)), INDEX)
    yield Way("newest manifest gone", lambda h, _: one(h).unlink(), "")
    yield Way("all manifests gone", lambda h, _: all_of(manifests(h), Path.unlink), MISSING)
    yield Way("all manifests empty", lambda h, _: all_of(manifests(h), empty), INDEX)
    yield Way("manifests' folder gone", lambda h, _: shutil.rmtree(table(h) / "_versions"), MISSING)
    yield Way("data file, 200 bytes flipped", lambda h, c: flip(data(h), c, 200), INDEX)
    yield Way("data file, 1,000 bytes flipped", lambda h, c: flip(data(h), c, 1000), INDEX)
    yield Way("data file, 3,000 bytes flipped", lambda h, c: flip(data(h), c, 3000), INDEX)
    yield Way("data file cut", lambda h, _: cut(data(h)), INDEX)
    yield Way("data file cut by 10 bytes", lambda h, _: cut(data(h), 0.9998), INDEX)
    yield Way("data file empty", lambda h, _: empty(data(h)), INDEX)
    yield Way("data file gone", lambda h, _: data(h).unlink(), INDEX)
    yield Way("data file garbage", lambda h, _: garbage(data(h)), INDEX)
    yield Way("data file, its middle zeros", lambda h, _: zero(data(h), 16 << 10, 8 << 10), "*")
    yield Way("data folder gone", lambda h, _: shutil.rmtree(table(h) / "data"), INDEX)
    gone = "deletion files"
    yield Way(f"{gone} gone", lambda h, _: all_of(deletions(h), Path.unlink), "*")
    yield Way(f"{gone} empty", lambda h, _: all_of(deletions(h), empty), "*")
    yield Way(f"{gone} flipped", lambda h, c: all_of(deletions(h), lambda p: flip(p, c, 40)), "*")
    for part in ("tokens", "docs", "invert", "page_data", "page_lookup"):
        yield Way(f"search structure {part} cut", cut_structures(part), "*")
    yield Way("search structures gone", lambda h, _: shutil.rmtree(table(h) / "_indices"), SEARCH)
    yield Way(
        "search structures flipped",
        lambda h, c: all_of(structures(h, ""), lambda path: flip(path, c, 20)),
        "*",
    )
    yield Way("table gone", lambda h, _: shutil.rmtree(table(h)), MISSING)
    yield Way("index folder gone", lambda h, _: shutil.rmtree(h / "index"), MISSING)
    yield Way("index folder is a file", lambda h, _: _file_instead(h / "index"), INDEX)
    yield Way("table is a file", lambda h, _: _file_instead(table(h)), INDEX)
    yield Way("old table beside", lambda h, _: (h / "index/passages_0.lance").mkdir(), "not in use")


def deletions(home: Path) -> list[Path]:
    """The files that say which rows were removed."""
    return sorted((table(home) / "_deletions").glob("*"))


def _file_instead(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file")


VALUES = (
    ("stored answer cut", "UPDATE answers SET body = substr(body, 1, 40)", "cannot be read"),
    ("moments no moments", "UPDATE documents SET updated_at = 'yesterday'", "cannot be read"),
    (
        "index's name nonsense",
        "UPDATE properties SET value = 'nonsense' WHERE key = 'fingerprint'",
        "cannot be read",
    ),
    ("schema's version gone", "DELETE FROM alembic_version", "which release"),
)


def catalogue_ways() -> Iterator[Way]:
    """Damage to the catalogue's file, with a backup and without one."""
    file = catalogue
    yield Way("catalogue gone", lambda h, _: file(h).unlink(), "it is missing")
    yield Way("catalogue empty", lambda h, _: empty(file(h)), "it is empty")
    yield Way("catalogue cut", lambda h, _: cut(file(h)), LOST)
    yield Way("catalogue cut to 100 bytes", lambda h, _: cut(file(h), 100 / 5e5), LOST)
    yield Way("catalogue cut by a page", lambda h, _: cut(file(h), 0.995), LOST)
    yield Way("catalogue garbage", lambda h, _: garbage(file(h)), "it is no database")
    yield Way("catalogue is a folder", lambda h, _: folder_instead(file(h)), LOST)
    yield Way("catalogue's header flipped", lambda h, c: flip(file(h), c, 30, 0, 24), LOST)
    yield Way("catalogue's first page zeros", lambda h, _: zero(file(h), 0), "it is no database")
    yield Way("catalogue, 200 bytes flipped", lambda h, c: flip(file(h), c, 200, PAGE), LOST)
    yield Way("catalogue, last tenth zeros", lambda h, _: zero(file(h), 420_000, 1 << 20), "*")
    yield Way("log of garbage beside it", lambda h, _: log_of_garbage(h), "")
    for name in ("documents", "texts", "passages", "answers", "sources"):
        yield Way(f"page of {name} zeros", zero_leaf_of(name), LOST)
    tree = "sqlite_autoindex_documents_1"
    yield Way("page of a search tree zeros", lambda h, _: zero_leaf(h, tree), LOST)
    yield Way("letter of a text changed", lambda h, _: letter(h), "does not match", add=True)
    yield Way("byte of a text no letter", lambda h, _: high_letter(h), "cannot be read")
    gone_texts = "DELETE FROM texts"
    yield Way("text gone", lambda h, _: by_sql(h, gone_texts), "does not match", add=True)
    yield Way("table dropped", lambda h, _: by_sql(h, "DROP TABLE passages"), "are gone")
    for name, broken, told in VALUES:
        yield Way(name, changed_by(broken), told)
    pages = "pages of documents and texts zeros, no backup"

    def both(home: Path, _: random.Random) -> None:
        no_backups(home)
        zero_leaf(home, "texts")
        zero_leaf(home, "documents")

    yield Way(pages, both, LOST, add=True)

    def gone(home: Path, _: random.Random) -> None:
        no_backups(home)
        catalogue(home).unlink()

    yield Way("catalogue gone, no backup", gone, "it is missing", add=True)

    def spoiled(home: Path, chance: random.Random) -> None:
        catalogue(home).unlink()
        for backup in (home / "backups").glob("*.db"):
            flip(backup, chance, 20)

    yield Way("catalogue gone, backup flipped", spoiled, "it is missing", add=True)


def other_ways() -> Iterator[Way]:
    """Damage to what lies beside the stores."""
    yield Way("model file cut", lambda h, _: cut(model(h)), "model file")
    yield Way("model file empty", lambda h, _: empty(model(h)), "model file")
    yield Way("model file flipped", lambda h, c: flip(model(h), c, 20), "model file")
    yield Way("models' folder gone", lambda h, _: shutil.rmtree(h / "models"), "")
    yield Way("lock files gone", lambda h, _: all_of(list(h.rglob("*.lock")), Path.unlink), "")
    yield Way("backup cut", lambda h, _: all_of([*(h / "backups").glob("*.db")], cut), "backup")


def ways() -> list[Way]:
    """All of them."""
    return [*index_ways(), *catalogue_ways(), *other_ways()]
