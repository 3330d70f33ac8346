"""E-mail: messages, mailboxes, attachments, messages of Outlook, and saved web pages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.message import EmailMessage
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oxmsg import Message as OutlookMessage

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.loaders.text import mail
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, check_document, source_of
from wellread.types import Document


def message(text: str, markup: str = "", **headers: str) -> EmailMessage:
    made = EmailMessage()
    given_headers = {"From": "Ida Lund <ida@mole.example>", "To": "bo@mole.example", **headers}
    for name, value in given_headers.items():
        made[name.replace("_", "-")] = value
    made.set_content(text)
    if markup:
        made.add_alternative(markup, subtype="html")
    return made


def load(name: str, data: bytes | str) -> tuple[list[Document], str]:
    source = source_of(name, data)
    return kinds.load(source, LoaderLimits()), "; ".join(source.remarks)


LAMP = message(
    "Dear Bo,\nthe new lamp for the mole costs 88 crowns and comes with a spare glass in April.\n",
    "<p>Dear Bo,<br>the new lamp for the mole costs 88 crowns.</p>",
    Subject="Lampe für die Mole",
    Date="Mon, 2 Feb 2026 09:12:00 +0100",
    Message_ID="<one@mole.example>",
)


class TestMessage(LoaderContract):
    good = source_of("lamp.eml", bytes(LAMP))
    expected_kind = "page"
    quotes = (("the new lamp for the mole costs 88 crowns", {"line": None}),)
    broken = (source_of("words.eml", "No header stands here.\n"), source_of("a.eml", b"\x00\xff"))


def test_headers_are_facts_and_the_body_is_told_once() -> None:
    ((found,), note) = load("lamp.eml", bytes(LAMP))
    assert (found.title, found.authors) == ("Lampe für die Mole", ("Ida Lund",))
    assert found.published_at == datetime(2026, 2, 2, 8, 12, tzinfo=UTC)
    assert found.taxonomy == {"thread": ("one@mole.example",)}
    assert found.text.count("88 crowns") == 1
    assert "mole.example" not in found.text
    assert note == ""


def test_a_mailbox_has_a_document_for_each_message_and_threads_hold_together() -> None:
    reply = message(
        "Order it.\n\nFrom here on I pay.\n",
        Subject="Re: Lampe",
        Date="Tue, 3 Feb 2026 10:00:00 +0100",
        Message_ID="<two@mole.example>",
        In_Reply_To="<one@mole.example>",
        List_Id="<crew.mole.example>",
    )
    stamp = b"From ida@mole.example Mon Feb  2 09:12:00 2026\n"
    escaped = bytes(reply).replace(b"\nFrom here", b"\n>From here")
    found, _ = load("crew.mbox", stamp + bytes(LAMP) + b"\n" + stamp + escaped)
    assert [document.kind for document in found] == ["page", "article"]
    assert len({document.uri for document in found}) == 2
    assert {document.taxonomy["thread"] for document in found} == {("one@mole.example",)}
    assert found[1].text == "Order it.\n\nFrom here on I pay."


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("Yes, take it.\n\nOn Mon, 2 Feb 2026, Ida Lund wrote:\n> It costs 88 crowns.\n", ""),
        ("Ja, nimm es.\n\nAm 02.02.2026 um 09:12 schrieb Ida Lund:\n\n> It costs 88 crowns.\n", ""),
        ("On 2 Feb 2026, Ida Lund wrote:\n> It costs 88 crowns.\n\nYes, take it.\n", ""),
        ("Ida wrote:\n> It costs 88 crowns.\n\nYes, take it.\n", ""),
        ("> It costs 88 crowns.\n\nYes, take it.\n", ""),
        (
            "",
            "<div>Yes, take it.</div><div class='gmail_quote'>On Mon, 2 Feb 2026, Ida Lund wrote:"
            "<blockquote>It costs 88 crowns.</blockquote></div>",
        ),
    ],
)
def test_what_is_quoted_comes_last_and_apart(text: str, markup: str) -> None:
    made = message(text, Subject="Re: Lamp")
    if markup:
        made.set_content(markup, subtype="html")
    ((found,), _) = load("re.eml", bytes(made))
    own, _, quoted = found.text.partition(f"\n\n{mail.QUOTED}\n\n")
    assert "88 crowns" in quoted
    assert "88 crowns" not in own
    assert "take it" in own or "nimm es" in own


def test_attachments_are_documents_or_named_with_the_reason() -> None:
    made = message("See below.\n", Subject="Papers")
    made.add_attachment(b"item,crowns\nrope,7\n", "text", "csv", filename="../prices.csv")
    made.add_attachment(b"\x00\x01", "application", "octet-stream", filename="tool.exe")
    made.add_attachment(b"%PDF-1.7 cut", "application", "pdf", filename="cut.pdf")
    made.add_attachment(b"item,crowns\nsail,9\n", "text", "csv", filename="../prices.csv")
    made.add_attachment(LAMP)
    found, note = load("papers.eml", bytes(made))
    assert [(d.title, d.source_type) for d in found] == [
        ("Papers", "email"),
        (".. prices", "csv"),
        (".. prices", "csv"),
        ("Lampe für die Mole", "email"),
    ]
    assert len({document.uri for document in found}) == 4
    assert all(document.uri.startswith("file:///shelf/papers.eml") for document in found)
    assert "tool.exe (unsupported file type)" in note
    assert "cut.pdf (" in note


def test_a_message_with_nothing_that_is_read_says_so() -> None:
    made = message("", Subject="Empty")
    made.add_attachment(b"\x00", "application", "octet-stream", filename="tool.exe")
    with pytest.raises(SourceError, match="nothing in it is read: tool"):
        load("empty.eml", bytes(made))


@given(st.binary(max_size=300), st.sampled_from(["eml", "mbox", "msg", "mhtml"]))
def test_no_bytes_crash(noise: bytes, ending: str) -> None:
    data = b"Subject: =?utf-8?q?=C3?=\nContent-Type: multipart/mixed; boundary=b\n" + noise
    source = source_of(f"a.{ending}", data)
    with suppress(SourceError):
        for document in kinds.load(source, LoaderLimits()):
            check_document(document, source)


def outlook(**facts: Any) -> SimpleNamespace:
    blank: dict[str, Any] = {"subject": "Lamp", "sender": "Ida Lund <ida@mole.example>"}
    blank |= {"message_headers": {"Message-ID": "<one@mole.example>"}, "attachments": ()}
    blank |= {"sent_date": datetime(2026, 2, 2, tzinfo=UTC), "body": "It costs 88 crowns.\r\n"}
    return SimpleNamespace(**{**blank, "html_body": None, **facts})


def test_a_message_of_outlook_is_read_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    files: Sequence[SimpleNamespace] = (
        SimpleNamespace(file_name="note.txt", file_bytes=b"The glass is spare."),
        SimpleNamespace(file_name="link", file_bytes=None),
    )
    monkeypatch.setattr(OutlookMessage, "load", lambda stream: outlook(attachments=files))
    found, _ = load("lamp.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert [document.text for document in found] == ["It costs 88 crowns.", "The glass is spare."]
    assert found[0].authors == ("Ida Lund",)
    assert found[0].published_at == datetime(2026, 2, 2, tzinfo=UTC)


def test_a_saved_page_is_read_as_the_page() -> None:
    page = "<html><title>Mole</title><p>The mole is closed in the month of May.</p></html>"
    made = message("", Subject="Mole", Snapshot_Content_Location="https://mole.example/news")
    made.set_content(page, subtype="html")
    ((found,), _) = load("mole.mhtml", bytes(made))
    assert (found.title, found.url) == ("Mole", "https://mole.example/news")
    assert found.text == "The mole is closed in the month of May."
    with pytest.raises(SourceError, match="not a saved page"):
        load("text.mhtml", bytes(message("No page.")))
