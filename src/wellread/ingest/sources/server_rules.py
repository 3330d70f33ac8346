"""What a web server says beside its pages: headers (kind, charset, when to come back), robots."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from urllib.parse import unquote

import httpx
from protego import Protego

LONGEST_WAIT = timedelta(days=7)
LONGEST_FRESH = timedelta(days=1)
LONGEST_NAME = 120
LONGEST_TAG = 500

# The extension that tells ``kinds.py`` the kind. Types that say nothing of their own (text/plain,
# text/xml, octet-stream, JSON) leave the name as it is, or give the first extension to a bare one.
EXTENSIONS: Mapping[str, tuple[str, ...]] = {
    "text/html": (".html", ".htm", ".xhtml"),
    "application/xhtml+xml": (".xhtml", ".html", ".htm"),
    "application/pdf": (".pdf",),
    "application/x-pdf": (".pdf",),
    "application/rss+xml": (".rss", ".xml"),
    "application/atom+xml": (".atom", ".xml"),
    "application/rdf+xml": (".rss", ".rdf", ".xml"),
    "application/feed+json": (".json",),
    "text/x-opml": (".opml",),
    "text/markdown": (".md", ".markdown", ".mdown", ".mkd"),
    "text/x-markdown": (".md", ".markdown", ".mdown", ".mkd"),
    "text/x-rst": (".rst", ".rest"),
    "text/prs.fallenstein.rst": (".rst", ".rest"),
    "text/vtt": (".vtt",),
    "application/x-subrip": (".srt",),
    "text/csv": (".csv",),
    "application/x-ndjson": (".jsonl", ".ndjson"),
    "application/jsonl": (".jsonl", ".ndjson"),
    "application/epub+zip": (".epub",),
    "application/vnd.oasis.opendocument.text": (".odt",),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": (".docx",),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": (".pptx",),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": (".xlsx",),
}
WEAK_EXTENSIONS: Mapping[str, str] = {
    "text/plain": ".txt",
    "application/json": ".json",
    "text/xml": ".xml",
    "application/xml": ".xml",
}
UNREAD_TYPES = ("image/", "video/", "audio/", "font/")

_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:+-]{1,40})""", re.IGNORECASE)
_MARKUP = re.compile(r"[+/]xml$|^text/|javascript$")
_DIRECTIVE = re.compile(r"([a-z-]+)(?:\s*=\s*\"?(\d{1,10}))?", re.IGNORECASE)
_TTL = re.compile(rb"<ttl>\s*(\d{1,7})\s*</ttl>", re.IGNORECASE)
_TTL_HEAD = 65_536
# What browsers take for the charsets that are most often named wrongly.
_REALLY = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def content_type(header: str) -> str:
    """The type alone, in lower case, without its parameters."""
    return header.partition(";")[0].strip().lower()


def charset(header: str) -> str:
    """The charset that a Content-Type names; empty when it names none that is known."""
    found = _CHARSET.search(header)
    if not found:
        return ""
    try:
        return codecs.lookup(found[1]).name
    except LookupError:
        return ""


def file_name(address: httpx.URL, type_: str) -> str:
    """A name whose extension tells the kind: the address's last part, else its host."""
    last = unquote(address.path.rstrip("/").rpartition("/")[2], errors="replace")
    name = "".join(c for c in last if c.isprintable())[-LONGEST_NAME:] or address.host
    suffix = PurePosixPath(name.lower()).suffix if last else ""
    known = EXTENSIONS.get(type_)
    if known is not None:
        return name if suffix in known else name + known[0]
    weak = WEAK_EXTENSIONS.get(type_, "")
    return name if suffix else name + weak


def as_utf8(data: bytes, type_: str, named: str) -> bytes:
    """Text in the charset of the header, as UTF-8 with a byte order mark, which every loader obeys.

    So the header wins over what the page says of itself. Only what is UTF-8 already stays as it
    is: servers that name one charset for all files are common, other text that happens to be
    UTF-8 is not.
    """
    if not named or not _MARKUP.search(type_) or data.startswith(codecs.BOM_UTF8):
        return data
    wide = named.startswith(("utf-16", "utf-32"))
    try:
        if not wide and not data.isascii():
            data.decode("utf-8")
            return data
    except UnicodeDecodeError:
        pass
    try:
        text = data.decode(_REALLY.get(named, named))
    except (UnicodeDecodeError, LookupError):  # LookupError: a codec that is none of text
        return data
    encoded = text.removeprefix("\ufeff").encode("utf-8", errors="replace")
    return data if encoded == data else codecs.BOM_UTF8 + encoded


def tag(value: str) -> str:
    """An ETag or a date as it can be sent back; empty when it is nothing to send."""
    fits = len(value) <= LONGEST_TAG and value.isascii() and value.isprintable()
    return value.strip() if fits else ""


def retry_at(value: str, now: datetime) -> datetime | None:
    """The moment that a Retry-After (seconds or a date) names; at most a week away."""
    value = value.strip()
    if re.fullmatch(r"\d{1,10}", value):
        return now + min(timedelta(seconds=int(value)), LONGEST_WAIT)
    moment = _date(value)
    return min(max(moment, now), now + LONGEST_WAIT) if moment else None


def fresh_until(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Until when the server says that its answer stays true; None when it does not say.

    At most a day: a source that is followed is looked at once a day whatever its server says.
    """
    directives = dict(_DIRECTIVE.findall(headers.get("cache-control", "").lower()))
    if "no-cache" in directives or "no-store" in directives:
        return None
    if directives.get("max-age"):
        age = headers.get("age", "").strip()
        held = int(age) if re.fullmatch(r"\d{1,10}", age) else 0
        seconds = min(int(directives["max-age"]) - held, LONGEST_FRESH.total_seconds())
        return now + timedelta(seconds=seconds) if seconds > 0 else None
    expires = _date(headers.get("expires", ""))
    served = _date(headers.get("date", "")) or now
    if expires is None or expires <= served:
        return None
    return now + min(expires - served, LONGEST_FRESH)


def feed_until(data: bytes, now: datetime) -> datetime | None:
    """Until when an RSS feed asks to be left alone (``ttl``, in minutes); at most a day.

    Read without a parser, since this runs outside the process in which parsers run.
    """
    found = _TTL.search(data[:_TTL_HEAD])
    minutes = int(found[1]) if found else 0
    return now + min(timedelta(minutes=minutes), LONGEST_FRESH) if minutes else None


def later(*moments: datetime | None) -> datetime | None:
    """The latest of those that are known."""
    return max((moment for moment in moments if moment is not None), default=None)


def _date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


MOST_BYTES = 512_000  # the RFC asks for 500 KiB at least
LONGEST_DELAY = 30.0


class Robots:
    """The rules of a robots.txt (RFC 9309) for the program called ``agent``, else those for all.

    Attributes:
        delay: seconds asked for between two requests.
    """

    def __init__(self, data: bytes, agent: str) -> None:
        self._rules = Protego.parse(data[:MOST_BYTES].decode("utf-8-sig", errors="replace"))
        self._agent = agent
        self.delay = min(self._rules.crawl_delay(agent) or 0.0, LONGEST_DELAY)

    def allows(self, path: str) -> bool:
        """Whether ``path`` (with its query) may be fetched: the longest rule that fits decides."""
        # As a whole address: a path that begins with "//" would be taken for a host.
        return self._rules.can_fetch(f"http://host{path}", self._agent)


EVERYTHING = Robots(b"", "")
