"""Finds the entities, speakers, authors, publishers and documents that a question names.

An entity is named by title, alias, id or part of the title; the longest name wins. Naming a person
is not a limit ("Who is Ada?"), but asking what the person said or wrote is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.ask.understand.question_parts import Limit, limit
from wellread.ask.understand.vocabulary import SHORT, NameForm, Vocabulary, is_everyday, word_runs
from wellread.store.catalogue.documents.listings import Entry
from wellread.store.catalogue.documents.name_records import (
    file_key,
    initials,
    singular_form,
    title_keys,
)
from wellread.text.english import (
    ACCORDING_TO,
    AFTER_NAME,
    ASKED_OF,
    BEFORE_NAME,
    FORMS_OF_ADDRESS,
    HEARD,
    OPINIONS,
    SAYING_FORMS,
    STOP_WORDS,
    WORKS,
    WRITING,
)
from wellread.text.parsed import parse
from wellread.text.tokens import (
    ARTICLES,
    Token,
    key_of,
    key_of_words,
    normalise,
    plain_at,
    singular,
)
from wellread.types import Filters, Span
from wellread.values.question import ConstraintKind, NamedEntity

MOST_NAMESAKES = 3
_QUOTES = "\"“”«»`'‘’"
_PLURAL = re.compile(r"(?<=[A-Z0-9])s$")


def entities_of(
    text: str, vocabulary: Vocabulary, excluded: Sequence[Span] = ()
) -> tuple[NamedEntity, ...]:
    """The entities named in ``text``, in reading order. Namesakes share a span."""
    vocabulary.learn(text)
    tokens = parse(text).tokens
    matches: list[tuple[Span, list[NameForm]]] = []
    for start, end, forms in _candidates(tokens, vocabulary):
        span = _span_of(tokens, start, end)
        if any(span.overlaps(other) for other, _ in matches):
            continue
        if any(span.overlaps(other) and len(span) <= len(other) for other in excluded):
            continue
        fitting = [
            form
            for form in forms
            if form.words > 1 or end - start > 1 or _fits(form, text, tokens, start)
        ]
        if fitting:
            matches.append((span, _most_reliable(span.of(text), fitting)))
    return tuple(
        NamedEntity(
            span=span,
            collection=form.node.collection,
            entity_id=form.node.id,
            title=form.node.title,
            type=form.node.type,
        )
        for span, forms in sorted(matches, key=lambda pair: pair[0].start)
        for form in forms
    )


def _span_of(tokens: Sequence[Token], start: int, end: int) -> Span:
    last = tokens[end - 1]
    return Span(start=tokens[start].start, end=last.start + len(last.written))


def _is_sloppy(text: str) -> bool:
    return not any(char.isupper() for char in text[1:])


def _candidates(
    tokens: Sequence[Token], vocabulary: Vocabulary
) -> list[tuple[int, int, tuple[NameForm, ...]]]:
    """Runs of words that spell an entity's name, longest first."""
    plain = [token.plain for token in tokens]
    runs = []
    for start, end in word_runs(tokens):
        if plain[start] in ARTICLES:
            continue
        forms = vocabulary.names.get(key_of_words(plain[start:end]), ())
        if forms:
            runs.append((start, end, forms))
    return sorted(runs, key=lambda run: (run[0] - run[1], run[0]))


