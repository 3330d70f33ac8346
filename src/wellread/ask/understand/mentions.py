"""Who and what a question names: entities of the graph, speakers and authors.

An entity is named by title, alias, id or part of the title; the longest name counts. Naming a
person is no limit ("Who is Ada?"); asking for what the person said or wrote is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.ask.understand.question_parts import Limit, limit
from wellread.ask.understand.vocabulary import SHORT, Named, Vocabulary, is_everyday, runs_in
from wellread.store.catalogue.documents.listings import Entry
from wellread.store.catalogue.documents.name_records import file_key, initials, one_of, title_keys
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
from wellread.text.names import singular
from wellread.text.parsed import parse
from wellread.text.tokens import ARTICLES, Token, key_of, key_of_words, plain, plain_at
from wellread.types import Filters, Span
from wellread.values.question import ConstraintKind, NamedEntity

MOST_NAMESAKES = 3
_QUOTES = "\"“”«»`'‘’"
_PLURAL = re.compile(r"(?<=[A-Z0-9])s$")


def entities_of(
    text: str, vocabulary: Vocabulary, taken: Sequence[Span] = ()
) -> tuple[NamedEntity, ...]:
    """The entities that ``text`` names, in reading order. Namesakes share a span."""
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


EXACT, SHORT_NAME, WORDS = 3.0, 2.5, 1.0  # a whole title, the short name of one, words of one
KIND_FITS = 0.6  # for a document that is of the kind that the question says
KIND_MISSING = 1.2  # against one of another
NEAR = 0.2  # documents that fit so nearly as well as the best are meant as well
MOST = 3  # documents that one name may mean
LEAST_SHARE = 0.3  # of a title's words, for a name without a number or a kind
SURE, LIKELY, DOUBTFUL = 0.93, 0.85, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The documents that a name means, best first, and how sure that is."""

    entries: tuple[Entry, ...] = ()
    certainty: float = 0.0
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a question calls a document."""

    words: tuple[str, ...]
    nouns: tuple[str, ...] = ()


IsKind = Callable[[Entry, str], bool]


def meant_by(
    name: Name, entries: Iterable[Entry], aliased: Iterable[str], files: dict[str, str], of: IsKind
) -> Meant:
    """The documents that ``name`` means, of ``entries`` that may be meant.

    Args:
        aliased: ids of documents that bear the name as entities.
        files: id of a document to its address, whose last part is a name as well.
        of: whether a document is of the kind that a noun says.
    """
    known = frozenset(aliased)
    scored: list[tuple[float, float, Entry]] = []
    for entry in entries:
        fit = _fit(name, entry, known, files.get(entry.id, ""), of)
        score = fit + _kinds(name, entry, of) if fit else 0.0
        if score >= WORDS:
            scored.append((score, fit, entry))
    scored.sort(key=lambda one: -one[0])
    best = [one for one in scored if one[0] >= scored[0][0] - NEAR]
    if not best or len(best) > MOST:
        return Meant()
    found = tuple(entry for _, _, entry in best)
    exact = best[0][1] >= SHORT_NAME
    if len(best) > 1:
        return Meant(entries=found, certainty=DOUBTFUL, exact=exact)
    sure = exact or any(word.isdigit() for word in name.words)
    return Meant(entries=found, certainty=SURE if sure else LIKELY, exact=exact)


def _fit(name: Name, entry: Entry, aliased: frozenset[str], address: str, of: IsKind) -> float:
    """How well a title fits a name; 0 when it does not."""
    asked = key_of_words(list(name.words))
    whole, main, words = title_keys(entry.title)
    if asked == whole:
        return EXACT
    if asked in (main, file_key(address)) or entry.id in aliased:
        return SHORT_NAME
    if len(name.words) == 1 and asked == initials(entry.title):
        return SHORT_NAME
    held = {*map(one_of, name.words)}
    if not held or not held <= words:
        return 0.0
    share = len((held | {*map(one_of, name.nouns)}) & words) / len(words)
    numbered = any(word.isdigit() for word in name.words)
    told = numbered or share >= LEAST_SHARE or any(of(entry, noun) for noun in name.nouns)
    return WORDS + share if told else 0.0


def _kinds(name: Name, entry: Entry, of: IsKind) -> float:
    """What the nouns add: each has to be said by the title or by the kind."""
    words = title_keys(entry.title)[2]
    fitting = [noun for noun in name.nouns if of(entry, noun)]
    missing = [noun for noun in name.nouns if noun not in fitting and one_of(noun) not in words]
    return KIND_FITS * bool(fitting) - KIND_MISSING * len(missing)


_CALLED = r"(?P<name>[^\W_][\w’'-]*(?:\s+[^\W_][\w’'-]*){0,3}?)"
_PUBLISHED = (
    re.compile(
        rf"\b(?:did|do|does|has|have|had)\s+(?:the\s+)?{_CALLED}(?P<verb>\s+(?:{WRITING}|{SAYING}))\b",
        re.IGNORECASE,
    ),
    re.compile(rf"{_CALLED}(?:['’]s)?(?=\s+{WORKS}\b)", re.IGNORECASE),
    re.compile(
        r"\b(?P<led>(?:[Bb]y|[Ii]n|[Ff]rom|[Aa]ccording\s+to)\s+)(?:the\s+)?"
        r"(?P<name>[A-Z][\w’'-]*(?:\s+[A-Z][\w’'-]*){0,3})"
    ),
)
_PUBLISHES = re.compile(rf"{WRITING}$", re.IGNORECASE)


def published_of(text: str, vocabulary: Vocabulary, taken: Sequence[Span]) -> Iterator[Limit]:
    """The limit to what one site published: "What did the Herald report", "council notices"."""
    for pattern in _PUBLISHED:
        for match in pattern.finditer(text):
            found, site = _publisher(text, match, vocabulary)
            if not site or any(found.overlaps(other) for other in taken):
                continue
            groups = match.groupdict()
            start = match.start() if groups.get("led") else found.start
            end = match.end("verb") if groups.get("verb") else found.end
            filters = Filters(document_ids=vocabulary.published_by(site))
            yield limit("author", found, found.of(text), filters, Span(start=start, end=end))
            return


def _publisher(text: str, match: re.Match[str], vocabulary: Vocabulary) -> tuple[Span, str]:
    """Where the longest end of the matched name stands that is what a site is called, and its key.

    "the Coast Current" is current.example: capitals before it belong to the name. In lower case an
    everyday word is meant only where it publishes ("did the council report", "council notices").
    """
    start, end = match.span("name")
    words = list(re.finditer(r"[\w’'-]+", text[start:end]))
    for number, word in enumerate(words):
        site = key_of(re.sub(r"['’]s$", "", text[start + word.start() : end]))
        if site not in vocabulary.publishers:
            continue
        verb = (match.groupdict().get("verb") or "").strip()
        publishes = bool(_PUBLISHES.match(verb)) or _typed(text[match.end() :], vocabulary)
        if not (word.group()[:1].isupper() or publishes or not is_everyday(site)):
            continue
        first = number
        while first and words[first - 1].group()[:1].isupper() and start + words[first - 1].start():
            first -= 1
        return Span(start=start + words[first].start(), end=end), site
    return Span(start=start, end=end), ""


def _typed(after: str, vocabulary: Vocabulary) -> bool:
    """Whether the next word is what the sources of a type are called: "notices" of public ones."""
    noun = plain(after.split()[0].strip("?.,;!")) if after.strip() else ""
    types = {plain(re.split(r"[\s_-]+", name)[-1]) for name in vocabulary.source_types}
    return (singular(noun) or noun) in types
