"""RSS, Atom and JSON Feed files: one article for each entry. OPML lists of feeds: no documents."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urljoin

import feedparser

from wellread.errors import SourceError
from wellread.ingest.loaders.archives import name_of, parse
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment, scalar, strings, web_address
from wellread.ingest.loaders.plain import Blocks, json_of, one_line, write_paragraphs
from wellread.ingest.loaders.text.html import MARKUP, fragment_blocks, plain_words
from wellread.ingest.loaders.text.html_blocks import without_scripts
from wellread.ingest.loaders.text.records import is_feed
from wellread.types import Document

TITLE_CHARACTERS = 120
HEAD_BYTES = 4096
LONGEST_DATE = 64

_MAILED = re.compile(r"\s*[^\s@]{1,64}@[^\s@()]{1,255}\s+\((?P<name>[^()]*[^()\s])\)\s*")
_BARE_AMPERSAND = re.compile(rb"&(?!#?\w{1,31};)")
_DAY_OR_MONTH = re.compile(r"\D*(?:0?[1-9]|1[0-2])[/-](?:0?[1-9]|1[0-2])[/-]\d{2,4}\b")

logger = logging.getLogger(__name__)

Item = Mapping[str, Any]


class _Entry(NamedTuple):
    """One entry: its words, what names it, and the further fields of its document."""

    title: str
    blocks: Blocks
    link: str
    id: str
    facts: Mapping[str, Any]


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """The entries that have any words. A valid feed without entries yields nothing."""
    is_json = source.data[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    taken: set[str] = set()
    for number, entry in enumerate(_json_items(source) if is_json else _xml_entries(source), 1):
        if entry.blocks.empty:
            entry.blocks.block(entry.title)
        text, marks = entry.blocks.build()
        if not text.strip():
            logger.info("%s: entry %d has no words", source.uri, number)
            continue
        uri = entry.link or entry.id
        uri = uri if uri and uri not in taken else f"{source.uri}#{number}"
        taken.add(uri)
        title = entry.title or text.partition("\n")[0][:TITLE_CHARACTERS]
        yield source.document(
            (text, marks), uri=uri, kind="article", title=title, url=entry.link, **entry.facts
        )


# --- JSON Feed -------------------------------------------------------------------------------


def _json_items(source: Source) -> Iterator[_Entry]:
    feed = json_of(source)
    if not isinstance(feed, dict) or not is_feed(feed):
        raise SourceError(source.uri, "not a feed: neither RSS nor Atom nor JSON Feed")
    base = web_address(scalar(feed.get("home_page_url"))) or web_address(source.uri)
    for number, item in enumerate(feed["items"], 1):
        if not isinstance(item, dict):
            raise SourceError(source.uri, f"malformed feed: item {number} is not an object")
        blocks = Blocks()
        fragment_blocks(blocks, _words(item, "content_html"))
        if blocks.empty:
            plain = _words(item, "content_text") or _words(item, "summary")
            write_paragraphs(blocks, without_scripts(plain))
        yield _Entry(
            title=one_line(without_scripts(_words(item, "title"))),
            blocks=blocks,
            link=_joined(scalar(item.get("url")) or scalar(item.get("external_url")), base),
            id=scalar(item.get("id")),
            facts={
                "source_type": "json-feed",
                "language": (scalar(item.get("language")) or scalar(feed.get("language"))).lower(),
                "authors": _item_authors(item) or _item_authors(feed),
                "published_at": moment(item.get("date_published"))
                or moment(item.get("date_modified")),
                "summary": one_line(without_scripts(_words(item, "summary"))),
                "media_url": _media(item.get("attachments"), ("mime_type", "url"), base),
                "taxonomy": _tags(strings(item.get("tags") or [])),
            },
        )


def _words(item: Item, name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _item_authors(holder: Item) -> tuple[str, ...]:
    """``authors`` of version 1.1, or the one ``author`` of version 1.0."""
    given = holder.get("authors") or [holder.get("author")]
    listed = given if isinstance(given, list) else [given]
    return strings([one.get("name") for one in listed if isinstance(one, dict)])


def _media(attached: object, names: tuple[str, str], base: str) -> str:
    """The address of the first recording, by the names of the fields with its kind and address."""
    kind, address = names
    for one in attached if isinstance(attached, list) else []:
        if isinstance(one, dict) and scalar(one.get(kind)).startswith(("audio/", "video/")):
            return _joined(scalar(one.get(address)), base)
    return ""


def _joined(address: str, base: str) -> str:
    """A web address, also one that is written from the feed's own page on ("/2026/ferry")."""
    try:
        return web_address(urljoin(base, address.strip())) if address.strip() else ""
    except ValueError:  # a host in brackets that is none
        return ""


