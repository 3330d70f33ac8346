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
from wellread.ask.understand.vocabulary import SHORT, Named, Vocabulary, is_everyday, runs_in
from wellread.questions import ConstraintKind, NamedEntity
from wellread.text.english import STOP_WORDS
from wellread.text.english_common import FORMS_OF_ADDRESS
from wellread.text.english_questions import (
    ACCORDING_TO,
    AFTER_NAME,
    ASKED_OF,
    BEFORE_NAME,
    HEARD,
    OPINIONS,
    SAYING,
    WORKS,
    WRITING,
)
from wellread.text.parsed import parse
from wellread.text.tokens import ARTICLES, Token, key_of_words, plain_at
from wellread.types import Filters, Span

MOST_NAMESAKES = 3
_QUOTES = "\"“”«»`'‘’"
_PLURAL = re.compile(r"(?<=[A-Z0-9])s$")


def entities_of(
    text: str, vocabulary: Vocabulary, taken: Sequence[Span] = ()
) -> tuple[NamedEntity, ...]:
    """The entities that ``text`` names, in reading order. Namesakes share a span.

    Args:
        taken: places that hold something else (the name of a speaker).
    """
    vocabulary.learn(text)
    tokens = parse(text).tokens
    found: list[tuple[Span, list[Named]]] = []
    for start, end, forms in _candidates(tokens, vocabulary):
        span = _over(tokens, start, end)
        if any(span.overlaps(other) for other, _ in found):
            continue
        if any(span.overlaps(other) and len(span) <= len(other) for other in taken):
            continue
        fitting = [
            form
            for form in forms
            if form.words > 1 or end - start > 1 or _fits(form, text, tokens, start)
        ]
        if fitting:
            found.append((span, _best(span.of(text), fitting)))
    return tuple(
        NamedEntity(
            span=span,
            collection=form.node.collection,
            entity_id=form.node.id,
            title=form.node.title,
            type=form.node.type,
        )
        for span, forms in sorted(found, key=lambda pair: pair[0].start)
        for form in forms
    )


def _over(tokens: Sequence[Token], start: int, end: int) -> Span:
    """Where these words stand, without a possessive behind."""
    last = tokens[end - 1]
    return Span(start=tokens[start].start, end=last.start + len(last.written))


def _is_sloppy(text: str) -> bool:
    """Whether it is written without any capitals."""
    return not any(char.isupper() for char in text[1:])


def _candidates(
    tokens: Sequence[Token], vocabulary: Vocabulary
) -> list[tuple[int, int, tuple[Named, ...]]]:
    """Runs of words that are a spelling of something, the longest runs first."""
    plain = [token.plain for token in tokens]
    found = []
    for start, end in runs_in(tokens, vocabulary.longest):
        if plain[start] in ARTICLES:
            continue
        forms = vocabulary.names.get(key_of_words(plain[start:end]), ())
        if forms:
            found.append((start, end, forms))
    return sorted(found, key=lambda one: (one[0] - one[1], one[0]))


