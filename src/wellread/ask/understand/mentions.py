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
from wellread.ask.understand.vocabulary import (
    MAX_EXACT,
    NameForm,
    Vocabulary,
    is_everyday,
    word_runs,
)
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
from wellread.types import DocumentFacts, Filters, Span
from wellread.values.question import ConstraintKind, NamedEntity

MAX_NAMESAKES = 3
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
            if form.words > 1 or end - start > 1 or _fits_name(form, text, tokens, start)
        ]
        if fitting:
            matches.append((span, _most_reliable_forms(span.of(text), fitting)))
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


def _lacks_capitals(text: str) -> bool:
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


def _fits_name(form: NameForm, text: str, tokens: Sequence[Token], index: int) -> bool:
    """Whether the word at ``index`` matches a one-word name."""
    token = tokens[index]
    if form.strict and _without_gaps(token.written) != _without_gaps(form.written):
        return False
    if form.exact and not _has_same_capitals(
        form.written, token.written, no_capitals=_lacks_capitals(text)
    ):
        return False
    return not form.everyday or _is_used_as_name(text, tokens, index)


def _has_same_capitals(name: str, written: str, *, no_capitals: bool) -> bool:
    """Whether a short name has the entity's capitals, or is all in capitals.

    In a question without capitals, lower case is accepted.
    """
    without_plural = _PLURAL.sub("", written)
    if without_plural in (name, name.upper()) or _PLURAL.sub("", name) == without_plural:
        return True
    return no_capitals and written.islower() and len(written) > MAX_EXACT


def _is_used_as_name(text: str, tokens: Sequence[Token], index: int) -> bool:
    """Whether an everyday word is used as a name, by its capital, quotes or neighbours."""
    token = tokens[index]
    before, after = text[: token.start].rstrip(" "), text[token.end :].lstrip(" ")
    if before[-1:] in _QUOTES and before and after[:1] in _QUOTES and after:
        return True
    if index and token.written[:1].isupper():
        return True
    previous, following = plain_at(tokens, index - 1), plain_at(tokens, index + 1)
    is_last = not following or after[:1] in ",;:?.!)"
    return previous in BEFORE_NAME and (is_last or following in AFTER_NAME)


def _most_reliable_forms(written: str, forms: Sequence[NameForm]) -> list[NameForm]:
    """The most reliable forms; among them, exact spellings if there are any."""
    best = [form for form in forms if form.rank == forms[0].rank]
    as_written = [form for form in best if _without_gaps(form.written) == _without_gaps(written)]
    return (as_written or best)[:MAX_NAMESAKES]


def _without_gaps(name: str) -> str:
    """The words of a name without gaps and article; plural endings are kept."""
    words = [token.plain for token in parse(name).tokens]
    return "".join(words[1:] if len(words) > 1 and words[0] in ARTICLES else words)


MAX_PERSON_WORDS = 5  # words in a person's name
_ASKED_BEFORE = re.compile(rf"\b(?:{'|'.join(ASKED_OF)})\s+(?:the\s+)?$", re.I)
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
    index = 0
    while index < len(tokens):
        index, mention = _person_at(text, tokens, index, vocabulary)
        if mention is None:
            continue
        if mentions and _BETWEEN.fullmatch(text[mentions[-1].span.end : mention.span.start]):
            last = mentions[-1]
            mentions[-1] = Mention(
                span=Span(start=last.span.start, end=mention.span.end),
                speakers=tuple(dict.fromkeys((*last.speakers, *mention.speakers))),
                authors=tuple(dict.fromkeys((*last.authors, *mention.authors))),
            )
        else:
            mentions.append(mention)
    return mentions


def people_limits(text: str, mentions: Sequence[Mention]) -> Iterator[Limit]:
    """The limits on speakers and authors in the question."""
    for mention in mentions:
        kind, cut = _asked_activity(text, mention)
        if kind:
            names = mention.speakers if kind == "speaker" else mention.authors
            filters = Filters(speakers=names) if kind == "speaker" else Filters(authors=names)
            yield limit(kind, mention.span, ", ".join(names), filters, cut)


def _asked_activity(text: str, mention: Mention) -> tuple[ConstraintKind | Literal[""], Span]:
    """The kind of limit on what the people said or wrote, if any, and the span that sets it."""
    before, after = text[: mention.span.start], text[mention.span.end :]
    lead = _ASKED_BEFORE.search(before) or ACCORDING_TO.search(before) or _BY_NAME.search(before)
    speaking, writing = _SAYING.search(after), _WRITING.search(after)
    works = _BY.search(before) or _THEIR_WORK.search(after) or _IN_PAPER.search(text)
    opinion = _THEIR_OPINION.search(after)
    next_word = re.match(r"\s+(\w+)", after)
    written = mention.span.of(text)
    if (
        written.islower()
        and next_word
        and next_word[1].lower() not in STOP_WORDS
        and not (speaking or writing)
    ):
        return "", mention.span  # "the user interface guidelines"
    is_view = ACCORDING_TO.search(before) or opinion or HEARD.search(before)
    start, end = lead.start() if lead else mention.span.start, mention.span.end
    kind: ConstraintKind
    if speaking:
        kind, end = "speaker", end + speaking.end()
    elif writing and mention.authors:
        kind, end = "author", end + writing.end()
    elif (mention.authors and works) or is_view:
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
    for end in range(min(len(tokens), start + MAX_PERSON_WORDS), start, -1):
        if not all(token.joined for token in tokens[start + 1 : end]):
            continue
        key = key_of_words([token.plain for token in tokens[start:end]])
        speakers, authors = vocabulary.speakers.get(key, ()), vocabulary.authors.get(key, ())
        is_part = end - start == 1 and not _is_whole_name(
            tokens, start, no_capitals=_lacks_capitals(text)
        )
        if (speakers or authors) and not is_part:
            first = start - 1 if _is_addressed(text, tokens, start) else start
            span = _span_of(tokens, first, end)
            return end, Mention(span=span, speakers=speakers, authors=authors)
    return start + 1, None


