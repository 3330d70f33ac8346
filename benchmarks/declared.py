"""What a web page's markup says of its title, authors and day, read without Wellread's loaders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser

_TITLES = frozenset({"og:title", "twitter:title", "title", "dc.title", "sailthru.title"})
_AUTHORS = frozenset(
    {"author", "article:author", "dc.creator", "sailthru.author", "parsely-author", "byl"}
)
_DAYS = frozenset(
    "article:published_time og:article:published_time datepublished date pubdate dc.date "
    "dc.date.issued sailthru.date parsely-pub-date publishdate published".split()
)
_NAMED = frozenset({"headline"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Every value that the markup gives; empty where it gives none."""

    titles: tuple[str, ...]
    authors: tuple[str, ...]
    days: tuple[date, ...]


def declared(data: bytes) -> Declared:
    """The declared facts of one page."""
    reader = _Reader()
    reader.feed(data.decode("utf-8", "replace"))
    titles, authors, days = list(reader.titles), list(reader.authors), list(reader.days)
    for block in reader.blocks:
        for name, value in _facts(block):
            if name == "headline":
                titles.append(value)
            elif name == "author":
                authors.append(value)
            elif name == "datePublished":
                days.append(value)
    return Declared(
        titles=tuple(dict.fromkeys(filter(None, (" ".join(one.split()) for one in titles)))),
        authors=tuple(dict.fromkeys(one for name in authors for one in _people(name))),
        days=tuple(dict.fromkeys(day for text in days for day in _days(text))),
    )


class _Reader(HTMLParser):
    """Gathers ``meta``, ``title``, ``time`` in order, and the blocks of JSON-LD."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.titles: list[str] = []
        self.authors: list[str] = []
        self.days: list[str] = []
        self.blocks: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "meta":
            name = (given.get("property") or given.get("name") or given.get("itemprop", "")).lower()
            for wanted, values in (
                (_TITLES, self.titles),
                (_AUTHORS, self.authors),
                (_DAYS, self.days),
            ):
                if name in wanted:
                    values.append(given.get("content", ""))
        elif tag == "time" and ("pubdate" in given or given.get("itemprop") == "datePublished"):
            self.days.append(given.get("datetime", ""))
        elif tag == "script" and given.get("type", "").strip().lower() == "application/ld+json":
            self._open = tag
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.blocks[-1] += data


def _facts(block: str) -> Iterator[tuple[str, str]]:
    """Headline, authors and day of the articles of one block."""
    try:
        loaded = json.loads(block.strip(), strict=False)
    except ValueError:
        return
    for node in _nodes(loaded):
        kinds = node.get("@type")
        if not any("Article" in str(kind) or "Posting" in str(kind) for kind in _several(kinds)):
            continue
        yield "headline", str(node.get("headline") or "")
        yield "datePublished", str(node.get("datePublished") or "")
        for one in _several(node.get("author")):
            name = one.get("name") if isinstance(one, dict) else one
            for each in _several(name):
                yield "author", str(each)


def _nodes(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


def _several(value: object) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _people(text: str) -> list[str]:
    """Names in one value; an address of a profile is no name."""
    if "://" in text or "@" in text:
        return []
    pieces = re.split(r"\s*[,;|]\s*|\s+and\s+", " ".join(text.split()))
    return [one.removeprefix("By ").removeprefix("by ") for one in pieces if len(one) > 2]


def _days(text: str) -> list[date]:
    """The day as it is written and the same moment's day in UTC."""
    text = text.strip()
    for read in (_iso, parsedate_to_datetime):
        try:
            moment = read(text)
        except (ValueError, TypeError, IndexError):
            continue
        there = moment.date()
        return [there, moment.astimezone(UTC).date()] if moment.tzinfo else [there]
    return []


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", text))
