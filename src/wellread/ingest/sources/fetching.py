"""Fetches web addresses: limits, redirects, conditional requests, robots.txt.

An address is given by a person, but also by feeds, lists and redirects, which anybody may write.
Every hop is therefore parsed, resolved and judged like the first (see ``addresses.py``).

A feed's entries lead to whole articles where the feed carries only their beginning. What was
followed is remembered by a digest of the entry, so that a page is asked for once.
"""

from __future__ import annotations

import codecs
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
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
from wellread.ingest.sources.exchange import AGENT, Answer, Exchange, asked_to_wait
from wellread.types import Document

ROBOTS_SECONDS = 3_600.0  # how long a robots.txt is believed
DEFAULT_PAUSE = timedelta(minutes=5)  # after "too many requests" without a time

_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was found at an address.

    Attributes:
        data: the bytes for the loader; text whose charset the header names comes as UTF-8.
        etag, last_modified: for the next conditional request.
    """

    url: str
    name: str
    data: bytes
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotModified:
    """The server says that it has nothing newer than what ``etag`` stands for."""

    url: str
    etag: str = ""
    last_modified: str = ""


class Fetcher:
    """Fetches with one memory of hosts and their robots.txt. Safe to use from several threads."""

    def __init__(self, exchange: Exchange) -> None:
        self.settings = exchange.settings
        self._exchange = exchange
        self._robots: dict[str, tuple[float, Robots]] = {}
        self._robots_lock = threading.Lock()

    def fetch(
        self, url: str, *, etag: str = "", last_modified: str = "", as_feed: bool = False
    ) -> Fetched | NotModified:
        """Get ``url``, or learn that it is still what it was.

        Args:
            etag, last_modified: what the last answer said.
            as_feed: it is known to be a feed or a list of feeds; robots.txt is not asked.
        """
        headers = {"If-None-Match": tag(etag), "If-Modified-Since": tag(last_modified)}
        sent = {name: value for name, value in headers.items() if value}
        first = parse_address(url, self.settings)
        obey = self.settings.robots and not as_feed

        def ask(address: httpx.URL) -> Answer:
            return self._ask(address, sent, self._allowed(address) if obey else 0.0)

        try:
            where, answer = self._follow(first, ask)
            return _outcome(where, answer, conditional=bool(sent))
        except FetchError as error:
            if error.uri == str(first):
                raise
            # The report names what was asked for; where the redirects led is part of the reason.
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
            address = self._next(address, following, seen)

    def _ask(self, address: httpx.URL, headers: dict[str, str], delay: float) -> Answer:
        most, accept = self.settings.max_bytes, partial(_refuse_media, address)
        answer = self._exchange.get(address, headers, limit=most, delay=delay, accept=accept)
        if answer.status in (429, 503):
            self._left_alone(address, answer)
        return answer

    def _next(self, address: httpx.URL, location: str, seen: set[str]) -> httpx.URL:
        following = parse_address(location, self.settings, base=address)
        if str(following) in seen:
            raise FetchError(str(address), "redirects lead in a circle")
        if len(seen) > self.settings.max_redirects:
            most = self.settings.max_redirects
            raise FetchError(str(address), f"more than {most} redirects")
        seen.add(str(following))
        return following

    def _left_alone(self, address: httpx.URL, answer: Answer) -> None:
        """Raise for a server that is asked too much, and remember it for its other pages."""
        now = datetime.now(UTC)
        until = retry_at(answer.headers.get("retry-after", ""), now)
        if until is None and answer.status == 503:
            return  # out of order, which other pages of the host may not be
        until = until or now + DEFAULT_PAUSE
        self._exchange.close_until(address, until)
        reason = f"{asked_to_wait(address.host, until)} ({_phrase(answer.status)})"
        raise FetchError(str(address), reason, status=answer.status)

    def _allowed(self, address: httpx.URL) -> float:
        """The pause that robots.txt asks for; raises where it does not allow ``address``."""
        try:
            robots = self._robots_of(address)
        except FetchError as error:
            # Without an answer there is nothing special about robots.txt: the page fails likewise.
            why = f"robots.txt of {address.host} cannot be read: " if error.status else ""
            raise error.at(str(address), f"{why}{error.reason}") from error
        if not robots.allows(address.raw_path.decode("ascii")):
            raise FetchError(
                str(address),
                f"robots.txt of {address.host} does not allow it; "
                "web.robots: false reads it all the same",
            )
        return robots.delay

    def _robots_of(self, address: httpx.URL) -> Robots:
        where = address.copy_with(raw_path=b"/robots.txt")
        with self._robots_lock:
            known = self._robots.get(str(where))
        if known and known[0] > time.monotonic():
            return known[1]
        robots = self._read_robots(where)
        with self._robots_lock:
            self._robots[str(where)] = (time.monotonic() + ROBOTS_SECONDS, robots)
        return robots

    def _read_robots(self, where: httpx.URL) -> Robots:
        """Nothing there allows everything; a server in trouble allows nothing (RFC 9309, 2.3.1)."""
        _, answer = self._follow(
            where, lambda hop: self._exchange.get(hop, {}, limit=self.settings.max_bytes)
        )
        if answer.status == 200:
            return Robots(answer.data, AGENT)
        if answer.status == 429 or answer.status >= 500:
            raise FetchError(str(where), _status_reason(answer.status), status=answer.status)
        return EVERYTHING


@lru_cache(maxsize=8)
def fetcher_for(settings: WebSettings) -> Fetcher:
    """This process's fetcher for ``settings``: all its runs keep to one pace per host."""
    return Fetcher(Exchange(settings))


