"""Loads e-mail: saved messages, mailboxes, messages of Outlook, and web pages saved as MHTML.

A message is a document: subject, sender and date are its fields, and its body is read once, from
the text or else from the HTML. What it quotes of earlier messages comes last, under a heading of
its own, so that nobody is quoted for words of another. Attachments become sources of their own.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage, Message, MIMEPart
from email.utils import getaddresses
from typing import Any

from oxmsg import Message as OutlookMessage
from quotequail import quote, quote_html

from wellread.errors import SourceError
from wellread.ingest.loaders.base import EmptyError, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import parse_moment, web_address
from wellread.ingest.loaders.plain import Blocks, one_line, title_from_name, write_paragraphs
from wellread.ingest.loaders.text import html
from wellread.types import Document

MAX_LINES = 1_000_000  # of a message; the rest would be taken for quoted
QUOTED = "Quoted"  # the heading over what a message quotes of earlier ones
# The line between two messages of a mailbox; only with a time at its end (RFC 4155).
_SEPARATOR = re.compile(
    rb"^From [^\n]*\d{1,2}:\d\d[^\n]*\d{4}[^\n]*\r?\n(?=[!-9;-~]+:)", re.MULTILINE
)
_ESCAPED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
_HEADER = re.compile(rb"(?:From [^\n]*\n)?[!-9;-~]+:[ \t]*\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mail:
    """A message of any format; ``thread`` is the id of the message that it goes back to."""

    subject: str = ""
    authors: tuple[str, ...] = ()
    sent: datetime | None = None
    text: str = ""
    markup: str = ""
    id: str = ""
    thread: str = ""
    is_list: bool = False
    attachments: Sequence[tuple[str, bytes]] = field(default_factory=tuple)

    def read(self, source: Source, uri: str) -> Iterator[Document | Source]:
        """Yield the message, unless it is only a cover of attachments, and the attachments."""
        blocks = Blocks()
        self._write(blocks, source.uri)
        holder = replace(source, uri=uri)
        built = blocks.build()
        if built[0].strip():
            yield holder.document(
                built,
                kind="article" if self.is_list else "page",
                title=one_line(self.subject) or title_from_name(source.name),
                source_type="email",
                authors=self.authors,
                published_at=self.sent,
                taxonomy={"thread": (self.thread,)} if self.thread else {},
            )
        for number, (name, data) in enumerate(self.attachments, 1):
            yield holder.member(one_line(name.replace("/", "_")) or f"attachment {number}", data)

    def _write(self, blocks: Blocks, uri: str) -> None:
        """Write the body, and then what it quotes."""
        if self.text.strip():
            parts = list(_unquoted(quote(self.text, limit=MAX_LINES, quote_intro_line=True)))
            for is_own in (True, False):
                told = "\n".join(text for own, text in parts if own == is_own)
                if told.strip() and not is_own:
                    blocks.heading(1, QUOTED)
                write_paragraphs(blocks, told.strip("\n"))
            return
        pages = (
            quote_html(self.markup, limit=MAX_LINES, quote_intro_line=True) if self.markup else []
        )
        for is_own in (True, False):
            told = "".join(markup for own, markup in pages if own == is_own)
            if not is_own and html.plain_words(told).strip():
                blocks.heading(1, QUOTED)
            html.page_blocks(blocks, told, uri)


def _unquoted(parts: Sequence[tuple[bool, str]]) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a text, own (True) or quoted, each line with ``>`` counted as quoted."""
    for own, part in parts:
        has_signs = any(line.startswith(">") for line in part.split("\n"))
        is_below = False  # below the line that introduces the quotation
        for line in part.split("\n") if has_signs else ():
            is_quoted = line.startswith(">")
            is_below = is_below or is_quoted
            yield not is_quoted and (own or is_below), re.sub(r"^(?:> ?)+", "", line)
        if not has_signs:
            yield own, part


def load(source: Source, limits: LoaderLimits) -> Iterator[Document | Source]:  # noqa: ARG001 the seam's
    """Load a saved message, or each message of a mailbox."""
    if not _HEADER.match(source.data.lstrip()):
        raise SourceError(source.uri, "not an e-mail: the file does not begin with headers")
    starts = [match.span() for match in _SEPARATOR.finditer(source.data)]
    if not starts or source.data[: starts[0][0]].strip():  # a single message
        starts = [(0, 0)]
    ends = [begin for begin, _ in starts[1:]] + [len(source.data)]
    seen: set[str] = set()
    for number, ((_, begin), end) in enumerate(zip(starts, ends, strict=True), 1):
        mail = _parsed(_ESCAPED.sub(b"", source.data[begin:end]))
        key = mail.id if mail.id and mail.id not in seen else str(number)
        seen.add(key)
        yield from mail.read(source, source.uri if len(starts) == 1 else f"{source.uri}#{key}")


