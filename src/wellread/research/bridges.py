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

from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.research.pool import Pool
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.types import Filters, Passage

NEAREST = 24  # passages, the nearest first, whose names are looked at
MOST_COUNTED = 24  # names whose rarity is looked up
COUNTED_TO = 50  # passages that hold a name, from which it is not rare
MOST = 4  # bridges of one round
LONGEST_NAME = 6  # words
TITLE = 2.0  # times its worth, for a name that is the title of a document or an entity's


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A name to look for, and the search for it together with what is still asked."""

    name: str
    query: str


def bridges_of(
    kb: KnowledgeBase, analysis: Analysis, pool: Pool, topic: str, known: Collection[str]
) -> list[Bridge]:
    """At most four names to look for, the most promising first.

    Args:
        topic: what the question is about.
        known: names that were looked for before, each as ``name_key`` writes it.

    Raises:
        StoreError: the catalogue or the index cannot be read.
    """
    asked = analysis.parsed.stem_set
    near = pool.nearness(kb, topic)
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
        count, titled = _held(kb, analysis, spelt[key], key)
        rarity = math.log((COUNTED_TO + 1) / (1 + min(count, COUNTED_TO)))
        frequent = len(seen[key]) > 1 or titled
        if frequent and count > len(seen[key]):
            scored.append((worth[key] * rarity * (TITLE if titled else 1.0), key))
    scored.sort(key=lambda one: (-one[0], one[1]))
    return [
        Bridge(name=spelt[key], query=f"{spelt[key]} {_open(topic, told[key])}")
        for value, key in scored[:MOST]
        if value > 0
    ]


def _open(topic: str, told: frozenset[str]) -> str:
    """The words of ``topic`` that the passage with the name does not have; all where it has all."""
    words = [word for word in parse(topic).words if not parse(word).stem_set <= told]
    return " ".join(words) or topic


def _is_name(name: str) -> bool:
    words = name.split()
    return name[:1].isupper() and len(words) <= LONGEST_NAME and any(map(str.isalpha, words[0]))


def _held(kb: KnowledgeBase, analysis: Analysis, name: str, key: str) -> tuple[int, bool]:
    """How many passages hold ``name``, up to ``COUNTED_TO``; whether a document is called so."""
    limits = Filters(collections=analysis.filters.collections)
    found = kb.live().index.search_text(name, limits, COUNTED_TO)
    passages = kb.catalogue.live_passages([one.passage_id for one in found]).values()
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
