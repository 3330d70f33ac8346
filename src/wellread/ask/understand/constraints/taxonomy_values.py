"""Limits by a value of the taxonomy: "at municipal scale", "patterns in the X group".

A value alone is a topic like any other ("energy"); it limits beside the name of its dimension, or
before a word for entries ("municipal projects").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellread.ask.understand.constraints.constraint_spans import Limit, limit
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.names import plural, singular
from wellread.text.tokens import Token, key_of_words, plain
from wellread.types import Filters, Span

LONGEST_VALUE = 8  # words
# Other words for dimensions that taxonomies often have.
_LIKE = {
    "scale": ("level",),
    "sector": ("field", "area"),
    "category": ("section",),
    "topic": ("subject", "theme"),
    "region": ("area",),
}
_ENTRIES = frozenset(
    """
    entry item topic project practice initiative pattern example case measure organisation
    organization technology policy solution tool approach concept term activity
    """.split()
)
_PREPOSITIONS = frozenset({"in", "at", "on", "for", "of", "from", "within", "under", "to", "with"})
_IN = re.compile(r"\W*(?:in|among|of|from)\s+(?:the\s+)?|\W*", re.IGNORECASE)
_LISTING = re.compile(
    r"\b(?:which|what|list|count|how\s+many|number\s+of|show|find|all|every|any)\b", re.IGNORECASE
)
_ASKED = re.compile(
    r"(?:^\W*|\b)(?:which|what|list|count|how\s+many|number\s+of|show|find|all|every|any)"
    r"(?:\s+[\w-]+){0,2}\s+$",
    re.IGNORECASE,
)


def taxonomy_of(text: str, tokens: Sequence[Token], vocabulary: Vocabulary) -> Iterator[Limit]:
    """The limits by taxonomy that the question sets."""
    names = _dimension_words(vocabulary.dimensions)
    entries = _ENTRIES | {plain(singular(name) or name) for name in vocabulary.entity_types}
    place = 0
    while place < len(tokens):
        end, pairs = _value(tokens, place, vocabulary)
        if not pairs:
            place += 1
            continue
        found = _limit(text, tokens, (place, end), pairs, (names, entries))
        if found is not None:
            yield found
        place = end


def _limit(
    text: str,
    tokens: Sequence[Token],
    place: tuple[int, int],
    pairs: Sequence[tuple[str, str]],
    words: tuple[dict[str, frozenset[str]], frozenset[str]],
) -> Limit | None:
    start, end = place
    names, entries = words
    before = tokens[start - 1].plain if start else ""
    further = tokens[start - 2].plain if start > 1 else ""
    after = tokens[end].plain if end < len(tokens) and tokens[end].joined else ""
    fitting = [pair for pair in pairs if pair[0] in names.get(after, ())]
    first, last = start, end
    if fitting:
        last = end + 1
    else:
        beside = before if before not in ("the", "a", "of") else further
        fitting = [pair for pair in pairs if pair[0] in names.get(beside, ())]
        if fitting:
            first = start - (1 if beside == before else 2)
    if not fitting and _lists(text, tokens, place, entries, after):
        fitting = list(pairs)
    if not fitting or len({dimension for dimension, _ in fitting}) > 1:
        return None
    cut = first
    while cut and (tokens[cut - 1].plain in _PREPOSITIONS or tokens[cut - 1].plain == "the"):
        cut -= 1
    dimension = fitting[0][0]
    values = [value for _, value in fitting]
    return limit(
        "taxonomy",
        Span(start=tokens[start].start, end=tokens[end - 1].end),
        f"{dimension}: {', '.join(values)}",
        Filters(taxonomy=tuple(fitting)),
        Span(start=tokens[cut].start, end=tokens[last - 1].end),
    )


def _lists(
    text: str,
    tokens: Sequence[Token],
    place: tuple[int, int],
    entries: frozenset[str],
    after: str,
) -> bool:
    """Whether entries are asked for: "municipal projects", "patterns in Meeting Practices"."""
    start, end = place
    if not _LISTING.search(text):
        return False
    before = text[: tokens[start].start]
    if (singular(after) or "") in entries and (_ASKED.search(before) or _IN.fullmatch(before)):
        return True
    if end - start < 2 or not start or tokens[start - 1].plain not in ("in", "under", "to", "from"):
        return False
    return any((singular(token.plain) or "") in entries for token in tokens[:start])


def _value(
    tokens: Sequence[Token], start: int, vocabulary: Vocabulary
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """The longest value of the taxonomy that begins at ``start``, and the token after it."""
    for end in range(min(len(tokens), start + LONGEST_VALUE), start, -1):
        pairs = vocabulary.taxonomy.get(key_of_words([one.plain for one in tokens[start:end]]))
        if pairs and all(token.joined for token in tokens[start + 1 : end]):
            return end, pairs
    return start, ()


def _dimension_words(dimensions: frozenset[str]) -> dict[str, frozenset[str]]:
    """Words for a dimension (in either number) to the dimensions that they may mean."""
    found: dict[str, set[str]] = {}
    for dimension in dimensions:
        name = plain(dimension.replace("_", " ").split()[-1]) if dimension.strip() else ""
        one = singular(name) or name
        for word in (one, *_LIKE.get(one, ())):
            for form in (word, plural(word)):
                found.setdefault(form, set()).add(dimension)
    return {word: frozenset(those) for word, those in found.items()}
