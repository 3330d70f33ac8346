"""Who and what a question names: entities of the graph, speakers and authors.

An entity is named by title, alias, id or part of the title; the longest name counts. Naming a
person is no limit ("Who is Ada?"); asking for what the person said or wrote is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.ask.understand.question_parts import Limit, limit
from wellread.ask.understand.vocabulary import SHORT, Named, Vocabulary, is_everyday
from wellread.questions import ConstraintKind, NamedEntity
from wellread.text.english import STOP_WORDS
from wellread.text.english_questions import (
    AFTER_NAME,
    BEFORE_NAME,
    OPINIONS,
    SAYING,
    WORKS,
    WRITING,
)
from wellread.text.tokens import ARTICLES, Token, key_of_words, tokens_of
from wellread.types import Filters, Span

MOST_NAMESAKES = 3
_QUOTES = "\"“”«»`'‘’"
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
    return previous in BEFORE_NAME and (ends or following in AFTER_NAME)


def _best(written: str, forms: Sequence[Named]) -> list[Named]:
    """Those with the best claim; of these, those that are spelled just so where there are any."""
    best = [form for form in forms if form.rank == forms[0].rank]
    just = [form for form in best if _joined(form.written) == _joined(written)]
    return (just or best)[:MOST_NAMESAKES]


def _joined(name: str) -> str:
    """The words of a name without gaps and article, in the number that they are written in."""
    words = [token.plain for token in tokens_of(name)]
    return "".join(words[1:] if len(words) > 1 and words[0] in ARTICLES else words)


LONGEST_NAME = 5  # words
_ASKED = re.compile(r"\b(?:do|does|did|has|have|had)\s+(?:the\s+)?$", re.I)
_ACCORDING = re.compile(
    r"\b(?:according\s+to|going\s+by|as\s+told\s+by|in\s+the\s+words\s+of|per)\s+$", re.I
)
_HEARD = re.compile(
    r"\b(?:episodes?|recaps?|interviews?|transcripts?|podcasts?|talks?|recordings?|conversations?)"
    r"\s+(?:with|by|of|featuring)\s+$",
    re.I,
)
_BY = re.compile(
    rf"\b(?:{WORKS}|written|published|authored|reported)\s+(?:[\w-]+\s+){{0,3}}?(?:by|from)\s+(?:the\s+)?$",
    re.I,
)
_BY_NAME = re.compile(r"\b(?:by|from)\s+(?:the\s+)?$", re.I)
_SAYING = re.compile(rf"^\s+(?:\w+ly\s+|also\s+|ever\s+)?{SAYING}\b", re.I)
_WRITING = re.compile(rf"^\s+(?:\w+ly\s+|also\s+|ever\s+)?{WRITING}\b", re.I)
_THEIR_WORK = re.compile(rf"^['’]s?\s+(?:\w+\s+)?{WORKS}\b|^\s+et\s+al\b", re.I)
_THEIR_OPINION = re.compile(rf"^['’]s?\s+(?:\w+\s+)?{OPINIONS}\b", re.I)
_IN_PAPER = re.compile(rf"\bin\s+(?:his|her|their)\s+(?:\w+\s+)?{WORKS}\b", re.I)
_BETWEEN = re.compile(r"\s*(?:,|,?\s*\band\b|&|\bor\b)\s*", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One or several people named side by side."""

    span: Span
    speakers: tuple[str, ...]
    authors: tuple[str, ...]


def people_in(text: str, tokens: Sequence[Token], vocabulary: Vocabulary) -> list[Mention]:
    """The speakers and authors that ``text`` names, those side by side together."""
    sloppy = not any(char.isupper() for char in text[1:])
    found: list[Mention] = []
    place = 0
    while place < len(tokens):
        end, mention = _person(tokens, place, vocabulary, sloppy=sloppy)
        if mention is None:
            place += 1
            continue
        place = end
        if found and _BETWEEN.fullmatch(text[found[-1].span.end : mention.span.start]):
            found[-1] = _together(found[-1], mention)
        else:
            found.append(mention)
    return found


def people_of(text: str, mentions: Sequence[Mention]) -> Iterator[Limit]:
    """The limits on speaker and author that the question sets."""
    for mention in mentions:
        before, after = text[: mention.span.start], text[mention.span.end :]
        kind, cut = _meant(text, mention, before, after)
        names = {"speaker": mention.speakers, "author": mention.authors}.get(kind, ())
        if kind == "speaker" and names:
            filters = Filters(speakers=names)
            yield limit("speaker", mention.span, ", ".join(names), filters, cut)
        elif kind == "author" and names:
            yield limit("author", mention.span, ", ".join(names), Filters(authors=names), cut)


def _meant(
    text: str, mention: Mention, before: str, after: str
) -> tuple[ConstraintKind | Literal[""], Span]:
    """Whether the people's speech or writing is asked for, and which words say so."""
    lead = _ASKED.search(before) or _ACCORDING.search(before) or _BY_NAME.search(before)
    said, wrote = _SAYING.search(after), _WRITING.search(after)
    start, end = lead.start() if lead else mention.span.start, mention.span.end
    kind: ConstraintKind | Literal[""] = ""
    if said:
        kind, end = "speaker", end + said.end()
    elif wrote and mention.authors:
        kind, end = "author", end + wrote.end()
    elif mention.authors and (
        _BY.search(before) or _THEIR_WORK.search(after) or _IN_PAPER.search(text)
    ):
        kind = "author"
    elif _ACCORDING.search(before) or _THEIR_OPINION.search(after) or _HEARD.search(before):
        kind = "speaker"
    if kind == "speaker" and not mention.speakers:
        kind = "author"  # who is only known to write says it in writing
    return kind, Span(start=start, end=end) if kind else mention.span


def _person(
    tokens: Sequence[Token], start: int, vocabulary: Vocabulary, *, sloppy: bool
) -> tuple[int, Mention | None]:
    """The longest name that begins at ``start``, and the token after it."""
    for end in range(min(len(tokens), start + LONGEST_NAME), start, -1):
        if any(not token.joined for token in tokens[start + 1 : end]):
            continue
        key = key_of_words([token.plain for token in tokens[start:end]])
        speakers, authors = vocabulary.speakers.get(key, ()), vocabulary.authors.get(key, ())
        if not speakers and not authors:
            continue
        if end - start == 1 and not _stands_alone(tokens, start, sloppy=sloppy):
            continue
        last = tokens[end - 1]
        span = Span(start=tokens[start].start, end=last.start + len(last.written))
        return end, Mention(span=span, speakers=speakers, authors=authors)
    return start, None


def _stands_alone(tokens: Sequence[Token], place: int, *, sloppy: bool) -> bool:
    """Whether one word is meant as a whole name: not part of a longer one, no ordinary word."""
    token = tokens[place]
    if token.plain in STOP_WORDS or is_everyday(token.plain) or len(token.plain) < 3:
        return False
    if sloppy:
        return True
    if not token.written[:1].isupper() or token.written.isupper():  # MATT is not Matt
        return False
    before = tokens[place - 1] if place > 1 and token.joined else None
    after = tokens[place + 1] if place + 1 < len(tokens) and tokens[place + 1].joined else None
    return not any(
        other is not None and other.written[:1].isupper() and other.plain not in STOP_WORDS
        for other in (before, after)
    )


def _together(one: Mention, other: Mention) -> Mention:
    return Mention(
        span=Span(start=one.span.start, end=other.span.end),
        speakers=tuple(dict.fromkeys((*one.speakers, *other.speakers))),
        authors=tuple(dict.fromkeys((*one.authors, *other.authors))),
    )
