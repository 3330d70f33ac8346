"""Fetches web addresses: limits, redirects, conditional requests, robots.txt, feed articles.

Addresses come from the user, but also from feeds, lists and redirects, which anybody may write.
So every redirect is parsed, resolved and checked like the first address (see ``addresses.py``).

If a feed contains only the beginning of an article, its page is fetched. A digest of the entry is
stored, so that an unchanged entry's page is fetched only once.
"""

from __future__ import annotations

import codecs
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from http import HTTPStatus
from pathlib import PurePosixPath
from urllib.parse import unquote

import httpx
from protego import Protego

from wellread.config import WebSettings
from wellread.errors import SourceError
from wellread.identity import facts_of, tagged_hash, version_of
from wellread.ingest.loaders.kind_table import EXTENSIONS, TYPES
from wellread.ingest.sources.addresses import FetchError, parse_address
from wellread.ingest.sources.exchange import AGENT, Answer, Exchange
from wellread.types import Document

ROBOTS_SECONDS = 3_600.0  # seconds for which a robots.txt is cached

_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The content of a web address.

    Attributes:
        data: the bytes for the loader; text whose charset the header names is UTF-8.
        etag, last_modified: for the next conditional request.
    """

    url: str
    name: str
    data: bytes
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotModified:
    """The server's answer that the content has not changed (304)."""

    etag: str = ""
    last_modified: str = ""


class Fetcher:
    """Fetches web addresses and caches the robots.txt of their hosts. Thread-safe."""

    def __init__(self, exchange: Exchange) -> None:
        self.settings = exchange.settings
        self._exchange = exchange
        self._robots: dict[str, tuple[float, Robots]] = {}
        self._robots_lock = threading.Lock()

    def fetch(
        self, url: str, *, etag: str = "", last_modified: str = "", as_feed: bool = False
    ) -> Fetched | NotModified:
        """Fetch ``url``, unless it has not changed.

        Args:
            etag, last_modified: those headers of the previous answer.
            as_feed: ``url`` is known to be a feed or a list of feeds; robots.txt is ignored.
        """
        headers = {"If-None-Match": tag(etag), "If-Modified-Since": tag(last_modified)}
        conditions = {name: value for name, value in headers.items() if value}
        first = parse_address(url, self.settings)
        obey = self.settings.robots and not as_feed

        def ask(address: httpx.URL) -> Answer:
            delay = self._robots_delay(address) if obey else 0.0
            limit, accept = self.settings.max_bytes, partial(_refuse_media, address)
            return self._exchange.get(address, conditions, limit=limit, delay=delay, accept=accept)

        try:
            where, answer = self._follow(first, ask)
            return _outcome(where, answer, conditional=bool(conditions))
        except FetchError as error:
            if error.uri == str(first):
                raise
            # The report names the requested address; the redirect's target is part of the reason.
            raise error.at(str(first), f"{error.reason} (redirected to {error.uri})") from error

    def _follow(
        self, first: httpx.URL, ask: Callable[[httpx.URL], Answer]
    ) -> tuple[httpx.URL, Answer]:
        address, seen = first, {str(first)}
        while True:
            answer = ask(address)
            following = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not following:
                return address, answer
            address = self._redirect_target(address, following, seen)

    def _redirect_target(self, address: httpx.URL, location: str, seen: set[str]) -> httpx.URL:
        following = parse_address(location, self.settings, base=address)
        if str(following) in seen:
            raise FetchError(str(address), "the redirects form a loop")
        if len(seen) > self.settings.max_redirects:
            limit = self.settings.max_redirects
            raise FetchError(str(address), f"more than {limit} redirects")
        seen.add(str(following))
        return following

    def _robots_delay(self, address: httpx.URL) -> float:
        """Return the delay that robots.txt asks for; raise if it does not allow ``address``."""
        try:
            robots = self._robots_of(address)
        except FetchError as error:
            # Without an answer, robots.txt is not the cause: the page would fail likewise.
            why = f"the robots.txt of {address.host} cannot be read: " if error.status else ""
            raise error.at(str(address), f"{why}{error.reason}") from error
        if not robots.allows(address.raw_path.decode("ascii")):
            raise FetchError(
                str(address),
                f"the robots.txt of {address.host} does not allow it; "
                "the setting web.robots: false ignores robots.txt",
            )
        return robots.delay

    def _robots_of(self, address: httpx.URL) -> Robots:
        where = address.copy_with(raw_path=b"/robots.txt")
        with self._robots_lock:
            cached = self._robots.get(str(where))
        if cached and cached[0] > time.monotonic():
            return cached[1]
        robots = self._read_robots(where)
        with self._robots_lock:
            self._robots[str(where)] = (time.monotonic() + ROBOTS_SECONDS, robots)
        return robots

    def _read_robots(self, where: httpx.URL) -> Robots:
        """Read a robots.txt; a missing one allows all, a server error nothing (RFC 9309, 2.3.1)."""
        _, answer = self._follow(
            where, lambda hop: self._exchange.get(hop, {}, limit=self.settings.max_bytes)
        )
        if answer.status == 200:
            return Robots(answer.data, AGENT)
        if answer.status == 429 or answer.status >= 500:
            raise FetchError(str(where), _status_reason(answer.status), status=answer.status)
        return ALLOW_ALL


