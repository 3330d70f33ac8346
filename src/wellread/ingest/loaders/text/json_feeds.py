"""JSON Feed 1.0 and 1.1 (jsonfeed.org): one article for each item."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Source
from wellread.ingest.loaders.front_matter import moment, scalar, strings, web_address
from wellread.ingest.loaders.html.html import fragment_blocks
from wellread.ingest.loaders.plain import Blocks, decode, one_line, unwrapped, whole_words
from wellread.ingest.loaders.text.json_kinds import is_feed
from wellread.types import Document

logger = logging.getLogger(__name__)

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
        document = _document(source, feed, item, number)
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


def _document(source: Source, feed: Item, item: Item, number: int) -> Document | None:
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
        authors=_authors(item) or _authors(feed),
        published_at=moment(item.get("date_published")) or moment(item.get("date_modified")),
        summary=one_line(_words(item.get("summary"))),
        media_url=_media(item),
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


def _authors(holder: Item) -> tuple[str, ...]:
    """``authors`` of version 1.1, or the one ``author`` of version 1.0."""
    given = holder.get("authors") or [holder.get("author")]
    listed = given if isinstance(given, list) else [given]
    return strings([one.get("name") for one in listed if isinstance(one, dict)])


def _media(item: Item) -> str:
    attached = item.get("attachments")
    for one in attached if isinstance(attached, list) else []:
        kind = scalar(one.get("mime_type")) if isinstance(one, dict) else ""
        if kind.startswith(("audio/", "video/")):
            return web_address(scalar(one.get("url")))
    return ""
