"""Addresses of stores: what they name, whose password opens them, and that nobody sees it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.doubles.remote_stores import PASSWORD, imap, netrc, webdav
from tests.doubles.web_server import WebServer

from wellread.errors import SourceError
from wellread.ingest.run import add, sync
from wellread.ingest.sources.addresses import without_credentials
from wellread.ingest.sources.stores import StoreAddress
from wellread.kb import KnowledgeBase


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("S3://bucket", "s3://bucket"),
        (" s3://bucket/a b/ ", "s3://bucket/a%20b"),
        ("s3://bucket/a%20b", "s3://bucket/a%20b"),
        ("imaps://me@mail.example/A/;UID=2", "imaps://me@mail.example/A/;UID=2"),
        ("imaps://me%40home@mail.example:1993/A", "imaps://me%40home@mail.example:1993/A"),
        ("sftp://host:22/a:b@c", "sftp://host:22/a%3Ab%40c"),
    ],
)
def test_an_address_is_written_in_one_way(given: str, written: str) -> None:
    assert str(StoreAddress.parse(given)) == written
    assert str(StoreAddress.parse(written)) == written


@pytest.mark.parametrize("given", ["s3://", "s3:///a", "s3://bucket/a?key=1", "s3://bucket/a#b"])
def test_what_names_no_store_is_refused(given: str) -> None:
    with pytest.raises(SourceError, match="not the address of a store"):
        StoreAddress.parse(given)


@pytest.mark.parametrize(
    "given",
    [
        f"imaps://me:{PASSWORD}@host/News",
        f"s3://:{PASSWORD}@bucket",
        f"webdavs://me:{PASSWORD}/@:@host/a",
        f"webdavs://me:80{PASSWORD}@host/a",
        f"webdavs://me:{PASSWORD}?#@host/a",
    ],
)
def test_a_password_in_an_address_is_refused_and_hidden(
    kb: KnowledgeBase, given: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        report = sync(kb, [given])
    (row,) = report.rows
    assert (row.status, "netrc" in row.reason) == ("failed", True)
    assert "…@" in row.uri
    assert PASSWORD not in f"{row} {kb.catalogue.jobs.newest()} {caplog.text}"


def test_a_user_name_without_a_password_stays_in_the_address_of_a_store() -> None:
    assert without_credentials("imaps://me@host/News") == "imaps://me@host/News"
    assert without_credentials("sftp://host:22/a@b") == "sftp://host:22/a@b"
    assert without_credentials("https://key@host/") == "https://…@host/"


def holds(folder: Path, secret: str) -> Iterable[Path]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "netrc")
    return [path for path in files if secret.encode() in path.read_bytes()]


def test_the_home_may_hold_the_password_and_nothing_else_does(
    kb: KnowledgeBase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        imap(tmp_path, monkeypatch) as mail,
        webdav(tmp_path, monkeypatch) as shared,
        caplog.at_level(logging.DEBUG),
    ):
        monkeypatch.setenv("NETRC", str(tmp_path / "none"))
        mail.send("News", "Ferry", "The ferry stands by the water.")
        shared.write("mill.txt", b"The mill stands by the water.\n")
        addresses = [f"{mail.address}/News", shared.address]
        reports = [add(kb, addresses)]  # nobody has the password
        netrc(kb.home / "netrc", password=f"{PASSWORD}-not")
        reports.append(add(kb, addresses))
        netrc(kb.home / "netrc")
        reports.append(add(kb, addresses))
    tried = [[row.status for row in report.rows] for report in reports]
    assert tried == [["failed"] * 2, ["failed"] * 2, ["added"] * 2]
    assert PASSWORD not in f"{reports} {caplog.text}"
    assert holds(kb.home, PASSWORD) == []


def test_an_account_of_a_host_has_a_line_of_its_own(tmp_path: Path) -> None:
    lines = "machine host login a password 1\nmachine b@host login b password 2\n"
    (tmp_path / "netrc").write_text(lines)
    (tmp_path / "netrc").chmod(0o600)
    logins = {
        user: StoreAddress.parse(f"imaps://{user}host/x", tmp_path).login()
        for user in ("", "a@", "b@", "c@")
    }
    assert logins == {"": ("a", "1"), "a@": ("a", "1"), "b@": ("b", "2"), "c@": None}


@pytest.mark.parametrize("text", [f"machine h {PASSWORD}", PASSWORD, f"machine h\xff{PASSWORD}"])
def test_a_damaged_file_of_passwords_is_named_but_not_quoted(tmp_path: Path, text: str) -> None:
    (tmp_path / "netrc").write_bytes(text.encode("latin-1"))
    (tmp_path / "netrc").chmod(0o600)
    with pytest.raises(SourceError, match="netrc is not a netrc file") as raised:
        StoreAddress.parse("imaps://h/x", tmp_path).login()
    assert PASSWORD not in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.skipif(sys.platform == "win32", reason="rights are other things there")
def test_a_file_of_passwords_that_others_may_read_is_refused(tmp_path: Path) -> None:
    netrc(tmp_path / "netrc").chmod(0o640)
    with pytest.raises(SourceError, match=r"others may read .*netrc: chmod 600"):
        StoreAddress.parse("webdavs://127.0.0.1/x", tmp_path).login()


def test_a_server_cannot_send_a_request_elsewhere(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user named the one server; where it points to may lie in a private network."""
    with WebServer() as other, webdav(tmp_path, monkeypatch) as shared:
        shared.write("ferry.txt", b"The ferry stands by the water.\n")
        shared.moved_to = other.url("/secret")
        (row,) = add(kb, [shared.address]).rows
        assert (row.status, "redirects" in row.reason, other.asked) == ("failed", True, [])


def test_an_unknown_scheme_says_what_is_read(kb: KnowledgeBase) -> None:
    (row,) = add(kb, ["gopher://127.0.0.1/a"]).rows
    assert (row.uri, row.status) == ("gopher://127.0.0.1/a", "failed")
    assert "gopher" in row.reason
