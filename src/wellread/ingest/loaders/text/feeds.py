"""Loads RSS, Atom and JSON Feed files (one article per entry), and reads OPML lists of feeds."""

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
from wellread.ingest.loaders.front_matter import parse_moment, scalar, strings, web_address
from wellread.ingest.loaders.plain import Blocks, one_line, parse_json, write_paragraphs
from wellread.ingest.loaders.text.html import MARKUP, fragment_blocks, plain_words
from wellread.ingest.loaders.text.html_visible import without_scripts
from wellread.ingest.loaders.text.records import is_feed
from wellread.types import Document

TITLE_CHARACTERS = 120
HEAD_BYTES = 4096
MAX_DATE_CHARS = 64

_MAILED = re.compile(r"\s*[^\s@]{1,64}@[^\s@()]{1,255}\s+\((?P<name>[^()]*[^()\s])\)\s*")
# Escaped twice, so that its words would be a comment.
_CDATA = re.compile(rb">\s*&lt;!\[CDATA\[((?:(?!\]\]&gt;|&lt;!\[).)*)\]\]&gt;\s*</", re.DOTALL)
_BARE_AMPERSAND = re.compile(rb"&(?!#?\w{1,31};)")
_DAY_OR_MONTH = re.compile(r"\D*(?:0?[1-9]|1[0-2])[/-](?:0?[1-9]|1[0-2])[/-]\d{2,4}\b")

logger = logging.getLogger(__name__)

Item = Mapping[str, Any]


