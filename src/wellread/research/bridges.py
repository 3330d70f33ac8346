"""What the evidence leads on to: names that it goes back to and the question does not have.

A name that is frequent among the best passages and rare in the material as a whole may be the step
to what the question does not name; one that is the title of another document, or an entity of the
graph, surely leads there. It is searched for together with what is asked.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from wellread.ask.retrieve.search import look
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.research.pool import BEHIND, Pool
from wellread.text.english import MONTHS, WEEKDAYS
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.types import Filters, Passage

NEAREST = 24  # passages, the nearest first, whose names are looked at
MOST_COUNTED = 24  # names whose rarity is looked up
COUNTED_TO = 50  # passages that hold a name, from which it is not rare
MOST = 4  # bridges of one round
LONGEST_NAME = 6  # words
ANCHORS = 6  # documents, the first of the question's search, that lead on to others
MOST_NAMES, DEPTH = 12, 40  # names of one passage that are searched for, hits that are looked at
TITLE = 2.0  # times its worth, for a name that is the title of a document or an entity's

_TIMES = frozenset((*MONTHS, *WEEKDAYS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A name to look for, and the search for it together with what is still asked."""

    name: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What may lead on: the passages read, and the limits that a name has to keep to.

    Attributes:
        topic: what the question is about.
        filters: the limits of the question.
        known: names that were looked for before, each as ``name_key`` writes it.
    """

    kb: KnowledgeBase
    analysis: Analysis
    pool: Pool
    topic: str
    filters: Filters
    known: Collection[str] = ()


def titles_named(trail: Trail, most: int) -> tuple[list[Bridge], int]:
    """At most four titles of other documents that the best passages of the first ones name.

    They are searched for together with what that passage leaves open, all of one passage at a time.

    Args:
        most: searches that may be made.

    Returns:
        The titles, the most promising first, and how many searches were made, six at most.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as a search.
    """
    kb, pool, topic = trail.kb, trail.pool, trail.topic
    asked = trail.analysis.parsed.stem_set
    worth: dict[str, tuple[float, str]] = {}
    made = 0
    for hit in pool.first_of(ANCHORS):
        if made == most:
            break
        names = [one for one in parse(hit.passage.text).names if not parse(one).stem_set <= asked]
        if not names:
            continue
        told = parse(f"{hit.document.title}\n{hit.passage.text}").stem_set
        left = " ".join(word for word in parse(topic).words if not parse(word).stem_set <= told)
        query = f"{'; '.join(names[:MOST_NAMES])} {left}"
        text, missing = f" {name_key(hit.passage.text)} ", asked - told
        made += 1
        for found in look(kb, query, trail.filters, purpose=hit.document.title, limit=DEPTH).hits:
            title = found.document.title.partition(" (")[0]
            key = name_key(title)
            own = found.document.id == hit.document.id
            if own or not key or key in trail.known or f" {key} " not in text:
                continue
            held = parse(f"{found.document.title}\n{found.passage.text}").stem_set
            value = hit.score * (0.5 + len(held & missing) / max(1, len(missing)))
            if value > worth.get(key, (0.0, ""))[0]:
                worth[key] = (value, title)
    order = sorted(worth, key=lambda key: (-worth[key][0], key))
    seen = {name_key(title) for title in pool.titles(BEHIND)}
    found_titles = [
        Bridge(name=worth[key][1], query=worth[key][1]) for key in order if key not in seen
    ]
    return found_titles[:MOST], made


def rare_names(trail: Trail) -> list[Bridge]:
    """At most four names, frequent among the nearest passages and rare in the material.

    Raises:
        StoreError: the catalogue or the index cannot be read.
    """
    pool, known = trail.pool, trail.known
    asked = trail.analysis.parsed.stem_set
    near = pool.nearness(trail.kb, trail.topic)
    worth: dict[str, float] = defaultdict(float)
    seen: dict[str, set[str]] = defaultdict(set)
    told: dict[str, frozenset[str]] = {}
    spelt: dict[str, str] = {}
    for passage in sorted(near, key=lambda one: (-near[one], one))[:NEAREST]:
        hit = pool.hits[passage]
        own = parse(hit.document.title).stem_set
        for name in parse(hit.passage.text).names:
            key, stems = name_key(name), parse(name).stem_set
            if not _is_name(name) or stems <= asked or stems <= own or key in known:
                continue
            if key not in spelt:
                spelt[key] = name
                told[key] = own | parse(hit.passage.text).stem_set
            if hit.document.id not in seen[key]:
                seen[key].add(hit.document.id)
                worth[key] += near[passage]
    likely = sorted(worth, key=lambda key: (-worth[key], key))[:MOST_COUNTED]
    scored = []
    for key in likely:
        count, titled = _held(trail, spelt[key], key)
        rarity = math.log((COUNTED_TO + 1) / (1 + min(count, COUNTED_TO)))
        frequent = len(seen[key]) > 1 or titled
        if rarity > 0 and frequent and count > len(seen[key]):
            scored.append((worth[key] * rarity * (TITLE if titled else 1.0), key))
    scored.sort(key=lambda one: (-one[0], one[1]))
    return [
        Bridge(name=spelt[key], query=f"{spelt[key]} {_open(trail.topic, told[key])}")
        for value, key in scored[:MOST]
        if value > 0
    ]


def _open(topic: str, told: frozenset[str]) -> str:
    """The words of ``topic`` that the passage with the name does not have; all where it has all."""
    words = [word for word in parse(topic).words if not parse(word).stem_set <= told]
    return " ".join(words) or topic


def _is_name(name: str) -> bool:
    words = name.split()
    if _TIMES.issuperset(word.lower() for word in words):
        return False  # a weekday or a month leads nowhere
    return name[:1].isupper() and len(words) <= LONGEST_NAME and any(map(str.isalpha, words[0]))


def _held(trail: Trail, name: str, key: str) -> tuple[int, bool]:
    """How many passages hold ``name``, up to ``COUNTED_TO``; whether a document is called so."""
    found = trail.kb.live().index.search_text(name, trail.filters, COUNTED_TO)
    passages = trail.kb.catalogue.live_passages([one.passage_id for one in found]).values()
    titled = any(name_key(_title(one)) == key for one in passages)
    words = r"[\W_]+".join(map(re.escape, key.split()))
    held = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
    return sum(bool(held.search(f"{one.context}\n{one.text}")) for one in passages), titled


def _title(passage: Passage) -> str:
    """The title above a passage, without what tells it from others ("Charmed (series)")."""
    return passage.context.partition("\n")[0].partition(" (")[0]


def name_key(text: str) -> str:
    """A name without what spellings of it differ in: case, accents, hyphens, punctuation."""
    return " ".join(token.plain for token in tokens_of(text.replace("-", " ")))