@lru_cache(maxsize=8)
def fetcher_for(settings: WebSettings) -> Fetcher:
    """Return the process-wide fetcher for ``settings``, so that all runs share one rate limit."""
    return Fetcher(Exchange(settings))


def _refuse_media(address: httpx.URL, answer: Answer) -> None:
    """Refuse pictures, films and sound before they are downloaded: no loader reads them."""
    type_ = content_type(answer.headers.get("content-type", ""))
    if answer.status == 200 and type_.startswith(UNREAD_TYPES):
        raise FetchError(str(address), f"unsupported file type: {type_}", status=200)


def _outcome(address: httpx.URL, answer: Answer, *, conditional: bool) -> Fetched | NotModified:
    headers = answer.headers
    etag, modified = tag(headers.get("etag", "")), tag(headers.get("last-modified", ""))
    if answer.status == 304 and conditional:
        return NotModified(etag=etag, last_modified=modified)
    if answer.status not in (200, 203):
        raise FetchError(str(address), _status_reason(answer.status), status=answer.status)
    type_ = content_type(headers.get("content-type", ""))
    charset_name = charset(headers.get("content-type", ""))
    return Fetched(
        url=str(address),
        name=file_name(address, type_),
        data=as_utf8(answer.data, type_, charset_name),
        etag=etag,
        last_modified=modified,
    )


def _status_reason(status: int) -> str:
    if status == 404:
        return "the page does not exist (404 Not Found)"
    if status == 410:
        return "the page was removed permanently (410 Gone)"
    if status in (401, 403, 407, 451):
        return f"the server refuses access ({_phrase(status)})"
    return f"the server answered {_phrase(status)}"


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


MAX_NAME = 120
MAX_TAG = 500

# Generic types: they add an extension only to a name without one.
WEAK_EXTENSIONS: Mapping[str, str] = {
    "text/plain": ".txt",
    "application/json": ".json",
    "text/xml": ".xml",
    "application/xml": ".xml",
}
UNREAD_TYPES = ("image/", "video/", "audio/", "font/")