class _Entry(NamedTuple):
    """One entry: its text, its identifiers, and further fields of its document."""

    title: str
    blocks: Blocks
    link: str
    id: str
    facts: Mapping[str, Any]


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load the entries with text; a valid feed without entries yields nothing."""
    is_json = source.data[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    uris: set[str] = set()
    for number, entry in enumerate(_json_items(source) if is_json else _xml_entries(source), 1):
        if entry.blocks.empty:
            entry.blocks.block(entry.title)
        text, marks = entry.blocks.build()
        if not text.strip():
            logger.info("%s: entry %d has no words", source.uri, number)
            continue
        uri = entry.link or entry.id
        uri = uri if uri and uri not in uris else f"{source.uri}#{number}"
        uris.add(uri)
        title = entry.title or text.partition("\n")[0][:TITLE_CHARACTERS]
        yield source.document(
            (text, marks), uri=uri, kind="article", title=title, url=entry.link, **entry.facts
        )


# --- JSON Feed -------------------------------------------------------------------------------


def _json_items(source: Source) -> Iterator[_Entry]:
    feed = parse_json(source)
    if not isinstance(feed, dict) or not is_feed(feed):
        raise SourceError(source.uri, "not a feed: neither RSS nor Atom nor JSON Feed")
    base = web_address(scalar(feed.get("home_page_url"))) or web_address(source.uri)
    for number, item in enumerate(feed["items"], 1):
        if not isinstance(item, dict):
            raise SourceError(source.uri, f"malformed feed: item {number} is not an object")
        blocks = Blocks()
        fragment_blocks(blocks, _string(item, "content_html"))
        if blocks.empty:
            plain = _string(item, "content_text") or _string(item, "summary")
            write_paragraphs(blocks, without_scripts(plain))
        yield _Entry(
            title=one_line(without_scripts(_string(item, "title"))),
            blocks=blocks,
            link=_resolve(scalar(item.get("url")) or scalar(item.get("external_url")), base),
            id=scalar(item.get("id")),
            facts={
                "source_type": "json-feed",
                "language": (scalar(item.get("language")) or scalar(feed.get("language"))).lower(),
                "authors": _item_authors(item) or _item_authors(feed),
                "published_at": parse_moment(item.get("date_published"))
                or parse_moment(item.get("date_modified")),
                "summary": one_line(without_scripts(_string(item, "summary"))),
                "media_url": _media(item.get("attachments"), ("mime_type", "url"), base),
                "taxonomy": _tags(strings(item.get("tags") or [])),
            },
        )


def _string(item: Item, name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _item_authors(holder: Item) -> tuple[str, ...]:
    """Return the names in ``authors`` (version 1.1) or ``author`` (version 1.0)."""
    authors = holder.get("authors") or [holder.get("author")]
    author_list = authors if isinstance(authors, list) else [authors]
    return strings([author.get("name") for author in author_list if isinstance(author, dict)])


def _media(attachments: object, names: tuple[str, str], base: str) -> str:
    """The address of the first recording; ``names`` are the fields of its type and address."""
    kind, address = names
    for item in attachments if isinstance(attachments, list) else []:
        if isinstance(item, dict) and scalar(item.get(kind)).startswith(("audio/", "video/")):
            return _resolve(scalar(item.get(address)), base)
    return ""


def _resolve(address: str, base: str) -> str:
    """Return the absolute web address for an address that may be relative to ``base``."""
    try:
        return web_address(urljoin(base, address.strip())) if address.strip() else ""
    except ValueError:  # an invalid host in brackets
        return ""


def _tags(tags: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {"tags": tags} if tags else {}


# --- RSS and Atom ----------------------------------------------------------------------------


def _xml_entries(source: Source) -> Iterator[_Entry]:
    # A stream, because feedparser would take short bytes for a file name. Its sanitiser is off,
    # because only the visible text is kept.
    data = _CDATA.sub(rb">\1</", source.data)
    feed = feedparser.parse(io.BytesIO(data), sanitize_html=False)
    if feed.bozo and not feed.entries:
        reason = " ".join(str(feed.get("bozo_exception", "unknown format")).split())
        raise SourceError(source.uri, f"not a feed: {reason}"[:200])
    if not feed.version and not feed.entries:
        raise SourceError(source.uri, "not a feed: neither RSS nor Atom")
    if feed.bozo:
        logger.warning("%s: the feed is damaged (%s)", source.uri, feed.bozo_exception)
    source_type = "atom" if feed.version.startswith("atom") else "rss"
    # An Atom entry without author inherits the feed's (RFC 4287, 4.2.1); RSS has no such rule.
    inherited = _authors(feed.feed) if source_type == "atom" else ()
    base = web_address(str(feed.feed.get("link") or "")) or web_address(source.uri)
    for number, entry in enumerate(feed.entries, 1):
        try:
            item = _xml_entry(entry, feed.feed, base)
        except (AttributeError, KeyError, TypeError) as error:
            # An element named like one of the parser's own lists ("links") replaces it.
            raise SourceError(source.uri, f"entry {number} of the feed is damaged") from error
        authors = item.facts["authors"] or inherited
        yield item._replace(facts={**item.facts, "authors": authors, "source_type": source_type})


def _xml_entry(entry: Item, feed: Item, base: str) -> _Entry:
    tags = [tag.get("label") or tag.get("term") or "" for tag in entry.get("tags", ())]
    # As written, since feedparser's own parser misreads 2026/03/15.
    dates = [scalar(entry[name]) for name in ("published", "updated") if name in entry]
    return _Entry(
        title=" ".join(plain_words(entry.get("title", "")).split()),
        blocks=_content(entry),
        link=_resolve(entry.get("link", ""), base),
        id=entry.get("id", ""),
        facts={
            "language": _language(entry, feed),
            "authors": _authors(entry),
            "published_at": next(filter(None, map(_parse_date, dates)), None),
            "summary": plain_words(entry.get("summary") or "") if entry.get("content") else "",
            "media_url": _media(entry.get("enclosures"), ("type", "href"), base),
            # The parser keeps the last one of an episode.
            "transcript_url": _resolve(entry.get("podcast_transcript", {}).get("url", ""), base),
            "taxonomy": _tags(strings(tags)),
        },
    )


def _content(entry: Item) -> Blocks:
    """Return the longest text of the entry: its content, else its summary."""
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
    declared = next((detail["language"] for detail in details if detail.get("language")), "")
    return str(entry.get("language") or declared or feed.get("language") or "").lower()


def _authors(entry: Item) -> tuple[str, ...]:
    mailed = _MAILED.fullmatch(str(entry.get("author", "")))
    if mailed:  # feedparser truncates such a name when the address ends in a long domain
        return (mailed["name"],)
    author_names = [author.get("name", "") for author in entry.get("authors", ())]
    return strings([name for name in author_names if name] or entry.get("author", ""))


@lru_cache(maxsize=1_000)
def _parse_date(text: str) -> datetime | None:
    """Parse a date in any language; None when day and month are ambiguous ("3/4/2026")."""
    date = parse_moment(text)
    if date or not text or len(text) > MAX_DATE_CHARS or _DAY_OR_MONTH.match(text):
        return date
    from dateparser import parse as read  # noqa: PLC0415 - slow to import

    options = {"STRICT_PARSING": True, "PARSERS": ["absolute-time"], "DATE_ORDER": "DMY"}
    return parse_moment(read(text, settings=options))


# --- OPML: lists of feeds, as feed readers export them ---------------------------------------


def feeds_of(data: bytes, uri: str) -> list[str]:
    """Return the distinct addresses of the feeds in an OPML file, in order.

    Addresses other than http and https are skipped with a warning.
    """
    try:
        root = parse(data, uri)
    except SourceError as error:
        # Handwritten lists contain addresses with an unescaped "&".
        root = parse(_BARE_AMPERSAND.sub(b"&amp;", data), uri, repair=True)
        logger.warning("%s: the list is damaged (%s)", uri, error.reason)
    if name_of(root).lower() != "opml":
        raise SourceError(uri, f"not OPML: the root element is {name_of(root)[:40]}")
    addresses: list[str] = []
    for element in root.iter():
        pairs = element.attrib.items() if name_of(element).lower() == "outline" else ()
        for address in (str(value).strip() for name, value in pairs if name.lower() == "xmlurl"):
            if url := _resolve(address, uri):
                addresses.append(url)
            elif address:
                logger.warning("%s: not a web address: %.200s", uri, address)
    return list(dict.fromkeys(addresses))
