"""Optech's topic index as a gold standard for stories: which news item is about which topic.

Every topic page lists mentions: a newsletter, an anchor in it, and an editor's line about it. An
item is the mention's when its first words make the anchor; where the anchor was given by hand, it
is the item of that newsletter that has most of the line's words, rare ones counting more.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.paths import eval_data
from wellread.ingest.joining.story_refresh import news_items
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline.kinds import load
from wellread.text.sentences import HEAD_CHARS, part_title
from wellread.types import Document, Span

LEAST_SHARE = 0.5  # of the line's weighted words, for an item that its anchor does not name
COLLECTION = "optech"
_FILLER = frozenset("the of a to and for in on is with year review from by that".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A news item of a newsletter."""

    newsletter: str
    document: Document
    span: Span
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """Items by date, which of them are about which topics, and every mention's item.

    Attributes:
        mapped: how many mentions were found by anchor, by words, and not at all.
    """

    items: tuple[Item, ...]
    topics: dict[int, frozenset[str]]
    mentions: tuple[tuple[str, int], ...]
    mapped: dict[str, int]

    def half(self, which: int) -> dict[int, frozenset[str]]:
        """The items with their topics of one half: topics are halved by a hash of their name."""
        kept = {
            item: frozenset(name for name in names if half_of(name) == which)
            for item, names in self.topics.items()
        }
        return {item: names for item, names in kept.items() if names}


def half_of(topic: str) -> int:
    """0: for development; 1: for the report."""
    return hashlib.md5(topic.encode(), usedforsecurity=False).digest()[-1] % 2


@cache
def newsletters() -> tuple[tuple[str, Document], ...]:
    """File name and document of every newsletter, by date."""
    found = []
    for path in sorted(eval_data("bitcoin_optech", "_posts", "en", "newsletters").glob("*.md")):
        source = Source(
            uri=path.as_uri(),
            name=path.name,
            data=path.read_bytes(),
            collection=COLLECTION,
            path=path,
        )
        for document in load(source, LoaderLimits()):
            found.append((path.name, replace(document, kind="article")))
    return tuple(found)


@cache
def gold() -> Gold:
    """The gold standard."""
    items = tuple(
        Item(
            newsletter=name,
            document=document,
            span=span,
            title=part_title(
                span, span.of(document.text)[:HEAD_CHARS], document.title, len(document.text)
            ),
            text=span.of(document.text),
        )
        for name, document in newsletters()
        for span in news_items(document)
    )
    finder = _Finder(items)
    topics: defaultdict[int, set[str]] = defaultdict(set)
    mentions: list[tuple[str, int]] = []
    how: Counter[str] = Counter()
    lines = eval_data("bitcoin_optech", "derived", "mentions.jsonl").read_text("utf-8")
    for line in lines.splitlines():
        mention = json.loads(line)
        found = finder.find(Path(mention["doc"]).name, mention["anchor"], mention["query"])
        how[found[1]] += 1
        if found[0] is not None:
            topics[found[0]].add(mention["topic"])
            mentions.append((mention["query"], found[0]))
    return Gold(
        items=items,
        topics={item: frozenset(names) for item, names in sorted(topics.items())},
        mentions=tuple(mentions),
        mapped=dict(how),
    )


class _Finder:
    """Finds the item that a mention is about."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._bags = [_words(item.text) for item in items]
        counts = Counter(word for bag in self._bags for word in bag)
        self._worth = {word: math.log(len(items) / (1 + count)) for word, count in counts.items()}
        self._unseen = math.log(len(items))
        self._of: defaultdict[str, list[int]] = defaultdict(list)
        for place, item in enumerate(items):
            self._of[item.newsletter].append(place)

    def find(self, newsletter: str, anchor: str, line: str) -> tuple[int | None, str]:
        """The item's place, and how it was found: ``anchor``, ``words`` or ``not found``."""
        places = self._of[newsletter]
        for joiner in ("-", ""):
            wanted = anchor.replace("-", joiner)
            for place in places:
                item = self._items[place]
                begins = _slug(item.text[:HEAD_CHARS]).replace("-", joiner).startswith(wanted)
                if anchor and (begins or _slug(item.title) == anchor):
                    return place, "anchor"
        wanted_words = _words(f"{line} {anchor}") - _FILLER
        total = self._weight(wanted_words)
        shares = [
            (self._weight(wanted_words & self._bags[place]) / total, place) for place in places
        ]
        share, place = max(shares, key=lambda pair: (pair[0], pair[1]))
        return (place, "words") if share >= LEAST_SHARE else (None, "not found")

    def _weight(self, words: set[str]) -> float:
        return sum(self._worth.get(word, self._unseen) for word in words)


def _slug(text: str) -> str:
    plain = re.sub(r"['’]", "", text.lower())
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9_]+", text.lower()) if len(word) > 1}