def _is_addressed(text: str, tokens: Sequence[Token], index: int) -> bool:
    """Whether a form of address ("Captain") precedes the name."""
    if not index or tokens[index - 1].plain not in FORMS_OF_ADDRESS:
        return False
    return not text[tokens[index - 1].end : tokens[index].start].strip(" .")


def _is_whole_name(tokens: Sequence[Token], index: int, *, no_capitals: bool) -> bool:
    """Whether one word is a whole name: not part of a longer one, and not an ordinary word."""
    token = tokens[index]
    if token.plain in STOP_WORDS or is_everyday(token.plain) or len(token.plain) < 3:
        return False
    before = tokens[index - 1].plain if index and token.joined else ""
    if not token.written[:1].isupper() and before and before not in STOP_WORDS | FORMS_OF_ADDRESS:
        return False  # "the user interface designer" is not "Industrial Designer"
    if no_capitals:
        return True
    if not token.written[:1].isupper() or token.written.isupper():  # MATT is not Matt
        return False
    earlier = tokens[index - 1] if index > 1 and token.joined else None
    after = tokens[index + 1] if index + 1 < len(tokens) and tokens[index + 1].joined else None
    return not any(
        other is not None and other.written[:1].isupper() and other.plain not in no_name
        for other, no_name in ((earlier, STOP_WORDS | FORMS_OF_ADDRESS), (after, STOP_WORDS))
    )


EXACT, SHORT_NAME, IN_TITLE = 3.0, 2.5, 1.0  # scores: full title, short name, some of its words
KIND_FITS = 0.6  # bonus for a document of the named kind
KIND_MISSING = 1.2  # penalty per noun that fits neither kind nor title
MAX_SCORE_GAP = 0.2  # documents this close to the best score match too
MAX_DOCUMENTS = 3  # with more, the name is too vague
MIN_SHARE = 0.3  # of a title's words; unless the name has a number or a kind
CERTAIN, LIKELY, DOUBTFUL = 0.93, 0.85, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMatch:
    """The documents that match a name, best first, and the certainty."""

    entries: tuple[DocumentFacts, ...] = ()
    certainty: float = 0.0
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """The words by which a question names a document."""

    words: tuple[str, ...]
    nouns: tuple[str, ...] = ()


IsKind = Callable[[DocumentFacts, str], bool]


def resolve_document_name(
    name: Name,
    entries: Iterable[DocumentFacts],
    aliased: Iterable[str],
    files: dict[str, str],
    fits: IsKind,
) -> DocumentMatch:
    """Match ``name`` against the documents ``entries``."""
    alias_ids = frozenset(aliased)
    scored: list[tuple[float, float, DocumentFacts]] = []
    for entry in entries:
        title_score = _score_title(name, entry, alias_ids, files.get(entry.id, ""), fits)
        score = title_score + _score_kinds(name, entry, fits) if title_score else 0.0
        if score >= IN_TITLE:
            scored.append((score, title_score, entry))
    scored.sort(key=lambda candidate: -candidate[0])
    best = [candidate for candidate in scored if candidate[0] >= scored[0][0] - MAX_SCORE_GAP]
    if not best or len(best) > MAX_DOCUMENTS:
        return DocumentMatch()
    matches = tuple(entry for _, _, entry in best)
    exact = best[0][1] >= SHORT_NAME
    if len(best) > 1:
        return DocumentMatch(entries=matches, certainty=DOUBTFUL, exact=exact)
    is_certain = exact or any(word.isdigit() for word in name.words)
    return DocumentMatch(entries=matches, certainty=CERTAIN if is_certain else LIKELY, exact=exact)


def _score_title(
    name: Name, entry: DocumentFacts, aliased: frozenset[str], address: str, fits: IsKind
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
    is_specific = numbered or share >= MIN_SHARE or any(fits(entry, noun) for noun in name.nouns)
    return IN_TITLE + share if is_specific else 0.0


def _score_kinds(name: Name, entry: DocumentFacts, fits: IsKind) -> float:
    """Score the nouns: each must occur in the title or name the document's kind."""
    words = title_keys(entry.title)[2]
    fitting = [noun for noun in name.nouns if fits(entry, noun)]
    missing = [
        noun for noun in name.nouns if noun not in fitting and singular_form(noun) not in words
    ]
    return KIND_FITS * bool(fitting) - KIND_MISSING * len(missing)


_SITE_NAME = r"(?P<name>[^\W_][\w’'-]*(?:\s+[^\W_][\w’'-]*){0,3}?)"
_PUBLISHED = (
    re.compile(
        rf"\b(?:did|do|does|has|have|had)\s+(?:the\s+)?{_SITE_NAME}(?P<verb>\s+(?:{WRITING}|{SAYING_FORMS}))\b",
        re.IGNORECASE,
    ),
    re.compile(rf"{_SITE_NAME}(?:['’]s)?(?=\s+{WORKS}\b)", re.IGNORECASE),
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