def _fits(form: NameForm, text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether the word at ``place`` matches a one-word name."""
    token = tokens[place]
    if form.strict and _squeezed(token.written) != _squeezed(form.written):
        return False
    if form.exact and not _has_same_capitals(form.written, token.written, sloppy=_is_sloppy(text)):
        return False
    return not form.everyday or _is_used_as_name(text, tokens, place)


def _has_same_capitals(name: str, written: str, *, sloppy: bool) -> bool:
    """Whether a short name has the entity's capitals, or is all in capitals.

    In a question without capitals, lower case is accepted.
    """
    bare = _PLURAL.sub("", written)
    if bare in (name, name.upper()) or _PLURAL.sub("", name) == bare:
        return True
    return sloppy and written.islower() and len(written) > SHORT


def _is_used_as_name(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether an everyday word is used as a name, by its capital, quotes or neighbours."""
    token = tokens[place]
    before, after = text[: token.start].rstrip(" "), text[token.end :].lstrip(" ")
    if before[-1:] in _QUOTES and before and after[:1] in _QUOTES and after:
        return True
    if place and token.written[:1].isupper():
        return True
    previous, following = plain_at(tokens, place - 1), plain_at(tokens, place + 1)
    ends = not following or after[:1] in ",;:?.!)"
    return previous in BEFORE_NAME and (ends or following in AFTER_NAME)


def _most_reliable(written: str, forms: Sequence[NameForm]) -> list[NameForm]:
    """The most reliable forms; among them, exact spellings if there are any."""
    best = [form for form in forms if form.rank == forms[0].rank]
    just = [form for form in best if _squeezed(form.written) == _squeezed(written)]
    return (just or best)[:MOST_NAMESAKES]


def _squeezed(name: str) -> str:
    """The words of a name without gaps and article; plural endings are kept."""
    words = [token.plain for token in parse(name).tokens]
    return "".join(words[1:] if len(words) > 1 and words[0] in ARTICLES else words)


LONGEST_NAME = 5  # words in a person's name
_ASKED = re.compile(rf"\b(?:{'|'.join(ASKED_OF)})\s+(?:the\s+)?$", re.I)
_BY = re.compile(
    rf"\b(?:{WORKS}|written|published|authored|reported)\s+(?:[\w-]+\s+){{0,3}}?(?:by|from)\s+(?:the\s+)?$",
    re.I,
)
_BY_NAME = re.compile(r"\b(?:by|from)\s+(?:the\s+)?$", re.I)
_SAYING = re.compile(rf"^\s+(?:\w+ly\s+|also\s+|ever\s+)?{SAYING_FORMS}\b", re.I)
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
    """The speakers and authors named in ``text``; adjacent ones are merged."""
    vocabulary.learn(text)
    tokens = parse(text).tokens
    mentions: list[Mention] = []
    place = 0
    while place < len(tokens):
        place, mention = _person_at(text, tokens, place, vocabulary)
        if mention is None:
            continue
        if mentions and _BETWEEN.fullmatch(text[mentions[-1].span.end : mention.span.start]):
            mentions[-1] = _merge_mentions(mentions[-1], mention)
        else:
            mentions.append(mention)
    return mentions


def people_limits(text: str, mentions: Sequence[Mention]) -> Iterator[Limit]:
    """The limits on speaker and author that the question sets."""
    for mention in mentions:
        kind, cut = _asked_activity(text, mention)
        if kind == "speaker":
            filters = Filters(speakers=mention.speakers)
            yield limit(kind, mention.span, ", ".join(mention.speakers), filters, cut)
        elif kind == "author":
            yield limit(
                kind,
                mention.span,
                ", ".join(mention.authors),
                Filters(authors=mention.authors),
                cut,
            )


def _asked_activity(text: str, mention: Mention) -> tuple[ConstraintKind | Literal[""], Span]:
    """Whether the people's speech or writing is asked for, and the span that says so."""
    before, after = text[: mention.span.start], text[mention.span.end :]
    lead = _ASKED.search(before) or ACCORDING_TO.search(before) or _BY_NAME.search(before)
    speaking, writing = _SAYING.search(after), _WRITING.search(after)
    works = _BY.search(before) or _THEIR_WORK.search(after) or _IN_PAPER.search(text)
    opinion = _THEIR_OPINION.search(after)
    further = re.match(r"\s+(\w+)", after)
    written = mention.span.of(text)
    if (
        written.islower()
        and further
        and further[1].lower() not in STOP_WORDS
        and not (speaking or writing)
    ):
        return "", mention.span  # "the user interface guidelines"
    heard = ACCORDING_TO.search(before) or opinion or HEARD.search(before)
    start, end = lead.start() if lead else mention.span.start, mention.span.end
    kind: ConstraintKind
    if speaking:
        kind, end = "speaker", end + speaking.end()
    elif writing and mention.authors:
        kind, end = "author", end + writing.end()
    elif (mention.authors and works) or heard:
        kind = "author" if mention.authors and works else "speaker"
        end += opinion.end() if opinion else 0
    else:
        return "", mention.span
    if kind == "speaker" and not mention.speakers:
        kind = "author"  # not known as a speaker
    return kind, Span(start=start, end=end)


def _person_at(
    text: str, tokens: Sequence[Token], start: int, vocabulary: Vocabulary
) -> tuple[int, Mention | None]:
    """The next token to look at, and the longest name that begins at ``start``, if any."""
    for end in range(min(len(tokens), start + LONGEST_NAME), start, -1):
        if not all(token.joined for token in tokens[start + 1 : end]):
            continue
        key = key_of_words([token.plain for token in tokens[start:end]])
        speakers, authors = vocabulary.speakers.get(key, ()), vocabulary.authors.get(key, ())
        alone = end - start == 1 and not _is_whole_name(tokens, start, sloppy=_is_sloppy(text))
        if (speakers or authors) and not alone:
            first = start - 1 if _is_addressed(text, tokens, start) else start
            span = _span_of(tokens, first, end)
            return end, Mention(span=span, speakers=speakers, authors=authors)
    return start + 1, None


def _is_addressed(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether a form of address ("Captain") precedes the name."""
    if not place or tokens[place - 1].plain not in FORMS_OF_ADDRESS:
        return False
    return not text[tokens[place - 1].end : tokens[place].start].strip(" .")


def _is_whole_name(tokens: Sequence[Token], place: int, *, sloppy: bool) -> bool:
    """Whether one word is a whole name: not part of a longer one, and not an ordinary word."""
    token = tokens[place]
    if token.plain in STOP_WORDS or is_everyday(token.plain) or len(token.plain) < 3:
        return False
    before = tokens[place - 1].plain if place and token.joined else ""
    if not token.written[:1].isupper() and before and before not in STOP_WORDS | FORMS_OF_ADDRESS:
        return False  # "the user interface designer" is not "Industrial Designer"
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


def _merge_mentions(first: Mention, second: Mention) -> Mention:
    return Mention(
        span=Span(start=first.span.start, end=second.span.end),
        speakers=tuple(dict.fromkeys((*first.speakers, *second.speakers))),
        authors=tuple(dict.fromkeys((*first.authors, *second.authors))),
    )


EXACT, SHORT_NAME, WORDS = 3.0, 2.5, 1.0  # scores: whole title, short name, words of the title
KIND_FITS = 0.6  # bonus for a document of the named kind
KIND_MISSING = 1.2  # penalty per noun that does not fit
NEAR = 0.2  # documents within this distance of the best score match too
MOST = 3  # documents that one name may mean
LEAST_SHARE = 0.3  # of a title's words, in a name without a number or a kind
SURE, LIKELY, DOUBTFUL = 0.93, 0.85, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMatch:
    """The documents that match a name, best first, and the certainty."""

    entries: tuple[Entry, ...] = ()
    certainty: float = 0.0
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """The words by which a question names a document."""

    words: tuple[str, ...]
    nouns: tuple[str, ...] = ()


IsKind = Callable[[Entry, str], bool]


def resolve_document_name(
    name: Name, entries: Iterable[Entry], aliased: Iterable[str], files: dict[str, str], of: IsKind
) -> DocumentMatch:
    """Match ``name`` against the documents ``entries``."""
    alias_ids = frozenset(aliased)
    scored: list[tuple[float, float, Entry]] = []
    for entry in entries:
        fit = _score_title(name, entry, alias_ids, files.get(entry.id, ""), of)
        score = fit + _score_kinds(name, entry, of) if fit else 0.0
        if score >= WORDS:
            scored.append((score, fit, entry))
    scored.sort(key=lambda candidate: -candidate[0])
    best = [candidate for candidate in scored if candidate[0] >= scored[0][0] - NEAR]
    if not best or len(best) > MOST:
        return DocumentMatch()
    matches = tuple(entry for _, _, entry in best)
    exact = best[0][1] >= SHORT_NAME
    if len(best) > 1:
        return DocumentMatch(entries=matches, certainty=DOUBTFUL, exact=exact)
    sure = exact or any(word.isdigit() for word in name.words)
    return DocumentMatch(entries=matches, certainty=SURE if sure else LIKELY, exact=exact)


def _score_title(
    name: Name, entry: Entry, aliased: frozenset[str], address: str, of: IsKind
) -> float:
    name_key = key_of_words(list(name.words))
    title_key, main, words = title_keys(entry.title)
    if name_key == title_key:
        return EXACT
    if name_key in (main, file_key(address)) or entry.id in aliased:
        return SHORT_NAME
    if len(name.words) == 1 and name_key == initials(entry.title):
        return SHORT_NAME
    name_words = {*map(singular_form, name.words)}
    if not name_words or not name_words <= words:
        return 0.0
    share = len((name_words | {*map(singular_form, name.nouns)}) & words) / len(words)
    numbered = any(word.isdigit() for word in name.words)
    is_specific = numbered or share >= LEAST_SHARE or any(of(entry, noun) for noun in name.nouns)
    return WORDS + share if is_specific else 0.0


def _score_kinds(name: Name, entry: Entry, of: IsKind) -> float:
    """Score the nouns: each must occur in the title or name the document's kind."""
    words = title_keys(entry.title)[2]
    fitting = [noun for noun in name.nouns if of(entry, noun)]
    missing = [
        noun for noun in name.nouns if noun not in fitting and singular_form(noun) not in words
    ]
    return KIND_FITS * bool(fitting) - KIND_MISSING * len(missing)


_CALLED = r"(?P<name>[^\W_][\w’'-]*(?:\s+[^\W_][\w’'-]*){0,3}?)"
_PUBLISHED = (
    re.compile(
        rf"\b(?:did|do|does|has|have|had)\s+(?:the\s+)?{_CALLED}(?P<verb>\s+(?:{WRITING}|{SAYING_FORMS}))\b",
        re.IGNORECASE,
    ),
    re.compile(rf"{_CALLED}(?:['’]s)?(?=\s+{WORKS}\b)", re.IGNORECASE),
    re.compile(
        r"\b(?P<led>(?:[Bb]y|[Ii]n|[Ff]rom|[Aa]ccording\s+to)\s+)(?:the\s+)?"
        r"(?P<name>[A-Z][\w’'-]*(?:\s+[A-Z][\w’'-]*){0,3})"
    ),
)
_PUBLISHES = re.compile(rf"{WRITING}$", re.IGNORECASE)


def publisher_limits(
    text: str, vocabulary: Vocabulary, excluded: Sequence[Span]
) -> Iterator[Limit]:
    """The limit to one site's publications: "What did the Herald report", "council notices"."""
    for pattern in _PUBLISHED:
        for match in pattern.finditer(text):
            span, site = _publisher(text, match, vocabulary)
            if not site or any(span.overlaps(other) for other in excluded):
                continue
            groups = match.groupdict()
            start = match.start() if groups.get("led") else span.start
            end = match.end("verb") if groups.get("verb") else span.end
            filters = Filters(document_ids=vocabulary.published_by(site))
            yield limit("author", span, span.of(text), filters, Span(start=start, end=end))
            return


def _publisher(text: str, match: re.Match[str], vocabulary: Vocabulary) -> tuple[Span, str]:
    """The span and key of the longest suffix of the matched name that is a site's name.

    Preceding capitalised words belong to the name ("the Coast Current" is current.example). An
    everyday word in lower case counts only if it publishes ("did the council report").
    """
    start, end = match.span("name")
    words = list(re.finditer(r"[\w’'-]+", text[start:end]))
    for number, word in enumerate(words):
        site = key_of(re.sub(r"['’]s$", "", text[start + word.start() : end]))
        if site not in vocabulary.publishers:
            continue
        verb = (match.groupdict().get("verb") or "").strip()
        publishes = bool(_PUBLISHES.match(verb)) or _names_type(text[match.end() :], vocabulary)
        if not (word.group()[:1].isupper() or publishes or not is_everyday(site)):
            continue
        first = number
        while first and words[first - 1].group()[:1].isupper() and start + words[first - 1].start():
            first -= 1
        return Span(start=start + words[first].start(), end=end), site
    return Span(start=start, end=end), ""


def _names_type(after: str, vocabulary: Vocabulary) -> bool:
    """Whether the next word names a source type by its last word ("notices": public notices)."""
    noun = normalise(after.split()[0].strip("?.,;!")) if after.strip() else ""
    types = {normalise(re.split(r"[\s_-]+", name)[-1]) for name in vocabulary.source_types}
    return (singular(noun) or noun) in types
