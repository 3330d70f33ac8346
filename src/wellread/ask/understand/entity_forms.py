"""Under which spellings an entity is known to questions, and how strictly they are compared.

People write names in questions as they remember them: without capitals, hyphens and accents, by
number ("newsletter 80") or by the proper name at the end of a title ("the Kittiwake").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wellread.ask.understand.everyday import EVERYDAY
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.text.english import STOP_WORDS
from wellread.text.names import bracketed_forms, is_acronym, plural, singular
from wellread.text.tokens import ARTICLES, key_of, key_of_words, tokens_of

MOST_WORDS = 12
SHORT = 3  # letters up to which a single word has to be written as the entity writes it
TITLE, ALIAS, IDENTITY, PART = range(4)  # the better claims to a spelling come first

_SLUG = re.compile(r"(?:[a-z]+/)?(?P<words>[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)")
_NUMBERED = re.compile(r"(?:.*\s)?(?P<noun>[^\W\d_]{3,})\s+(?:#|no\.?\s*)?(?P<number>\d+)")
_APPOSED = re.compile(r"(?P<before>.*[a-z])\s(?P<name>[A-Z][\w’'-]{3,}(?:\s[A-Z][\w’'-]+)*)")
_LINKING = STOP_WORDS | {"in", "of", "at", "on", "to", "for", "near"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One spelling of one entity's name.

    Attributes:
        written: the spelling.
        exact: it counts only as it is written, capitals included.
        strict: it counts in this number only ("the turbines" are not a turbine).
        everyday: it counts only where it stands as a name.
        rank: how good the entity's claim to it is; smaller is better.
        words: how many it has.
    """

    node: EntityNode
    written: str
    exact: bool
    strict: bool
    everyday: bool
    rank: int
    words: int


def forms_of(nodes: Iterable[EntityNode]) -> dict[str, tuple[Named, ...]]:
    """Key of each spelling to those who are called so, the better claims first.

    A part of a name belongs to nobody when two entities have it.
    """
    found: dict[str, dict[tuple[str, str], Named]] = {}
    for node in nodes:
        for written, rank in _spellings(node):
            named = _named(node, written, rank)
            if named is None:
                continue
            key = key_of(written)
            those = found.setdefault(key, {})
            before = those.get((node.collection, node.id))
            if before is None or named.rank < before.rank:
                those[node.collection, node.id] = named
    kept: dict[str, tuple[Named, ...]] = {}
    for key, by_entity in found.items():
        order = sorted(by_entity.values(), key=lambda one: (one.rank, one.node.id))
        if order[0].rank < PART or len(order) == 1:
            kept[key] = tuple(order)
    return kept


def _spellings(node: EntityNode) -> Iterator[tuple[str, int]]:
    yield node.title, TITLE
    for alias in node.aliases:
        yield alias, ALIAS
    slug = _SLUG.fullmatch(node.id)
    if slug:
        yield slug["words"].replace("-", " ").replace("_", " "), IDENTITY
    for name in (node.title, *node.aliases):
        for form in bracketed_forms(name):
            yield form, PART if len(form) < len(name) / 3 and not is_acronym(form) else IDENTITY
    yield from ((part, PART) for part in _parts(node.title))
    yield from ((ending, PART) for ending in _shared_endings((node.title, *node.aliases)))


def _parts(title: str) -> Iterator[str]:
    """ "newsletter 80" of "Weekly Newsletter #80", "Kittiwake" of "Electric ferry Kittiwake"."""
    numbered = _NUMBERED.fullmatch(title)
    if numbered:
        yield f"{numbered['noun']} {numbered['number']}"
    apposed = _APPOSED.fullmatch(title)
    if apposed:
        last = apposed["before"].split()[-1]
        if last.islower() and last not in _LINKING:
            yield apposed["name"]


def _shared_endings(names: Sequence[str]) -> Iterator[str]:
    """ "tool library" of "Netloft Tool Library" that is also "the Merrow tool library"."""
    first: dict[str, str] = {}
    seen: set[str] = set()
    for name in names:
        words = name.split()
        ending = " ".join(words[-2:])
        key = key_of(ending)
        if len(words) < 3 or words[-2].lower() in _LINKING or key_of(name) in seen:
            continue
        seen.add(key_of(name))
        if key in first:
            yield first[key]
        first.setdefault(key, ending)


def _named(node: EntityNode, written: str, rank: int) -> Named | None:
    words = [token.plain for token in tokens_of(written)]
    article = len(words) > 1 and words[0] in ARTICLES
    words = words[1:] if article else words
    key = key_of_words(words)
    letters = sum(char.isalpha() for char in key)
    if not key or len(words) > MOST_WORDS or len(key) < 2 or letters < 2:
        return None
    single = len(words) == 1
    if single and key in STOP_WORDS:
        return None
    return Named(
        node=node,
        written=written,
        exact=single and not written.islower() and (is_acronym(written) or len(written) <= SHORT),
        strict=single and article,
        everyday=single and is_everyday(words[0]),
        rank=rank,
        words=len(words),
    )


def is_everyday(word: str) -> bool:
    """Whether ``word`` (plain) is one that questions are made of, in either number."""
    return word in EVERYDAY or singular(word) in EVERYDAY or plural(word) in EVERYDAY
