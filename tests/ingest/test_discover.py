"""What a list of paths, folders and globs stands for."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from wellread.config import Settings
from wellread.errors import SourceError
from wellread.ingest.loaders.base import changed_ns
from wellread.ingest.sources.discover import FoundFile, FoundPage, find_files, standard_input

USUAL = Settings().sources.exclude


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def names(root: Path, *inputs: str | os.PathLike[str], exclude: Sequence[str] = USUAL) -> list[str]:
    """The found files, relative to ``root``; an error fails the test."""
    found = find_files([os.fspath(each) for each in inputs], exclude)
    assert [item for item in found if isinstance(item, SourceError)] == []
    return [item.path.relative_to(root).as_posix() for item in found if isinstance(item, FoundFile)]


def reasons(*inputs: str | os.PathLike[str]) -> dict[str, str]:
    """The last part of each failed uri to its reason."""
    found = find_files([os.fspath(each) for each in inputs], USUAL)
    return {
        item.uri.rsplit("/", 1)[-1]: item.reason for item in found if isinstance(item, SourceError)
    }


def test_a_folder_stands_for_all_files_below_it_in_order(root: Path) -> None:
    make(root, "b.txt", "a/deep/er/x.md", "a/y.md", ".hidden.txt")
    assert names(root, root) == [".hidden.txt", "a/deep/er/x.md", "a/y.md", "b.txt"]
    found = find_files([str(root / "b.txt")], ())
    status = (root / "b.txt").stat()
    assert found == [
        FoundFile(
            path=root / "b.txt",
            uri=(root / "b.txt").as_uri(),
            size=status.st_size,
            mtime_ns=changed_ns(status),
            root=(root / "b.txt").as_uri(),
        )
    ]


def test_a_relative_path_and_an_absolute_one_name_the_same_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, "a/x.md")
    monkeypatch.chdir(root / "a")
    uris = [item.uri for item in find_files(["x.md", "../a/x.md", "./", str(root)], ())]
    assert uris == [(root / "a/x.md").as_uri()]


def test_excluded_names_are_left_out_at_any_depth(root: Path) -> None:
    make(root, "x.md", ".git/config", "a/.git/config", "node_modules/p/r.md", "a/.DS_Store")
    make(root, "git/x.md")
    assert names(root, root) == ["git/x.md", "x.md"]
    assert "a/.git/config" in names(root, root, exclude=())
    assert names(root, root, exclude=("*.md",)) == [".git/config", "a/.DS_Store", "a/.git/config"]


def test_the_folders_own_ignore_file_is_followed_and_not_read(root: Path) -> None:
    make(root, "x.md", "draft/y.md", "a/z.md", "a/keep.log", "a/lose.log", "a/.wellreadignore")
    (root / ".wellreadignore").write_text("# private\n/draft/\n*.log\n!keep.log\n\n")
    assert names(root, root) == ["a/keep.log", "a/z.md", "x.md"]
    assert names(root, root / "draft/y.md") == ["draft/y.md"]  # named itself: always read


@pytest.mark.parametrize("pattern", ["!", "[z-a]"])
def test_a_wrong_pattern_keeps_the_whole_folder_out(root: Path, pattern: str) -> None:
    """The owner wanted something left out, and nobody can tell what."""
    make(root, "one/private.md", "two/x.md")
    (root / "one/.wellreadignore").write_text(f"private.md\n{pattern}\n")
    found = find_files([str(root / "one"), str(root / "two")], USUAL)
    assert [type(item) for item in found] == [SourceError, FoundFile]
    assert ".wellreadignore" in reasons(root / "one")["one"]


def test_an_unreadable_ignore_file_keeps_the_whole_folder_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, "private.md", ".wellreadignore")

    def refuse(path: Path, **named: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert reasons(root) == {".wellreadignore": "cannot be read: Permission denied"}
    assert len(find_files([str(root)], USUAL)) == 1


def test_a_folder_that_cannot_be_opened_does_not_stop_the_others(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, "closed/x.md", "open/y.md")
    real = os.scandir

    def scandir(path: str | int) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = find_files([str(root)], USUAL)
    assert [item.uri.rsplit("/", 1)[-1] for item in found] == ["closed", "y.md"]
    assert reasons(root) == {"closed": "cannot be opened: Permission denied"}


def test_globs(root: Path) -> None:
    make(root, "a.md", "b.md", "c.txt", "deep/d.md", "deep/er/e.md")
    assert names(root, f"{root}/*.md") == ["a.md", "b.md"]
    assert names(root, f"{root}/**/*.md") == ["a.md", "b.md", "deep/d.md", "deep/er/e.md"]
    assert names(root, f"{root}/d*") == ["deep/d.md", "deep/er/e.md"]  # a folder that matches
    assert reasons(f"{root}/*.pdf") == {"*.pdf": "nothing matches this pattern"}


def test_a_file_found_in_several_ways_is_found_once(root: Path) -> None:
    make(root, "a.md", "b.md")
    assert names(root, root, root / "a.md", f"{root}/*.md", root) == ["a.md", "b.md"]


def test_links(root: Path) -> None:
    make(root, "a/x.md")
    (root / "a/loop").symlink_to(root)
    (root / "a/self").symlink_to(root / "a/self")
    (root / "gone.md").symlink_to(root / "nowhere.md")
    (root / "same.md").symlink_to(root / "a/x.md")
    found = find_files([str(root)], USUAL)
    assert [item.path.name for item in found if isinstance(item, FoundFile)] == ["x.md", "same.md"]
    assert set(reasons(root)) == {"self", "gone.md"}
    assert reasons(root / "gone.md")["gone.md"].startswith("cannot be opened: No such file")
    (root / "door").symlink_to(root / "a")
    assert names(root, root / "door/x.md", root / "door/x.md") == ["door/x.md"]


def test_a_pipe_is_refused_and_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe.txt")
    make(root, "x.md")
    assert reasons(root) == {"pipe.txt": "not a regular file"}
    assert reasons(root / "pipe.txt") == {"pipe.txt": "not a regular file"}
    assert reasons("/dev/null") == {"null": "not a regular file"}


ODD = ["with space.md", "line\nbreak.md", "emoji 🦭.md", "per%20cent#?.md", "-dash.md", "日本.md"]


def test_odd_names_are_found_and_their_addresses_lead_back(root: Path) -> None:
    make(root, *ODD)
    latin = root / os.fsdecode(b"caf\xe9.md")
    latin.write_text("coffee")
    found = find_files([str(root)], USUAL)
    assert len(found) == len(ODD) + 1
    for item in found:
        assert isinstance(item, FoundFile)
        assert item.uri.isascii()
        assert "\n" not in item.uri
        itself = replace(item, root=item.uri)
        assert find_files([str(item.path)], ()) == [itself]
        assert find_files([item.uri], ()) == [itself]


@pytest.mark.parametrize("name", ["nowhere.md", "x" * 300, "deep/" * 1_500 + "x", "a\0b"])
def test_what_is_not_there_is_an_error_with_a_reason(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(root)
    make(root, "there.md")
    found = find_files([name, "there.md"], USUAL)
    errors = [item for item in found if isinstance(item, SourceError)]
    assert [error.reason for error in errors] == ["there is no such file or folder"]
    assert len(found) == 2


def test_every_folder_may_have_its_own_ignore_file(root: Path) -> None:
    make(
        root, "a/x.log", "a/b/x.log", "a/b/keep.log", "a/b/c/top.md", "a/top.md", "top.md", "x.log"
    )
    (root / "a/.wellreadignore").write_text("*.log\n/top.md\n")
    (root / "a/b/.wellreadignore").write_text("!keep.log\n")
    assert names(root, root) == ["a/b/c/top.md", "a/b/keep.log", "top.md", "x.log"]
    (root / ".wellreadignore").write_text("a/b/\n")
    assert names(root, root) == ["top.md", "x.log"]  # what is left out is not opened at all


def test_addresses_of_the_web_are_pages_to_fetch() -> None:
    found = find_files(["HTTPS://X.example/a.md#part", "http://x.example", "ftp://x/y"], USUAL)
    pages = [item for item in found if isinstance(item, FoundPage)]
    assert [page.uri for page in pages] == ["http://x.example/", "https://x.example/a.md"]
    assert [page.as_feed for page in pages] == [False, False]
    assert reasons("ftp://x/y") == {"y": "only http and https are supported, not ftp"}
    assert reasons("https://me:pw@x.example/y") == {
        "y": "addresses with a user name or password are not supported"
    }


OPML = b"""<?xml version="1.0"?><!-- mine --><opml version="2.0"><body>
<outline text="News"><outline text="A" xmlUrl="https://a.example/feed#x"/></outline>
<outline text="B" xmlUrl="http://b.example/rss"/><outline text="C" xmlUrl="http://me:pw@c.example/"/>
</body></opml>"""


def test_a_list_of_feeds_stands_for_its_feeds(root: Path) -> None:
    path = root / "feeds.opml"
    path.write_bytes(OPML)
    found = find_files([str(path)], USUAL)
    pages = [item for item in found if isinstance(item, FoundPage)]
    assert pages == [
        FoundPage(uri="http://b.example/rss", root=path.as_uri(), as_feed=True),
        FoundPage(uri="https://a.example/feed", root=path.as_uri(), as_feed=True),
    ]
    (refused,) = (item for item in found if isinstance(item, SourceError))
    assert "a user name or password" in refused.reason
    assert [item for item in find_files([str(root)], USUAL) if isinstance(item, FoundPage)] == pages


def test_a_list_without_feeds_is_an_error(root: Path) -> None:
    (root / "none.opml").write_text("<opml><body/></opml>")
    (root / "not.opml").write_text("<html></html>")
    assert reasons(root / "none.opml") == {"none.opml": "the list contains no feeds"}
    assert reasons(root / "not.opml")["not.opml"].startswith("not OPML")


def test_standard_input_is_a_source_with_its_bytes() -> None:
    given = standard_input(io.BytesIO(b"# Notes"), "my notes.md", 100)
    assert (given.uri, given.name, given.data) == ("stdin:my%20notes.md", "my notes.md", b"# Notes")
    assert find_files([given, given], USUAL) == [given]
    assert standard_input(io.BytesIO(b"x"), "", 1).uri == "stdin:stdin"
    with pytest.raises(SourceError, match="standard input is empty"):
        standard_input(io.BytesIO(), "x.md", 100)
    with pytest.raises(SourceError, match="too large: more than 1 bytes"):
        standard_input(io.BytesIO(b"xy"), "x.md", 1)
    assert "standard input" in reasons("-")["-"]