def _tags(tags: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {"tags": tags} if tags else {}


# --- RSS and Atom ----------------------------------------------------------------------------


def _xml_entries(source: Source) -> Iterator[_Entry]:
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
    base = web_address(str(feed.feed.get("link") or "")) or web_address(source.uri)
    for number, entry in enumerate(feed.entries, 1):
        try:
            made = _xml_entry(entry, feed.feed, base)
        except (AttributeError, KeyError, TypeError) as error:
            # An element called like one of the parser's own lists ("links") takes its place.
            raise SourceError(source.uri, f"entry {number} of the feed is damaged") from error
        authors = made.facts["authors"] or inherited
        yield made._replace(facts={**made.facts, "authors": authors, "source_type": source_type})


def _xml_entry(entry: Item, feed: Item, base: str) -> _Entry:
    tags = [tag.get("label") or tag.get("term") or "" for tag in entry.get("tags", ())]
    return _Entry(
        title=" ".join(plain_words(entry.get("title", "")).split()),
        blocks=_content(entry),
        link=_joined(entry.get("link", ""), base),
        id=entry.get("id", ""),
        facts={
            "language": _language(entry, feed),
            "authors": _authors(entry),
            "published_at": _moment(entry),
            "summary": plain_words(entry.get("summary") or "") if entry.get("content") else "",
            "media_url": _media(entry.get("enclosures"), ("type", "href"), base),
            "taxonomy": _tags(strings(tags)),
        },
    )


def _content(entry: Item) -> Blocks:
    """The fullest text that the entry carries: its content, else its summary."""
    blocks = Blocks()
    contents = [part for part in entry.get("content", ()) if (part.get("value") or "").strip()]
    marked = [part for part in contents if "html" in part.get("type", "")]
    chosen = max(marked or contents, key=lambda part: len(part["value"]), default=None)
    value = chosen["value"] if chosen else entry.get("summary") or ""
    if MARKUP.search(value):
        fragment_blocks(blocks, value)
    else:
        for paragraph in re.split(r"\n\s*\n", value):
            blocks.block(" ".join(paragraph.split()))
    return blocks


def _language(entry: Item, feed: Item) -> str:
    details = [*entry.get("content", ()), entry.get("title_detail") or {}]
    own = next((detail["language"] for detail in details if detail.get("language")), "")
    return str(entry.get("language") or own or feed.get("language") or "").lower()


def _authors(entry: Item) -> tuple[str, ...]:
    mailed = _MAILED.fullmatch(str(entry.get("author", "")))
    if mailed:  # feedparser cuts such a name when the address ends in a long domain
        return (mailed["name"],)
    named = [author.get("name", "") for author in entry.get("authors", ())]
    return strings([name for name in named if name] or entry.get("author", ""))


def _moment(entry: Item) -> datetime | None:
    """When it was published, else last changed. feedparser takes 2026/03/15 for 1 November."""
    told = [scalar(entry[name]) for name in ("published", "updated") if name in entry]
    return next(filter(None, map(_written, told)), None)


@lru_cache(maxsize=1_000)
def _written(text: str) -> datetime | None:
    """A date as blogs write it, in any language; none where a day could be a month ("3/4/2026")."""
    found = moment(text)
    if found or not text or len(text) > LONGEST_DATE or _DAY_OR_MONTH.match(text):
        return found
    from dateparser import parse as read  # noqa: PLC0415 - slow to import

    how = {"STRICT_PARSING": True, "PARSERS": ["absolute-time"], "DATE_ORDER": "DMY"}
    return moment(read(text, settings=how))


# --- OPML: lists of feeds, as feed readers export them ---------------------------------------


def feeds_of(data: bytes, uri: str) -> list[str]:
    """The addresses of the feeds that an OPML file names, each once, in the file's order.

    Addresses that are neither http nor https are left out, with a warning.
    """
    try:
        root = parse(data, uri)
    except SourceError as error:
        # Lists written by hand have addresses with a bare "&" in them.
        root = parse(_BARE_AMPERSAND.sub(b"&amp;", data), uri, repair=True)
        logger.warning("%s: the list is damaged (%s)", uri, error.reason)
    if name_of(root).lower() != "opml":
        raise SourceError(uri, f"not OPML: the root element is {name_of(root)[:40]}")
    found: list[str] = []
    for element in root.iter():
        given = element.attrib.items() if name_of(element).lower() == "outline" else ()
        for address in (str(value).strip() for name, value in given if name.lower() == "xmlurl"):
            if url := _joined(address, uri):
                found.append(url)
            elif address:
                logger.warning("%s: not a web address: %.200s", uri, address)
    return list(dict.fromkeys(found))
