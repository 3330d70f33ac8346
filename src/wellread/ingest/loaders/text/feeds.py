"""RSS, Atom and JSON Feed files: one article for each entry."""

from __future__ import annotations

import calendar
import io
import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import feedparser

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment, scalar, strings, web_address
from wellread.ingest.loaders.html.html import fragment_blocks, markup_text
from wellread.ingest.loaders.plain import Blocks, decode, one_line, unwrapped, whole_words
from wellread.ingest.loaders.text.json_kinds import is_feed
from wellread.types import Document

TITLE_CHARACTERS = 120

Item = Mapping[str, Any]


def items_of(source: Source) -> Iterator[Document]:
    """The items that have any words.

    Raises:
        SourceError: it is not a JSON Feed.
    """
    feed = _feed(source)
    taken: set[str] = set()
    for number, item in enumerate(feed["items"], 1):
        if not isinstance(item, dict):
            raise SourceError(source.uri, f"malformed feed: item {number} is not an object")
        document = _item_document(source, feed, item, number)
        if document is None:
            logger.info("%s: item %d has no words", source.uri, number)
            continue
        uri = document.uri if document.uri not in taken else f"{source.uri}#{number}"
        taken.add(uri)
        yield replace(document, uri=uri)


def _feed(source: Source) -> Item:
    try:
        feed = json.loads(decode(source))
    except json.JSONDecodeError as error:
        raise SourceError(
            source.uri, f"malformed JSON on line {error.lineno}: {error.msg}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(source.uri, f"malformed JSON: {str(error)[:100]}") from error
    if not isinstance(feed, dict) or not is_feed(feed):
        raise SourceError(source.uri, "not a feed: neither RSS nor Atom nor JSON Feed")
    return feed


def _item_document(source: Source, feed: Item, item: Item, number: int) -> Document | None:
    blocks = Blocks()
    title = one_line(_words(item.get("title")))
    _write(blocks, item)
    if blocks.empty:
        blocks.block(title)
    text, marks = blocks.build()
    if not text.strip():
        return None
    link = web_address(scalar(item.get("url"))) or web_address(scalar(item.get("external_url")))
    tags = strings(item.get("tags") or [])
    return Document(
        collection=source.collection,
        uri=link or scalar(item.get("id")) or f"{source.uri}#{number}",
        kind="article",
        title=title or text.partition("\n")[0][:TITLE_CHARACTERS],
        text=text,
        marks=marks,
        url=link,
        source_type="json-feed",
        language=(scalar(item.get("language")) or scalar(feed.get("language"))).lower(),
        authors=_item_authors(item) or _item_authors(feed),
        published_at=moment(item.get("date_published")) or moment(item.get("date_modified")),
        summary=one_line(_words(item.get("summary"))),
        media_url=_item_media(item),
        taxonomy={"tags": tags} if tags else {},
    )


def _write(blocks: Blocks, item: Item) -> None:
    """The fullest text that the item carries."""
    if markup := _words(item.get("content_html")):
        fragment_blocks(blocks, markup)
    if blocks.empty:
        plain = _words(item.get("content_text")) or _words(item.get("summary"))
        lines = plain.replace("\r\n", "\n").split("\n")
        words, begun = whole_words(lines), 0
        for at in range(len(lines) + 1):
            if at == len(lines) or not lines[at].strip():
                blocks.block(unwrapped(lines[begun:at], words)[0])
                begun = at + 1


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


def _item_authors(holder: Item) -> tuple[str, ...]:
    """``authors`` of version 1.1, or the one ``author`` of version 1.0."""
    given = holder.get("authors") or [holder.get("author")]
    listed = given if isinstance(given, list) else [given]
    return strings([one.get("name") for one in listed if isinstance(one, dict)])


def _item_media(item: Item) -> str:
    attached = item.get("attachments")
    for one in attached if isinstance(attached, list) else []:
        kind = scalar(one.get("mime_type")) if isinstance(one, dict) else ""
        if kind.startswith(("audio/", "video/")):
            return web_address(scalar(one.get("url")))
    return ""


logger = logging.getLogger(__name__)

HEAD_BYTES = 4096

_MAILED = re.compile(r"\s*[^\s@]{1,64}@[^\s@()]{1,255}\s+\((?P<name>[^()]*[^()\s])\)\s*")
_MARKUP = re.compile(r"<[A-Za-z/!]|&(?:#\d+|#x[0-9a-f]+|\w+);", re.IGNORECASE)


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """The entries that have any words. A valid feed without entries yields nothing."""
    if source.data[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        yield from items_of(source)
        return
    # A stream, not the bytes: feedparser would take short bytes for a file name. Its sanitiser
    # is left off because only the visible text is kept, never the markup.
    feed = feedparser.parse(io.BytesIO(source.data), sanitize_html=False)
    if feed.bozo and not feed.entries:
        reason = " ".join(str(feed.get("bozo_exception", "unknown format")).split())
        raise SourceError(source.uri, f"not a feed: {reason}"[:200])
    if not feed.version and not feed.entries:
        raise SourceError(source.uri, "not a feed: neither RSS nor Atom")
    if feed.bozo:
        logger.warning("%s: the feed is damaged (%s)", source.uri, feed.bozo_exception)
    source_type = "atom" if feed.version.startswith("atom") else "rss"
    # An Atom entry without an author is by the feed's (RFC 4287, 4.2.1); RSS has no such rule.
    inherited = _authors(feed.feed) if source_type == "atom" else ()
    taken: set[str] = set()
    for number, entry in enumerate(feed.entries, 1):
        document = _document(source, feed.feed, entry, number)
        if document is None:
            logger.info("%s: entry %d has no words", source.uri, number)
            continue
        uri = document.uri if document.uri not in taken else f"{source.uri}#{number}"
        taken.add(uri)
        yield replace(
            document,
            uri=uri,
            source_type=source_type,
            authors=document.authors or inherited,
        )


def _document(
    source: Source, feed: Mapping[str, Any], entry: Mapping[str, Any], number: int
) -> Document | None:
    title = " ".join(_plain(entry.get("title", "")).split())
    blocks = Blocks()
    _write_content(blocks, entry)
    if blocks.empty:
        blocks.block(title)
    text, marks = blocks.build()
    if not text.strip():
        return None
    link = web_address(entry.get("link", ""))
    return Document(
        collection=source.collection,
        uri=link or entry.get("id", "") or f"{source.uri}#{number}",
        kind="article",
        title=title or text.partition("\n")[0][:120],
        text=text,
        marks=marks,
        url=link,
        language=_language(entry, feed),
        authors=_authors(entry),
        published_at=_moment(entry),
        summary=_plain(entry.get("summary", "")) if entry.get("content") else "",
        media_url=_media(entry),
        taxonomy=_tags(entry),
    )


def _write_content(blocks: Blocks, entry: Mapping[str, Any]) -> None:
    """The fullest text that the entry carries: its content, else its summary."""
    contents = [part for part in entry.get("content", ()) if part.get("value", "").strip()]
    marked = [part for part in contents if "html" in part.get("type", "")]
    chosen = max(marked or contents, key=lambda part: len(part["value"]), default=None)
    value = chosen["value"] if chosen else entry.get("summary", "")
    if _MARKUP.search(value):
        fragment_blocks(blocks, value)
    else:
        for paragraph in re.split(r"\n\s*\n", value):
            blocks.block(" ".join(paragraph.split()))


def _plain(value: str) -> str:
    return markup_text(value) if _MARKUP.search(value) else value.strip()


def _language(entry: Mapping[str, Any], feed: Mapping[str, Any]) -> str:
    details = [*entry.get("content", ()), entry.get("title_detail") or {}]
    own = next((detail["language"] for detail in details if detail.get("language")), "")
    return str(entry.get("language") or own or feed.get("language") or "").lower()


def _authors(entry: Mapping[str, Any]) -> tuple[str, ...]:
    mailed = _MAILED.fullmatch(str(entry.get("author", "")))
    if mailed:  # feedparser cuts such a name when the address ends in a long domain
        return (mailed["name"],)
    named = [author.get("name", "") for author in entry.get("authors", ())]
    return strings([name for name in named if name] or entry.get("author", ""))


def _moment(entry: Mapping[str, Any]) -> datetime | None:
    """feedparser gives times in UTC."""
    parsed = entry.get("published_parsed") or entry.get("updated_parsed")
    if parsed is None:
        return None
    try:
        return datetime.fromtimestamp(calendar.timegm(parsed), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _media(entry: Mapping[str, Any]) -> str:
    for enclosure in entry.get("enclosures", ()):
        if str(enclosure.get("type", "")).startswith(("audio/", "video/")):
            return web_address(enclosure.get("href", ""))
    return ""


def _tags(entry: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    tags = strings([tag.get("label") or tag.get("term") or "" for tag in entry.get("tags", ())])
    return {"tags": tags} if tags else {}
