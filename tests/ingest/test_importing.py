"""Archives that come from anybody: nothing of them acts, reaches out, or takes the machine down."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sqlite3
import tarfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from wellread import codec
from wellread.errors import SourceError
from wellread.ingest import backup
from wellread.ingest.backup import export_home, import_home
from wellread.kb import open_kb
from wellread.store.catalogue import Catalogue
from wellread.testing.embedding import ReadableEmbedder

pytestmark = pytest.mark.sqlite_only

SETTINGS = b"""
generation:
  {model: "openai:gpt-x", base_url: "http://198.51.100.7:8000/v1", api_key_env: AWS_SECRET}
embedding: {url: "http://198.51.100.7/embed"}
web: {allow_private: true}
retrieval: {top_k: 7}
"""
Entry = tuple[tarfile.TarInfo, bytes]


def catalogue(*statements: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute("CREATE TABLE documents (id TEXT)")
        for statement in statements:
            made.execute(statement)
        return made.serialize()


def file(name: str, data: bytes, **facts: object) -> Entry:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for fact, value in facts.items():
        setattr(entry, fact, value)
    return entry, data


def manifest(files: Iterable[Entry], *more: str) -> Entry:
    digests = {
        entry.name: hashlib.blake2b(data, digest_size=16).hexdigest() for entry, data in files
    }
    named = digests | dict.fromkeys(more, "00")
    return file("manifest.json", json.dumps({"format": 1, "files": named}).encode())


def archive(path: Path, entries: Iterable[Entry]) -> Path:
    with tarfile.open(path, "w") as tar:
        for entry, data in entries:
            tar.addfile(entry, io.BytesIO(data))
    return path


def whole(*files: Entry) -> list[Entry]:
    return [manifest(files), *files]


def refused(path: Path, tmp_path: Path, reason: str) -> None:
    """It is refused for that reason, and leaves nothing behind."""
    with pytest.raises(SourceError, match=reason):
        import_home(path, tmp_path / "moved")
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name]


def test_settings_of_an_archive_stay_out_and_what_reaches_out_is_told(tmp_path: Path) -> None:
    Catalogue.open(tmp_path / "made.db").close()
    data = (tmp_path / "made.db").read_bytes()
    entries = whole(file("catalogue.db", data), file("wellread.yaml", SETTINGS))
    path = archive(tmp_path / "all.tar", entries)
    report = import_home(path, tmp_path / "moved")
    assert (report.settings, report.files) == ("left out", 1)
    assert report.reaching == (
        "embedding.url: http://198.51.100.7/embed",
        "generation.model: openai:gpt-x",
        "generation.base_url: http://198.51.100.7:8000/v1",
        "generation.api_key_env: AWS_SECRET",
        "web.allow_private: True",
    )
    with open_kb(tmp_path / "moved", embedder=ReadableEmbedder()) as kb:
        assert (kb.settings.generation.base_url, kb.settings.retrieval.top_k) == ("", 12)
    asked = import_home(path, tmp_path / "again", settings=True)
    assert (asked.settings, asked.reaching) == ("taken", report.reaching)
    assert (tmp_path / "again" / "wellread.yaml").read_bytes() == SETTINGS


def test_the_users_of_an_archive_stay_out(tmp_path: Path) -> None:
    with closing(Catalogue.open(tmp_path / "made.db")) as made:
        mallory = made.accounts.users.add(
            "mallory-of-elsewhere", role="admin", password="correct horse battery staple"
        )
        made.accounts.keys.new(mallory.id, "script", ("read", "admin"))
    data = (tmp_path / "made.db").read_bytes()
    path = archive(tmp_path / "all.tar", whole(file("catalogue.db", data)))
    assert import_home(path, tmp_path / "moved").users == 1
    with closing(Catalogue.open(tmp_path / "moved" / "catalogue.db")) as moved:
        assert not moved.accounts.users.any()
    for one in (tmp_path / "moved").iterdir():
        assert b"mallory-of-elsewhere" not in one.read_bytes()
    assert import_home(path, tmp_path / "again", accounts=True).users == 1
    with closing(Catalogue.open(tmp_path / "again" / "catalogue.db")) as again:
        assert again.accounts.users.has_admin()


def test_a_copy_does_not_take_the_indexes_that_its_base_has_on_a_server(tmp_path: Path) -> None:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        known = kb.catalogue.reindexing.base_id()
        assert kb.catalogue.reindexing.base_id() == known
        export_home(kb, tmp_path / "home.tar.gz")
    import_home(tmp_path / "home.tar.gz", tmp_path / "copy")
    with open_kb(tmp_path / "copy", embedder=ReadableEmbedder()) as kb:
        assert kb.catalogue.reindexing.base_id() != known


@pytest.mark.parametrize("said", [b"{", b"- 1", b"\xff", b"[" * 50_000, b"generation: 3"])
def test_settings_that_are_none_stop_nothing(tmp_path: Path, said: bytes) -> None:
    entries = whole(file("catalogue.db", catalogue()), file("wellread.yaml", said))
    report = import_home(archive(tmp_path / "all.tar", entries), tmp_path / "moved")
    assert report.settings == "left out"
    assert not (tmp_path / "moved" / "wellread.yaml").exists()


DB = file("catalogue.db", catalogue())
LINK = file("index/a", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")
HARD = file("index/a", b"", type=tarfile.LNKTYPE, linkname="catalogue.db")
DEVICE = file("index/a", b"", type=tarfile.CHRTYPE)
DEEP = "index/" + "a/" * 20 + "a"
ACTING = catalogue("CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END")
SEEN = catalogue("CREATE VIEW v AS SELECT id FROM documents")
HOSTILE: dict[str, tuple[list[Entry], str]] = {
    "link": ([manifest([DB, LINK]), DB, LINK], "not as a plain file"),
    "hard link": ([manifest([DB, HARD]), DB, HARD], "not as a plain file"),
    "device": ([manifest([DB, DEVICE]), DB, DEVICE], "not as a plain file"),
    "twice": ([manifest([DB]), DB, DB], "twice"),
    "not named": ([manifest([DB]), DB, file("index/b", b"x")], "not in its manifest"),
    "outside": ([manifest([DB], "index/../../x"), DB], "not part of a home"),
    "root": ([manifest([DB], "/etc/x"), DB], "not part of a home"),
    "backslash": ([manifest([DB], "index/..\\x"), DB], "not part of a home"),
    "forged line": ([manifest([DB], "index/a\nEverything matches."), DB], "not part of a home"),
    "deep": ([manifest([DB], DEEP), DB], "not part of a home"),
    "missing": ([manifest([DB], "index/a"), DB], "is damaged: index/a"),
    "no catalogue": ([manifest([])], "catalogue cannot be read"),
    "no database": (whole(file("catalogue.db", b"x" * 5_000)), "catalogue cannot be read"),
    "trigger": (whole(file("catalogue.db", ACTING)), "contains 't'"),
    "view": (whole(file("catalogue.db", SEEN)), "contains 'v'"),
    "deep json": ([file("manifest.json", b"[" * 200_000)], "damaged manifest"),
    "odd json": ([file("manifest.json", b'{"format": 1, "files": [1]}')], "damaged manifest"),
    "no manifest": ([DB], "not an export"),
    "manifest is a link": ([file("manifest.json", b"", type=tarfile.SYMTYPE)], "not an export"),
    "nothing": ([], "not an export"),
}  # fmt: skip


@pytest.mark.parametrize(("entries", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_what_no_export_holds_is_refused(tmp_path: Path, entries: list[Entry], reason: str) -> None:
    refused(archive(tmp_path / "all.tar", entries), tmp_path, reason)


def test_a_member_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    """Its reader would come upon it again and again."""
    entry = tarfile.TarInfo("manifest.json")
    entry.size = -tarfile.BLOCKSIZE
    path = tmp_path / "all.tar"
    with path.open("wb") as file, tarfile.open(fileobj=file, mode="w") as tar:
        for each, data in whole(DB):
            tar.addfile(each, io.BytesIO(data))
        file.write(entry.tobuf(tarfile.GNU_FORMAT))
    refused(path, tmp_path, "negative size")


def test_a_manifest_with_endless_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "MAX_FILES", 3)
    entries = [manifest([DB], "index/a", "index/b", "index/c"), DB]
    refused(archive(tmp_path / "all.tar", entries), tmp_path, "more than any export")


def bomb(path: Path, size: int) -> Path:
    """A small archive of one file of zeros."""
    zeros = bytes(size)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for entry, data in whole(DB, file("index/a", zeros)):
            tar.addfile(entry, io.BytesIO(data))
    path.write_bytes(gzip.compress(made.getvalue()))
    return path


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "MIN_BOUND_BYTES", 1 << 20)
    refused(bomb(tmp_path / "all.tar.gz", 4 << 20), tmp_path, "more than any export of its size")


def test_a_table_that_is_too_large_is_not_read_into_memory(tmp_path: Path) -> None:
    """The header says that its names take up terabytes."""
    entry = tarfile.TarInfo("x")
    entry.type = tarfile.XHDTYPE
    entry.size = 1 << 40
    path = tmp_path / "all.tar"
    path.write_bytes(entry.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 16))
    refused(path, tmp_path, "one of its headers is too large")


def test_a_file_that_says_it_is_endless_is_refused(tmp_path: Path) -> None:
    large = tarfile.TarInfo("index/a")
    large.size = 1 << 50
    head, data = manifest([DB], "index/a")
    path = tmp_path / "all.tar"
    path.write_bytes(
        head.tobuf() + data.ljust(-(-len(data) // 512) * 512, b"\0") + large.tobuf() + bytes(1024)
    )
    refused(path, tmp_path, "imported|damaged|more than")


CUTS: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: data[:10],
    lambda data: data[: len(data) // 2],
    lambda data: data[:40] + b"\xff" * 40 + data[80:],
    lambda _: b"",
    lambda _: b"\x1f\x8b",
    lambda _: b"\x1f\x8b" + b"\xff" * 100,
    lambda _: b"BZh9" + b"1" * 100,
)


@pytest.mark.parametrize("cut", CUTS)
def test_a_damaged_archive_is_told_in_a_line(tmp_path: Path, cut: Callable[[bytes], bytes]) -> None:
    path = bomb(tmp_path / "all.tar.gz", 10_000)
    path.write_bytes(cut(path.read_bytes()))
    refused(path, tmp_path, "all.tar.gz: ")


def test_marks_do_not_unpack_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_MARKS_BYTES", 1_000)
    assert codec.mark_lines(zlib.compress(b"[[1]]")) == [[1]]
    with pytest.raises(zlib.error, match="more than 1,000 bytes"):
        codec.mark_lines(zlib.compress(b"[" * 100_000))
