"""Entities that a question names: by title, alias, id or part of the title; the longest first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.ask.understand.entity_forms import SHORT, Named
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.questions import NamedEntity
from wellread.text.tokens import ARTICLES, Token, key_of_words, tokens_of
from wellread.types import Span

MOST_NAMESAKES = 3
_QUOTES = "\"“”«»`'‘’"
# Words after or before which an everyday word stands as a name: "what is a role?".
_BEFORE = frozenset(
    """
    a about an and are between called concept define describe do does explain from is mean means
    of on or pattern than term to topic versus vs was were with
    """.split()
)
_AFTER = frozenset(
    """
    and are be become can cannot compare compared compares differ differs from has have is mean
    means must or related relate relates should to used versus vs was were without work works with
    """.split()
)
_PLURAL = re.compile(r"(?<=[A-Z0-9])s$")


def entities_of(
    text: str, tokens: Sequence[Token], vocabulary: Vocabulary, taken: Sequence[Span] = ()
) -> tuple[NamedEntity, ...]:
    """The entities that ``text`` names, in reading order. Namesakes share a span.

    Args:
        taken: places that hold something else (the name of a speaker).
    """
    sloppy = not any(char.isupper() for char in text[1:])
    found: list[tuple[Span, list[Named]]] = []
    for start, end, forms in _candidates(tokens, vocabulary):
        last = tokens[end - 1]
        span = Span(start=tokens[start].start, end=last.start + len(last.written))
        if any(span.overlaps(other) for other, _ in found):
            continue
        if any(span.overlaps(other) and len(span) <= len(other) for other in taken):
            continue
        fitting = [form for form in forms if _fits(form, text, tokens, (start, end), sloppy=sloppy)]
        if fitting:
            found.append((span, _best(span.of(text), fitting)))
    found.sort(key=lambda pair: pair[0].start)
    return tuple(
        NamedEntity(
            span=span,
            collection=form.node.collection,
            entity_id=form.node.id,
            title=form.node.title,
            type=form.node.type,
        )
        for span, forms in found
        for form in forms
    )


def _candidates(
    tokens: Sequence[Token], vocabulary: Vocabulary
) -> list[tuple[int, int, tuple[Named, ...]]]:
    """Runs of words that are a spelling of something, the longest runs first."""
    plain = [token.plain for token in tokens]
    found = []
    for start in range(len(tokens)):
        if plain[start] in ARTICLES:
            continue
        for end in range(start + 1, min(len(tokens), start + vocabulary.longest) + 1):
            if end - start > 1 and not tokens[end - 1].joined:
                break
            forms = vocabulary.names.get(key_of_words(plain[start:end]))
            if forms:
                found.append((start, end, forms))
    return sorted(found, key=lambda one: (one[0] - one[1], one[0]))


def _fits(
    form: Named, text: str, tokens: Sequence[Token], place: tuple[int, int], *, sloppy: bool
) -> bool:
    start, end = place
    if form.words > 1 or end - start > 1:
        return True
    token = tokens[start]
    if form.strict and _joined(token.written) != _joined(form.written):
        return False
    if form.exact and not _written_so(form.written, token.written, sloppy=sloppy):
        return False
    return not form.everyday or _stands_as_name(text, tokens, start)


def _written_so(name: str, written: str, *, sloppy: bool) -> bool:
    """Whether a short name is written as the entity writes it, or louder.

    In a question without any capitals, lower case will do.
    """
    bare = _PLURAL.sub("", written)
    if bare in (name, name.upper()) or _PLURAL.sub("", name) == bare:
        return True
    return sloppy and written.islower() and len(written) > SHORT


def _stands_as_name(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether an everyday word is meant as a name there: by capital, quotes or neighbours."""
    token = tokens[place]
    before, after = text[: token.start].rstrip(" "), text[token.end :].lstrip(" ")
    if before[-1:] in _QUOTES and before and after[:1] in _QUOTES and after:
        return True
    if place and token.written[:1].isupper():
        return True
    previous = tokens[place - 1].plain if place else ""
    following = tokens[place + 1].plain if place + 1 < len(tokens) else ""
    ends = not following or after[:1] in ",;:?.!)"
    return previous in _BEFORE and (ends or following in _AFTER)


def _best(written: str, forms: Sequence[Named]) -> list[Named]:
    """Those with the best claim; of these, those that are spelled just so where there are any."""
    best = [form for form in forms if form.rank == forms[0].rank]
    just = [form for form in best if _joined(form.written) == _joined(written)]
    return (just or best)[:MOST_NAMESAKES]


def _joined(name: str) -> str:
    """The words of a name without gaps and article, in the number that they are written in."""
    words = [token.plain for token in tokens_of(name)]
    return "".join(words[1:] if len(words) > 1 and words[0] in ARTICLES else words)
