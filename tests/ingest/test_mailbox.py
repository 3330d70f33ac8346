"""A mailbox on a real IMAP server: messages come, change their place and go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doubles.remote_stores import MailServer, imap
from tests.ingest.conftest import found

from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    with imap(tmp_path, monkeypatch) as made:
        for subject in ("Ferry", "Mill"):
            made.send("News", subject, f"The {subject.lower()} stands by the water.")
        yield made


def titles(kb: KnowledgeBase) -> dict[str, str]:
    """The last part of each document's address to its title."""
    return {each.uri.split("/", 3)[-1]: each.title for each in kb.catalogue.documents("default")}


def test_messages_come_move_and_go(kb: KnowledgeBase, server: MailServer) -> None:
    server.send("News/Weekly", "Quay", "The quay stands by the water.")
    server.send("Newsroom", "Pier", "The pier is not ours.")
    address = f"{server.address}/News"
    assert [row.status for row in add(kb, [address]).rows] == ["added"] * 3
    assert titles(kb) == {
        "News/;UID=101": "Ferry",
        "News/;UID=102": "Mill",
        "News/Weekly/;UID=101": "Quay",
    }
    (document,) = [each for each in kb.catalogue.documents("default") if each.title == "Mill"]
    assert document.source_type == "email"
    assert found(kb, "quay") == ["The quay stands by the water."]
    server.line.sent = b""
    assert {row.status for row in add(kb, [address]).rows} == {"unchanged"}
    assert b"FETCH" not in server.line.sent
    assert b"STORE" not in server.line.sent
    server.delete("News", 2, moved_to="News/Weekly")
    server.delete("News", 1, expunge=False)  # only marked
    server.send("News", "Well", "The well stands by the road.")
    sync(kb, [address])
    assert titles(kb) == {
        "News/;UID=103": "Well",
        "News/Weekly/;UID=101": "Quay",
        "News/Weekly/;UID=102": "Mill",
    }
    assert verify(kb).problems == ()


def test_a_server_that_is_away_or_goes_away_removes_nothing(
    kb: KnowledgeBase, server: MailServer
) -> None:
    address = f"{server.address}/News"
    add(kb, [address])
    server.delete("News", 2)
    server.line.allowed = 0
    assert [row.status for row in sync(kb, [address]).rows] == ["failed"]
    server.line.allowed = None
    server.send("News", "Long", "The harbour goes on.\n" * 20_000)
    for number in range(4, 9):
        server.send("News", f"Short {number}", "The lock is shut.")
    server.line.allowed, server.line.mends = 100_000, True  # ends inside the long message
    rows = {row.uri[-3:]: row.status for row in sync(kb, [address]).rows}
    assert (rows.pop("101"), rows.pop("102"), rows.pop("103")) == ("unchanged", "removed", "failed")
    assert "added" in rows.values()  # over a new connection
    assert {row.uri[-3:]: row.status for row in sync(kb, [address]).rows}["103"] == "added"
    assert {"Ferry", "Long", "Short 4", "Short 8"} <= {*titles(kb).values()}
    assert "Mill" not in titles(kb).values()


def test_a_mailbox_that_was_made_anew_is_read_anew(kb: KnowledgeBase, server: MailServer) -> None:
    address = f"{server.address}/News"
    add(kb, [address])
    with server.client() as client:
        client.delete("News")
    for subject in ("Ferry", "Pier"):  # with the same UIDs, under another UIDVALIDITY
        server.send("News", subject, f"The {subject.lower()} stands by the water.")
    assert [row.status for row in sync(kb, [address]).rows] == ["unchanged", "updated"]
    assert titles(kb) == {"News/;UID=101": "Ferry", "News/;UID=102": "Pier"}


def test_an_address_without_a_mailbox_names_those_there_are(
    kb: KnowledgeBase, server: MailServer
) -> None:
    for address in (server.address, f"{server.address}/Nwes"):
        (row,) = add(kb, [address]).rows
        assert row.status == "failed"
        assert "INBOX, News" in row.reason


def test_the_certificate_of_the_server_is_checked(
    kb: KnowledgeBase, server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    (row,) = add(kb, [f"{server.address}/News"]).rows
    assert (row.status, "CERTIFICATE_VERIFY_FAILED" in row.reason) == ("failed", True)