def _parsed(data: bytes) -> _Mail:
    message = message_from_bytes(data, policy=policy.default)
    plain, markup = message.get_body(("plain",)), message.get_body(("html",))
    body = {id(part) for part in (plain, markup) if part is not None}
    ids, thread = _ids(message)
    return _Mail(
        subject=_value(message, "subject"),
        authors=_people(_value(message, "from")),
        sent=parse_moment(_value(message, "date")),
        text=_content(plain),
        markup=_content(markup),
        id=ids,
        thread=thread,
        is_list=any(name in message for name in ("list-id", "list-unsubscribe")),
        attachments=[
            attachment
            for part in message.walk()
            if id(part) not in body and (attachment := _attachment(part))
        ],
    )


_Headers = Mapping[str, object] | Message[Any, Any]


def _ids(message: _Headers) -> tuple[str, str]:
    """Return the message's id, and the id of the first message of its thread."""
    values = [_value(message, name) for name in ("message-id", "in-reply-to", "references")]
    own, replied, earlier = (_MESSAGE_ID.findall(value) for value in values)
    return next(iter(own), ""), next(iter([*earlier, *replied, *own]), "")


def _value(message: _Headers, name: str) -> str:
    """Return a header as text; empty if it is missing or too damaged to read."""
    with suppress(ValueError, IndexError, AttributeError, TypeError, LookupError):
        return one_line(str(message.get(name) or ""))
    return ""


def _people(value: str) -> tuple[str, ...]:
    pairs = getaddresses([value])
    return tuple(dict.fromkeys(name or address for name, address in pairs if name or address))


def _content(part: MIMEPart[Any, Any] | None) -> str:
    if part is None:
        return ""
    try:
        content = part.get_content()
    except (LookupError, ValueError):  # an unknown charset
        content = part.get_payload(decode=True)
    text = content.decode(errors="replace") if isinstance(content, bytes) else str(content)
    return text.replace("\r\n", "\n")


def _attachment(part: EmailMessage) -> tuple[str, bytes] | None:
    """Return name and bytes of an attached file or message; pictures of the layout do not count."""
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0) if part.is_multipart() else None
        if not isinstance(inner, EmailMessage):
            return None
        return f"{_value(inner, 'subject') or 'message'}.eml", bytes(inner)
    name = part.get_filename("")
    data = part.get_payload(decode=True)
    if part.is_multipart() or not name or not isinstance(data, bytes) or part.get("content-id"):
        return None
    return name, data


def load_msg(source: Source, limits: LoaderLimits) -> Iterator[Document | Source]:  # noqa: ARG001
    """Load a message saved by Outlook."""
    message = OutlookMessage.load(io.BytesIO(source.data))
    headers = {name.lower(): value for name, value in message.message_headers.items()}
    sender = message.sender or headers.get("from", "")
    mail = _Mail(
        subject=message.subject or "",
        authors=_people(sender) or ((sender,) if sender else ()),
        sent=parse_moment(message.sent_date) or parse_moment(headers.get("date")),
        text=(message.body or "").replace("\r\n", "\n"),
        markup=message.html_body or "",
        thread=_ids(headers)[1],
        is_list="list-id" in headers or "list-unsubscribe" in headers,
        attachments=[
            (attachment.file_name or "", attachment.file_bytes)
            for attachment in message.attachments
            if attachment.file_bytes is not None
        ],
    )
    yield from mail.read(source, source.uri)


def load_mhtml(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load a web page that a browser saved with its pictures (MHTML)."""
    message = message_from_bytes(source.data, policy=policy.default)
    pages = [part for part in message.walk() if part.get_content_type() == "text/html"]
    if not pages:
        raise SourceError(source.uri, "not a saved page: no part is HTML")
    markup = _content(pages[0])
    if not markup.strip():
        raise EmptyError(source.uri, "no text: the saved page is empty")
    address = web_address(_value(message, "snapshot-content-location")) or web_address(
        _value(pages[0], "content-location")
    )
    page = replace(source, data=b"\xef\xbb\xbf" + markup.encode("utf-8", "replace"))
    for document in html.load(page, limits):
        yield replace(document, url=document.url or address)