_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:+-]{1,40})""", re.IGNORECASE)
_MARKUP = re.compile(r"[+/]xml$|^text/|javascript$")
# Browsers decode these often wrongly named charsets as Windows-1252.
_BROWSER_CHARSETS = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def content_type(header: str) -> str:
    """Return the type in lower case, without its parameters."""
    return header.partition(";")[0].strip().lower()


def charset(header: str) -> str:
    """Return the charset that a Content-Type names; empty if there is none or it is unknown."""
    match = _CHARSET.search(header)
    if not match:
        return ""
    try:
        return codecs.lookup(match[1]).name
    except LookupError:
        return ""


def file_name(address: httpx.URL, type_: str) -> str:
    """Return a file name, from path or host, whose extension gives the file type."""
    last_part = unquote(address.path.rstrip("/").rpartition("/")[2], errors="replace")
    name = "".join(c for c in last_part if c.isprintable())[-MAX_NAME:] or address.host
    suffix = PurePosixPath(name.lower()).suffix if last_part else ""
    expected = TYPES.get(type_)
    if expected is None:
        return name if suffix else name + WEAK_EXTENSIONS.get(type_, "")
    kind = EXTENSIONS.get(expected, expected)
    xml = suffix == ".xml" and type_.endswith("+xml")
    return name if xml or suffix == expected or EXTENSIONS.get(suffix) == kind else name + expected


def as_utf8(data: bytes, type_: str, charset_name: str) -> bytes:
    """Convert text from the header's charset to UTF-8 with a byte order mark.

    Every loader obeys the mark, so the header takes precedence over the page's own declaration.
    Valid UTF-8 is left unchanged: many servers name one charset for all files, while other text
    is hardly ever valid UTF-8 by chance.
    """
    if not charset_name or not _MARKUP.search(type_) or data.startswith(codecs.BOM_UTF8):
        return data
    wide = charset_name.startswith(("utf-16", "utf-32"))
    try:
        if not wide and not data.isascii():
            data.decode("utf-8")
            return data
    except UnicodeDecodeError:
        pass
    try:
        text = data.decode(_BROWSER_CHARSETS.get(charset_name, charset_name))
    except (UnicodeDecodeError, LookupError):  # LookupError: not a text codec
        return data
    encoded = text.removeprefix("\ufeff").encode("utf-8", errors="replace")
    return data if encoded == data else codecs.BOM_UTF8 + encoded


def tag(value: str) -> str:
    """Return an ETag or a date if it can be sent back; otherwise empty."""
    fits = len(value) <= MAX_TAG and value.isascii() and value.isprintable()
    return value.strip() if fits else ""


MAX_ROBOTS_BYTES = 512_000  # the RFC requires at least 500 KiB
MAX_DELAY_SECONDS = 30.0


class Robots:
    """The rules of a robots.txt (RFC 9309) for the program ``agent``, else the general ones."""

    def __init__(self, data: bytes, agent: str) -> None:
        self._rules = Protego.parse(data[:MAX_ROBOTS_BYTES].decode("utf-8-sig", errors="replace"))
        self._agent = agent
        self.delay = min(self._rules.crawl_delay(agent) or 0.0, MAX_DELAY_SECONDS)

    def allows(self, path: str) -> bool:
        """Whether ``path`` (with its query) may be fetched: the longest matching rule decides."""
        # A full address, because the beginning "//" of a path would be read as a host.
        return self._rules.can_fetch(f"http://host{path}", self._agent)


ALLOW_ALL = Robots(b"", "")

logger = logging.getLogger(__name__)

ENTRY_LOADER = "feed-entry/1"  # loader in the source record of a feed entry
COMPLETE_CHARACTERS = 2_500  # characters; a longer text without a truncation sign is complete
MIN_GAIN = 100  # characters; a smaller gain is only the page's title and menu
MIN_SHARED = 0.4  # share of the entry's words that its page must contain
ARTICLE_TYPES = ("html", "pdf")  # pages whose main text was found; "html-full" is the whole body

_CUT = re.compile(
    r"(?:\[?(?:…|\.\.\.|&hellip;)\]?|\[…\]|read (?:the )?(?:more|full|rest)\b.{0,40}"
    r"|continue reading\b.{0,80}|weiterlesen.{0,40}|lire la suite.{0,40})[\s.»→>]*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{4,}")

Fetch = Callable[[str], Fetched | NotModified]
ParsePage = Callable[[str, Fetched], Sequence[Document]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedEntry:
    """An entry of a feed that is new or changed.

    Attributes:
        digest: of the entry in the feed; empty if its page should be tried again.
    """

    document: Document
    digest: str
    reason: str = ""


def follow_entries(
    documents: Sequence[Document],
    *,
    digests: Mapping[str, str],
    fetch: Fetch,
    parse: ParsePage,
    limit: int,
) -> list[FollowedEntry]:
    """Return the new and changed entries of a feed, with their full articles.

    Args:
        digests: URI of an entry to its digest from an earlier run.
    """
    entries = []
    fetched_count = 0
    for document in documents:
        parts = [version_of(document.text, document.marks), facts_of(document)]
        digest = tagged_hash("ent", *parts, *filter(None, [document.transcript_url]))
        if digests.get(document.uri) == digest:
            continue
        if not needs_page(document):
            entries.append(FollowedEntry(document=document, digest=digest))
        elif fetched_count >= limit:
            reason = f"page not fetched: the limit is {limit} pages per run"
            entries.append(FollowedEntry(document=document, digest="", reason=reason))
        else:
            fetched_count += 1
            entries.append(_follow_entry(document, digest, fetch, parse))
    return entries


def needs_page(document: Document) -> bool:
    """Whether the feed has only part of the article (loaders set ``summary`` if it has all)."""
    if document.transcript_url or not document.url or document.summary:
        return bool(document.transcript_url)
    return len(document.text) < COMPLETE_CHARACTERS or bool(_CUT.search(document.text))


def merge_page(entry: Document, page: Document) -> Document | None:
    """Return the entry with its page's text; None if that is not its article, or not longer.

    Title, date and authors come from the feed; missing ones are taken from the page.
    """
    if entry.transcript_url:  # the feed itself says that these are the words of its episode
        made = replace(entry, kind="transcript", text=page.text, marks=page.marks)
        return None if page.source_type == "json" else replace(made, summary=entry.text)
    if page.source_type not in ARTICLE_TYPES or len(page.text) < len(entry.text) + MIN_GAIN:
        return None
    # Login pages and cookie notices show the title as well, so other words have to match.
    title = _words(entry.title)
    words = _words(entry.text) - title or title
    if len(words & _words(page.text)) < MIN_SHARED * len(words):
        return None
    return replace(
        entry,
        text=page.text,
        marks=page.marks,
        summary=_CUT.sub("", entry.text).strip() or entry.text,
        language=entry.language or page.language,
        authors=entry.authors or page.authors,
        published_at=entry.published_at or page.published_at,
    )


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _follow_entry(entry: Document, digest: str, fetch: Fetch, parse: ParsePage) -> FollowedEntry:
    try:
        fetched = fetch(entry.transcript_url or entry.url)
        pages = parse(entry.uri, fetched) if isinstance(fetched, Fetched) else ()
    except FetchError as error:
        logger.info("%s: the article was not fetched: %s", entry.uri, error.reason)
        # A refusal is final; after a server error the page is tried again.
        final = 200 <= error.status < 500 and error.status not in (408, 425, 429)
        return FollowedEntry(document=entry, digest=digest if final else "", reason=error.reason)
    except SourceError as error:
        logger.info("%s: the article was not read: %s", entry.uri, error.reason)
        return FollowedEntry(document=entry, digest=digest, reason=error.reason)
    full_entry = merge_page(entry, pages[0]) if len(pages) == 1 else None
    if full_entry is None:
        reason = "its page contains no more of the article than the feed"
        return FollowedEntry(document=entry, digest=digest, reason=reason)
    return FollowedEntry(document=full_entry, digest=digest)
