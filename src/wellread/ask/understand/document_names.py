"""Which documents a question means by a name: a title, the short name before its colon, a number,
a file's name, an alias of an entity, words that only one title holds, or the site it is on.

A name that fits several is told as such: the fewer it fits and the more of the title it says, the
surer it is. One of a series that a question looks into ("in newsletter 80") is a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from wellread.ask.understand.question_parts import Limit, limit
from wellread.ask.understand.vocabulary import Vocabulary, is_everyday
from wellread.store.catalogue.documents.listings import Entry
from wellread.store.catalogue.documents.name_records import file_key, initials, one_of, title_keys
from wellread.text.english import MONTHS
from wellread.text.english_questions import ASKED_OF, LOOKING_INTO, SAYING, WORKS, WRITING
from wellread.text.names import singular
from wellread.text.tokens import key_of, key_of_words, plain, tokens_of
from wellread.types import Filters, Span

EXACT, SHORT, WORDS = 3.0, 2.5, 1.0  # a whole title, the short name of one, words of one
KIND_FITS = 0.6  # for a document that is of the kind that the question says
KIND_MISSING = 1.2  # against one of another
NEAR = 0.2  # documents that fit so nearly as well as the best are meant as well
MOST = 3  # documents that one name may mean
LEAST_SHARE = 0.3  # of a title's words, for a name without a number or a kind
SURE, LIKELY, DOUBTFUL = 0.93, 0.85, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The documents that a name means, best first, and how sure that is.

    Attributes:
        exact: it is what they are called, and not only words of their titles.
    """

    entries: tuple[Entry, ...] = ()
    certainty: float = 0.0
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a question calls a document.

    Attributes:
        words: plain, without those that only say what kind of thing it is.
        nouns: those that do ("paper", "recap"), in the singular.
    """

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
    exact = best[0][1] >= SHORT
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
        return SHORT
    if len(name.words) == 1 and asked == initials(entry.title):
        return SHORT
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


SERIES = 3  # documents of one noun with numbers of their own, from which they are a series
_LOOKED_INTO = re.compile(
    rf"(?P<before>\b(?:{LOOKING_INTO})\s+)(?:[\w’'-]+\s+){{0,3}}?"
    r"(?P<noun>[^\W\d_]{3,})\s+(?:#|(?:no\.?|number)\s*)?(?P<number>\d{1,6})\b(?!\s*[%.,]\d)",
    re.IGNORECASE,
)


def numbered_of(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    """The limit to documents of a series that ``text`` looks into: "in newsletter 80".

    Of those with the same number the ones count whose titles have further words of the question
    ("the recap of newsletter 80"), else those whose titles have the fewest words beside it.
    """
    asked = {token.plain for token in tokens_of(text)}
    for match in _LOOKED_INTO.finditer(text):
        noun = plain(match["noun"])
        name = singular(noun) or noun
        if noun in MONTHS or len(vocabulary.series.get(name, ())) < SERIES:
            continue
        those = vocabulary.numbered.get(f"{name} {match['number'].lstrip('0')}", ())
        if not those:
            continue
        fits = {title: _beside(title, asked - {noun, name}) for _, title in those}
        meant = [one for one in those if fits[one[1]] == max(fits.values())]
        span = Span(start=match.start("noun"), end=match.end("number"))
        led = match["before"].strip().lower() not in ASKED_OF
        cut = Span(start=match.start() if led else span.start, end=span.end)
        ids = tuple(sorted({known for known, _ in meant}))
        value = " or ".join(f"“{title}”" for title in dict.fromkeys(title for _, title in meant))
        yield limit("document", span, value, Filters(document_ids=ids), cut)


def _beside(title: str, asked: Set[str]) -> tuple[int, int]:
    """How many of the words ``asked`` a title has, and how few others."""
    words = {token.plain for token in tokens_of(title)}
    return len(words & asked), -len(words)


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
    """The limit to what one site published: "What did the Herald report", "council notices".

    Args:
        taken: places that name people.
    """
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
