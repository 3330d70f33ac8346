"""Loads e-mail: saved messages, mailboxes, messages of Outlook, and web pages saved as MHTML.

A message is a document: subject, sender and date are its fields, and its body is read once, from
the text or else from the HTML. What it quotes of earlier messages comes last, under a heading of
its own, so that nobody is quoted for words of another. Attachments become sources of their own.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import getaddresses
from typing import Any, cast

from lxml.etree import LxmlError
from lxml.html import HtmlElement, fromstring, tostring
from mailparser_reply import EmailReplyParser
from mailparser_reply.constants import MAIL_LANGUAGES
from oxmsg import Message as OutlookMessage

from wellread.errors import SourceError
from wellread.ingest.loaders.base import EmptyError, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import parse_moment, strings, web_address
from wellread.ingest.loaders.plain import Blocks, one_line, title_from_name, write_paragraphs
from wellread.ingest.loaders.text import html
from wellread.types import Document

MAX_WRAPPED = 80  # characters; programs wrap lines below this, longer ones are paragraphs
_BELOW = ":is(#divRplyFwdMsg, #appendonsend)"  # Outlook quotes all that follows it
_QUOTES = ".gmail_quote, .yahoo_quoted, .protonmail_quote, blockquote[type=cite]"
QUOTED = "Quoted"  # the heading over what a message quotes of earlier ones
# The line between two messages of a mailbox; only with a time at its end (RFC 4155).
_SEPARATOR = re.compile(
    rb"^From [^\n]*\d{1,2}:\d\d[^\n]*\d{4}[^\n]*\r?\n(?=[!-9;-~]+:)", re.MULTILINE
)
_ESCAPED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
_HEADER = re.compile(rb"(?:From [^\n]*\n)?[!-9;-~]+:[ \t]*\S")


def _documents(
    source: Source, text: str, markup: str, attachments: Sequence[tuple[str, bytes]], **facts: Any
) -> Iterator[Document | Source]:
    """Yield a message, unless it is only a cover of attachments, and its attachments."""
    blocks = Blocks()
    for own in (True, False):
        if text.strip():
            told = "\n".join(line for is_own, line in _lines(text) if is_own == own).strip("\n")
        else:
            told = _markup_of(markup, own=own) if markup else ""
        if not own and (told if text.strip() else html.plain_words(told)).strip():
            blocks.heading(1, QUOTED)
        if text.strip() and max(map(len, text.split("\n"))) > MAX_WRAPPED:
            for paragraph in re.split(r"\n\s*\n", told):
                blocks.block(paragraph.rstrip())
        elif text.strip():
            write_paragraphs(blocks, told)
        else:
            html.page_blocks(blocks, told, source.uri)
    title = one_line(facts.pop("title")) or title_from_name(source.name)
    if not blocks.empty:
        yield source.document(blocks.build(), title=title, source_type="email", **facts)
    for number, (name, data) in enumerate(attachments, 1):
        yield source.member(one_line(name.replace("/", "_")) or f"attachment {number}", data)


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    """Yield each line of a message, and whether it is its own or quoted."""
    for part in EmailReplyParser(languages=list(MAIL_LANGUAGES)).read(text=text).replies:
        lines = [*part.content.split("\n"), ""]
        own = not part.headers
        signs = [number for number, line in enumerate(lines) if line.startswith(">")]
        answer = len(lines) if not signs else signs[-1] + 1  # what stands below a quotation
        for number, line in enumerate(lines):
            is_own = not line.startswith(">") and (own or number >= answer)
            yield is_own, re.sub(r"^(?:> ?)+", "", line)


def _markup_of(markup: str, *, own: bool) -> str:
    """Return the HTML without what it quotes, or that alone, by the marks of mail programs."""
    try:
        tree = fromstring(markup)
    except LxmlError:  # nothing but comments
        return ""
    quoted = {*tree.cssselect(f"{_BELOW}, {_BELOW} ~ *, {_QUOTES}")}
    outer = [node for node in quoted if quoted.isdisjoint(node.iterancestors())]
    if not own:
        outer.sort(key=[*tree.iter()].index)
        return "".join(tostring(node, encoding="unicode", with_tail=False) for node in outer)
    for node in outer:
        cast(HtmlElement, node).drop_tree()
    return str(tostring(tree, encoding="unicode"))


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
        data = _ESCAPED.sub(b"", source.data[begin:end])
        message = message_from_bytes(data, policy=policy.default)
        ids = _MESSAGE_ID.findall(_value(message, "message-id"))
        key = ids[0] if ids and ids[0] not in seen else str(number)
        seen.add(key)
        uri = source.uri if len(starts) == 1 else f"{source.uri}#{key}"
        yield from _message(replace(source, uri=uri), message)


def _message(source: Source, message: EmailMessage) -> Iterator[Document | Source]:
    plain, markup = message.get_body(("plain",)), message.get_body(("html",))
    attached = [_attachment(part) for part in message.walk() if part not in (plain, markup)]
    files = [file for file in attached if file]
    yield from _documents(source, _content(plain), _content(markup), files, **_facts(message))


def _facts(message: Any) -> dict[str, Any]:
    """Return the facts of a message in its headers; ``thread`` is the id of the first message."""
    names = ("references", "in-reply-to", "message-id")
    ids = [found for name in names for found in _MESSAGE_ID.findall(_value(message, name))]
    sender = _value(message, "from")
    people = getaddresses([sender]) if "@" in sender else [(sender, "")]
    is_list = any(name in message for name in ("list-id", "list-unsubscribe"))
    return {
        "kind": "article" if is_list else "page",
        "title": _value(message, "subject"),
        "authors": strings([name or address for name, address in people]),
        "published_at": parse_moment(_value(message, "date")),
        "taxonomy": {"thread": (ids[0],)} if ids else {},
    }


def _value(message: Any, name: str) -> str:
    """Return a header as text; empty if it is missing or too damaged to read."""
    with suppress(ValueError, IndexError, AttributeError, TypeError, LookupError):
        return one_line(str(message.get(name) or ""))
    return ""


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
    facts = _facts({"subject": message.subject, "from": message.sender, **headers})
    facts["published_at"] = parse_moment(message.sent_date) or facts["published_at"]
    attached = [(file.file_name or "", file.file_bytes) for file in message.attachments]
    files = [(name, data) for name, data in attached if data is not None]
    text = (message.body or "").replace("\r\n", "\n")
    yield from _documents(source, text, message.html_body or "", files, **facts)


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