def _refuse_media(address: httpx.URL, answer: Answer) -> None:
    """Do not load pictures, films and sound that nothing would read."""
    type_ = content_type(answer.headers.get("content-type", ""))
    if answer.status == 200 and type_.startswith(UNREAD_TYPES):
        raise FetchError(str(address), f"not a kind of file that is read: {type_}", status=200)


def _outcome(address: httpx.URL, answer: Answer, *, conditional: bool) -> Fetched | NotModified:
    headers = answer.headers
    etag, modified = tag(headers.get("etag", "")), tag(headers.get("last-modified", ""))
    if answer.status == 304 and conditional:
        return NotModified(url=str(address), etag=etag, last_modified=modified)
    if answer.status not in (200, 203):
        raise FetchError(str(address), _status_reason(answer.status), status=answer.status)
    type_ = content_type(headers.get("content-type", ""))
    named = charset(headers.get("content-type", ""))
    return Fetched(
        url=str(address),
        name=file_name(address, type_),
        data=as_utf8(answer.data, type_, named),
        etag=etag,
        last_modified=modified,
    )


def _status_reason(status: int) -> str:
    if status == 404:
        return "nothing is there (404 Not Found)"
    if status == 410:
        return "it was removed for good (410 Gone)"
    if status in (401, 403, 407, 451):
        return f"the server does not give it to us ({_phrase(status)})"
    return f"the server answered {_phrase(status)}"


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


LONGEST_WAIT = timedelta(days=7)
LONGEST_NAME = 120
LONGEST_TAG = 500

# Types that say nothing of their own leave a name as it is, or give an extension to a bare one.
WEAK_EXTENSIONS: Mapping[str, str] = {
    "text/plain": ".txt",
    "application/json": ".json",
    "text/xml": ".xml",
    "application/xml": ".xml",
}
UNREAD_TYPES = ("image/", "video/", "audio/", "font/")