def _fits(form: Named, text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether one word is meant for a name of one word."""
    token = tokens[place]
    if form.strict and _joined(token.written) != _joined(form.written):
        return False
    if form.exact and not _written_so(form.written, token.written, sloppy=_is_sloppy(text)):
        return False
    return not form.everyday or _stands_as_name(text, tokens, place)


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
    previous, following = plain_at(tokens, place - 1), plain_at(tokens, place + 1)
    ends = not following or after[:1] in ",;:?.!)"
    return previous in BEFORE_NAME and (ends or following in AFTER_NAME)


def _best(written: str, forms: Sequence[Named]) -> list[Named]:
    """Those with the best claim; of these, those that are spelled just so where there are any."""
    best = [form for form in forms if form.rank == forms[0].rank]
    just = [form for form in best if _joined(form.written) == _joined(written)]
    return (just or best)[:MOST_NAMESAKES]


def _joined(name: str) -> str:
    """The words of a name without gaps and article, in the number that they are written in."""
    words = [token.plain for token in parse(name).tokens]
    return "".join(words[1:] if len(words) > 1 and words[0] in ARTICLES else words)


LONGEST_NAME = 5  # words
_ASKED = re.compile(rf"\b(?:{'|'.join(ASKED_OF)})\s+(?:the\s+)?$", re.I)
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


def people_in(text: str, vocabulary: Vocabulary) -> list[Mention]:
    """The speakers and authors that ``text`` names, those side by side together."""
    vocabulary.learn(text)
    tokens = parse(text).tokens
    found: list[Mention] = []
    place = 0
    while place < len(tokens):
        place, mention = _person(text, tokens, place, vocabulary)
        if mention is None:
            continue
        if found and _BETWEEN.fullmatch(text[found[-1].span.end : mention.span.start]):
            found[-1] = _together(found[-1], mention)
        else:
            found.append(mention)
    return found


def people_of(text: str, mentions: Sequence[Mention]) -> Iterator[Limit]:
    """The limits on speaker and author that the question sets."""
    for one in mentions:
        kind, cut = _meant(text, one)
        if kind == "speaker":
            filters = Filters(speakers=one.speakers)
            yield limit(kind, one.span, ", ".join(one.speakers), filters, cut)
        elif kind == "author":
            yield limit(kind, one.span, ", ".join(one.authors), Filters(authors=one.authors), cut)


def _meant(text: str, mention: Mention) -> tuple[ConstraintKind | Literal[""], Span]:
    """Whether the people's speech or writing is asked for, and which words say so."""
    before, after = text[: mention.span.start], text[mention.span.end :]
    lead = _ASKED.search(before) or ACCORDING_TO.search(before) or _BY_NAME.search(before)
    said, wrote = _SAYING.search(after), _WRITING.search(after)
    works = _BY.search(before) or _THEIR_WORK.search(after) or _IN_PAPER.search(text)
    opinion = _THEIR_OPINION.search(after)
    further = re.match(r"\s+(\w+)", after)
    written = mention.span.of(text)
    if (
        written.islower()
        and further
        and further[1].lower() not in STOP_WORDS
        and not (said or wrote)
    ):
        return "", mention.span  # "the user interface guidelines" are nobody's words
    heard = ACCORDING_TO.search(before) or opinion or HEARD.search(before)
    start, end = lead.start() if lead else mention.span.start, mention.span.end
    kind: ConstraintKind
    if said:
        kind, end = "speaker", end + said.end()
    elif wrote and mention.authors:
        kind, end = "author", end + wrote.end()
    elif (mention.authors and works) or heard:
        kind = "author" if mention.authors and works else "speaker"
        end += opinion.end() if opinion else 0
    else:
        return "", mention.span
    if kind == "speaker" and not mention.speakers:
        kind = "author"  # who is only known to write says it in writing
    return kind, Span(start=start, end=end)


def _person(
    text: str, tokens: Sequence[Token], start: int, vocabulary: Vocabulary
) -> tuple[int, Mention | None]:
    """The longest name that begins at ``start``, if any, and the token to go on from."""
    for end in range(min(len(tokens), start + LONGEST_NAME), start, -1):
        if not all(token.joined for token in tokens[start + 1 : end]):
            continue
        key = key_of_words([token.plain for token in tokens[start:end]])
        speakers, authors = vocabulary.speakers.get(key, ()), vocabulary.authors.get(key, ())
        alone = end - start == 1 and not _stands_alone(tokens, start, sloppy=_is_sloppy(text))
        if (speakers or authors) and not alone:
            first = start - 1 if _is_addressed(text, tokens, start) else start
            span = _over(tokens, first, end)
            return end, Mention(span=span, speakers=speakers, authors=authors)
    return start + 1, None


def _is_addressed(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether a form of address stands before a name: it belongs to the mention."""
    if not place or tokens[place - 1].plain not in FORMS_OF_ADDRESS:
        return False
    return not text[tokens[place - 1].end : tokens[place].start].strip(" .")


def _stands_alone(tokens: Sequence[Token], place: int, *, sloppy: bool) -> bool:
    """Whether one word is meant as a whole name: not part of a longer one, no ordinary word."""
    token = tokens[place]
    if token.plain in STOP_WORDS or is_everyday(token.plain) or len(token.plain) < 3:
        return False
    before = tokens[place - 1].plain if place and token.joined else ""
    if not token.written[:1].isupper() and before and before not in STOP_WORDS | FORMS_OF_ADDRESS:
        return False  # "the user interface designer" is no part of "Industrial Designer"
    if sloppy:
        return True
    if not token.written[:1].isupper() or token.written.isupper():  # MATT is not Matt
        return False
    earlier = tokens[place - 1] if place > 1 and token.joined else None
    after = tokens[place + 1] if place + 1 < len(tokens) and tokens[place + 1].joined else None
    return not any(
        other is not None and other.written[:1].isupper() and other.plain not in no_name
        for other, no_name in ((earlier, STOP_WORDS | FORMS_OF_ADDRESS), (after, STOP_WORDS))
    )


def _together(one: Mention, other: Mention) -> Mention:
    return Mention(
        span=Span(start=one.span.start, end=other.span.end),
        speakers=tuple(dict.fromkeys((*one.speakers, *other.speakers))),
        authors=tuple(dict.fromkeys((*one.authors, *other.authors))),
    )