_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:+-]{1,40})""", re.IGNORECASE)
_MARKUP = re.compile(r"[+/]xml$|^text/|javascript$")
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
    own = TYPES.get(type_)
    if own is None:
        return name if suffix else name + WEAK_EXTENSIONS.get(type_, "")
    kind = EXTENSIONS.get(own, own)
    xml = suffix == ".xml" and type_.endswith("+xml")
    return name if xml or suffix == own or EXTENSIONS.get(suffix) == kind else name + own


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


def _date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


MOST_BYTES = 512_000  # the RFC asks for 500 KiB at least
LONGEST_DELAY = 30.0


class Robots:
    """The rules of a robots.txt (RFC 9309) for the program called ``agent``, else those for all."""

    def __init__(self, data: bytes, agent: str) -> None:
        self._rules = Protego.parse(data[:MOST_BYTES].decode("utf-8-sig", errors="replace"))
        self._agent = agent
        self.delay = min(self._rules.crawl_delay(agent) or 0.0, LONGEST_DELAY)

    def allows(self, path: str) -> bool:
        """Whether ``path`` (with its query) may be fetched: the longest rule that fits decides."""
        # As a whole address: a path that begins with "//" would be taken for a host.
        return self._rules.can_fetch(f"http://host{path}", self._agent)


EVERYTHING = Robots(b"", "")


logger = logging.getLogger(__name__)

ENTRY_LOADER = "feed-entry/1"  # of the source record that remembers a followed entry
WHOLE_CHARACTERS = 2_500  # a longer text without a sign of a cut is the article itself
LEAST_MORE = 100  # characters; less is the page's own title and menu
LEAST_SHARED = 0.4  # of the entry's words that its page must hold
WHOLE_TYPES = ("html", "pdf")  # a page whose main text was found; not "html-full", its whole body

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
        digest: of the entry as the feed gave it; empty when its page is to be tried again.
    """

    document: Document
    digest: str
    reason: str = ""


def follow_entries(
    documents: Sequence[Document],
    *,
    known: Mapping[str, str],
    fetch: Fetch,
    parse: ParsePage,
    limit: int,
) -> list[FollowedEntry]:
    """The entries of a feed that are not what they were, with their articles.

    Args:
        known: uri of an entry to its digest when it was followed last.
    """
    followed = []
    asked = 0
    for document in documents:
        digest = entry_digest(document)
        if known.get(document.uri) == digest:
            continue
        if not needs_page(document):
            followed.append(FollowedEntry(document=document, digest=digest))
        elif asked >= limit:
            reason = f"not followed: the limit is {limit} pages in one run"
            followed.append(FollowedEntry(document=document, digest="", reason=reason))
        else:
            asked += 1
            followed.append(_followed(document, digest, fetch, parse))
    return followed


def entry_digest(document: Document) -> str:
    """What tells whether an entry is still what it was, as the feed gives it."""
    return tagged_hash("ent", version_of(document.text, document.marks), facts_of(document))


def needs_page(document: Document) -> bool:
    """Whether the feed gave no more of the article than its beginning or a summary.

    A feed's loader keeps the summary apart where the feed has the content as well.
    """
    if not document.url or document.summary:
        return False
    return len(document.text) < WHOLE_CHARACTERS or bool(_CUT.search(document.text))


def merged(entry: Document, page: Document) -> Document | None:
    """The entry with the text of its page; None when that is not its article, or not more of it.

    What the feed says (title, date, authors) stays; the page says it where the feed does not.
    """
    if page.source_type not in WHOLE_TYPES or len(page.text) < len(entry.text) + LEAST_MORE:
        return None
    # A login or a notice about cookies carries the title as well, so other words have to be there.
    title = _words(entry.title)
    words = _words(entry.text) - title or title
    if len(words & _words(page.text)) < LEAST_SHARED * len(words):
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


def _followed(entry: Document, digest: str, fetch: Fetch, parse: ParsePage) -> FollowedEntry:
    try:
        fetched = fetch(entry.url)
        pages = parse(entry.uri, fetched) if isinstance(fetched, Fetched) else ()
    except FetchError as error:
        logger.info("%s: the article was not fetched: %s", entry.uri, error.reason)
        # A refusal stays one; a server in trouble is asked again when the feed changes.
        final = 200 <= error.status < 500 and error.status not in (408, 425, 429)
        return FollowedEntry(document=entry, digest=digest if final else "", reason=error.reason)
    except SourceError as error:
        logger.info("%s: the article was not read: %s", entry.uri, error.reason)
        return FollowedEntry(document=entry, digest=digest, reason=error.reason)
    whole = merged(entry, pages[0]) if len(pages) == 1 else None
    if whole is None:
        reason = "its page holds no more of the article than the feed"
        return FollowedEntry(document=entry, digest=digest, reason=reason)
    return FollowedEntry(document=whole, digest=digest)
