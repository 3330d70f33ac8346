"""Parses questions for a catalogue fact about documents: author, date, subject.

Such a question is a frame around a name: "Who wrote {document}?". Any run of its words may be the
name. A trained model (``catalogue_reading.py``) decides which fact the surrounding words ask for,
or that the question is about texts; the names in the best frames are looked up. A name without a
match means that the question is about texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from wellread.ask.aggregate.catalogue_reading import FACTS, NOUN, PERSON, judged, learned
from wellread.ask.aggregate.holding import naming_most
from wellread.ask.aggregate.query import Scope, limits_of, nouns, scope_of, spelling
from wellread.ask.understand.mentions import (
    LIKELY,
    SURE,
    DocumentMatch,
    Name,
    people_in,
    resolve_document_name,
)
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.listings import Entry
from wellread.store.catalogue.documents.name_records import (
    FILE,
    INITIALS,
    MAIN,
    TITLE,
    cut_key,
    singular_form,
)
from wellread.text.english import (
    DOCUMENT_NOUNS,
    LEADING_WORDS,
    PREPOSITIONS,
    SPOKEN_NOUNS,
    STOP_WORDS,
)
from wellread.text.tokens import (
    ARTICLES,
    Token,
    is_acronym,
    key_of,
    key_of_words,
    singular,
    tokens_of,
)
from wellread.types import KINDS, Filters, Kind
from wellread.values.question import Analysis

Fact = str  # a reading of the model
OF_A_TEXT = frozenset({"abstract", "definition", "contribution", "summary"})
# What stands for a name. A thing has a name that means more than a document, as an entity has; a
# short form is in capitals; several documents are all of a kind.
DOCUMENT, THING, SHORT, SEVERAL = "{document}", "{thing}", "{short}", "{documents}"
WRITTEN = ("paper", "article")  # what people write and publish
TELLING = ("article", "transcript")  # what is not called after a thing that it defines
LONG_TITLE = 3  # words with which a title is no everyday name
MOST_DOCUMENTS = 200
MOST_AROUND = 16  # words of a frame
MOST_LOOKED_UP = 6  # names
SMALL = STOP_WORDS | PREPOSITIONS
LEADING = PREPOSITIONS | {"of"}  # to a limit
ANSWERING: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind not in ("entity", "qa"))
NONE = Filters(document_ids=("",))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactAsked:
    """A fact of the documents that ``name`` means; of ``several`` all of a kind are meant."""

    fact: Fact
    meant: DocumentMatch
    name: str = ""
    several: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The words from ``first`` to before ``last`` as a name, and the fact that the others ask."""

    fact: Fact
    slot: str
    first: int
    last: int
    score: float


def read_fact(kb: KnowledgeBase, analysis: Analysis) -> FactAsked | None:
    """The fact that the question asks for; None when it asks for something else."""
    if any(one.kind == "speaker" for one in analysis.constraints):
        return None
    reading = _Reading(kb, analysis)
    frames = sorted(reading.frames(), key=lambda one: -one.score)
    exact = reading.exact(frames)
    looked: dict[tuple[int, int], DocumentMatch] = {}
    for frame in frames:
        place = (frame.first, frame.last)
        if place not in exact and (frame.slot in (THING, SHORT) or frame.fact == "definition"):
            continue
        if place not in looked:
            if len(looked) == MOST_LOOKED_UP:
                break
            looked[place] = reading.meant(*place, exact=place in exact)
        meant, name = looked[place], reading.name(*place)
        if meant.entries and _fits(frame, meant, name):
            several, called = frame.slot == SEVERAL, " ".join(name.words)
            return FactAsked(fact=frame.fact, meant=meant, name=called, several=several)
    return None


def _fits(frame: _Frame, meant: DocumentMatch, name: Name) -> bool:
    """Whether what the name means may stand where the name does.

    "When was Atlas released" need not mean the talk that is called "Atlas".
    """
    first, sure = meant.entries[0], meant.certainty >= SURE
    if frame.slot == SEVERAL:
        return True
    if frame.slot == SHORT:
        return meant.exact and len(meant.entries) == 1
    if frame.fact == "definition":
        return meant.exact and any(one.kind not in TELLING for one in meant.entries)
    if frame.slot == THING:
        return meant.exact and sure
    telling = [one for one in tokens_of(first.title) if one.plain not in STOP_WORDS]
    long = first.kind != "entity" and len(telling) >= LONG_TITLE
    numbered = any(word.isdigit() for word in name.words)
    return bool(name.nouns) or (sure and (first.kind in WRITTEN or numbered or long))


class _Reading:
    """Finds the frames of a question, and which documents the names in them mean."""

    def __init__(self, kb: KnowledgeBase, analysis: Analysis) -> None:
        self._kb, self._question = kb, analysis.question
        self._scope = scope_of(kb, limits_of(analysis))
        self._timed = any(one.kind == "time" for one in analysis.constraints)
        self._vocabulary = vocabulary_of(kb, self._scope.collections)
        self._types = nouns(self._vocabulary)
        self._tokens = _tokens(analysis)
        self._nouns = list(map(self._noun, self._tokens))
        known, pairs = learned(FACTS).words, zip(self._tokens, self._nouns, strict=True)
        self._words = [
            NOUN if noun and token.plain not in known else token.plain for token, noun in pairs
        ]
        for person in people_in(self._question, self._vocabulary):
            held = [
                at
                for at, one in enumerate(self._tokens)
                if person.span.start <= one.start < person.span.end
            ]
            for at in held:
                self._words[at] = PERSON if at == held[0] else ""

    def _noun(self, token: Token) -> str:
        """The noun for documents or entities that a word is, in the singular; else empty."""
        one = singular(token.plain) or token.plain
        one = token.plain if token.plain in DOCUMENT_NOUNS else one
        known = self._types.get(spelling(token.plain))
        typed = known is not None and known.what in ("documents", "entities")
        return one if typed or one in DOCUMENT_NOUNS else ""

    # --- frames ---

    def frames(self) -> Iterator[_Frame]:
        """The frames that surely ask for a fact, whatever their names mean."""
        model, count = learned(FACTS), len(self._words)
        known = {"", *model.words, *LEADING_WORDS}
        strange = [at for at, word in enumerate(self._words) if word not in known]
        begin, end = (strange[0], strange[-1] + 1) if strange else (count - 1, 0)
        for first in range(begin + 1):
            for last in range(max(end, first + 1), count + 1):
                for slot in self._slots(first, last):
                    reading = judged(self._around(first, last, slot), model)
                    if reading and reading.sure:
                        fact, score = reading.name, reading.score
                        yield _Frame(fact=fact, slot=slot, first=first, last=last, score=score)

    def _around(self, first: int, last: int, slot: str) -> list[str]:
        before = [word for word in self._words[:first] if word]
        while before and before[-1] in LEADING_WORDS:
            before.pop()
        return [*before, slot, *filter(None, self._words[last:])]

    def _slots(self, first: int, last: int) -> tuple[str, ...]:
        """As what the words can be a name."""
        pointing = last - first > 1 and self._tokens[first].plain in LEADING_WORDS
        if pointing or first + len(self._words) - last > MOST_AROUND:
            return ()
        if not self.name(first, last).words:
            kinds = all(self._nouns[first:last])
            return ((SEVERAL,) if self._of_many(first, last) else (DOCUMENT,)) if kinds else ()
        short = last - first == 1 and is_acronym(self._tokens[first].written)
        return (DOCUMENT, THING, SHORT) if short else (DOCUMENT, THING)

    def _of_many(self, first: int, last: int) -> bool:
        return any(many for _, many in self._kinds(first, last))

    def _kinds(self, first: int, last: int) -> list[tuple[str, bool]]:
        """The nouns that a name has in it or beside it, and whether they are said of several."""
        return [
            (noun, noun != token.plain)
            for at, (token, noun) in enumerate(zip(self._tokens, self._nouns, strict=True))
            if noun and (first <= at < last or self._words[at] == NOUN)
        ]

    # --- names ---

    def name(self, first: int, last: int) -> Name:
        """The words as a name; nouns for documents count that stand around it, too."""
        pairs = zip(self._tokens[first:last], self._nouns[first:last], strict=True)
        words = tuple(token.plain for token, noun in pairs if not (noun or _is_small(token)))
        kinds = dict.fromkeys(noun for noun, _ in self._kinds(first, last))
        return Name(words=words, nouns=tuple(kinds))

    def _key(self, first: int, last: int) -> str:
        tokens = self._tokens
        return key_of(self._question[tokens[first].start : tokens[last - 1].end])

    def exact(self, frames: Iterable[_Frame]) -> set[tuple[int, int]]:
        """The places of the frames at which a whole name stands."""
        keys = {(one.first, one.last): self._key(one.first, one.last) for one in frames}
        names, scope = self._kb.catalogue.names, self._scope.collections
        called = names.look_up(scope, (TITLE, MAIN, FILE, INITIALS), map(cut_key, keys.values()))
        there, aliases = {key for _, key in called}, self._vocabulary.names
        return {place for place, key in keys.items() if cut_key(key) in there or key in aliases}

    def meant(self, first: int, last: int, *, exact: bool) -> DocumentMatch:
        """The documents that the words refer to."""
        name, key = self.name(first, last), self._key(first, last)
        tokens, many = self._tokens[first:last], self._of_many(first, last)
        if exact:
            whole = [one.plain for one in tokens]
            bare = whole[1:] if len(whole) > 1 and whole[0] in ARTICLES else whole
            found = self._named(replace(name, words=tuple(bare)), key)
            if found.exact:
                return found
        if _is_small(tokens[0]) or _is_small(tokens[-1]):
            return DocumentMatch()
        fitting = self._fitting(name)
        pairs = zip(tokens, self._nouns[first:last], strict=True)
        said = [NOUN if noun else one.plain for one, noun in pairs if one.plain not in ARTICLES]
        edge = judged(said, learned()) if name.words and NOUN in said else None
        if name.words and many:  # "in the papers": in which what the words say is looked for
            return DocumentMatch()
        if edge and edge.name in ("latest", "oldest"):
            return _at_edge(fitting, last=edge.name == "latest")
        return self._named(name, key) if name.words else self._of_kind(fitting, many=many)

    def _of_kind(self, fitting: Scope, *, many: bool) -> DocumentMatch:
        """All documents of a kind, or the only one."""
        most = MOST_DOCUMENTS if many else 1
        entries = tuple(fitting.first_entries(most + 1))
        if not (entries or many) and self._timed:  # the one of that time, whatever its kind
            alone = tuple(
                self._scope.within(Filters(kinds=(*ANSWERING, "entity"))).first_entries(2)
            )
            return DocumentMatch(entries=alone if len(alone) == 1 else (), certainty=LIKELY)
        return DocumentMatch(entries=entries if len(entries) <= most else (), certainty=SURE)

    def _named(self, name: Name, whole: str) -> DocumentMatch:
        """What bears the name; ``whole`` is the key of it with the words that say nothing."""
        keys = (key_of_words(list(name.words)), whole)
        forms = [form for key in keys for form in self._vocabulary.names.get(key, ())]
        aliased = [known for form in forms for known in form.node.documents]
        names, scope = self._kb.catalogue.names, self._scope.collections
        sorts = (TITLE, MAIN, FILE, *((INITIALS,) if len(name.words) == 1 else ()))
        called = names.documents(scope, sorts, map(cut_key, keys))
        worded = names.with_words(scope, map(singular_form, name.words))
        # A past question is a question, and nothing that is called by its title.
        there = self._scope.only([*called, *worded, *aliased]).entries()
        entries = [entry for entry in there if entry.kind != "qa"]
        known = self._kb.catalogue.facts([entry.id for entry in entries])
        files = {one.id: one.uri for one in known.values()}
        found = resolve_document_name(name, entries, aliased, files, self._is_of)
        if found.entries or not name.nouns:
            return found
        coined = naming_most(self._fitting(name), " ".join(name.words))
        return DocumentMatch(entries=tuple(coined), certainty=LIKELY)

    def _fitting(self, name: Name) -> Scope:
        """Where the documents are of the kinds that the nouns say."""
        scope = self._scope.within(Filters(kinds=ANSWERING))
        for noun in name.nouns:
            scope = scope.within(self._limit(noun))
        return scope

    def _limit(self, noun: str) -> Filters:
        """The documents of the kind that a noun says; none, where it says no kind."""
        one = self._types.get(spelling(noun))
        if one is None or one.what not in ("documents", "entities"):
            return Filters(kinds=("transcript",)) if noun in SPOKEN_NOUNS else NONE
        return Filters(kinds=("entity",)) if one.what == "entities" else one.filters

    def _is_of(self, entry: Entry, noun: str) -> bool:
        """Whether a document is of the kind that a noun says."""
        limit = self._limit(noun)
        named = entry.kind in limit.kinds or entry.source_type in limit.source_types
        return named or limit == Filters()


def _tokens(analysis: Analysis) -> list[Token]:
    """The words of the question outside of its limits on time and people."""
    limits = [one.span for one in analysis.constraints if one.kind in ("time", "author")]
    tokens = tokens_of(analysis.question)
    taken = [
        any(one.start < span.end and span.start < one.end for span in limits) for one in tokens
    ]
    return [
        one
        for one, inside, before in zip(tokens, taken, [*taken[1:], False], strict=True)
        if not (inside or (before and one.plain in LEADING))
    ]


def _is_small(token: Token) -> bool:
    return token.plain in SMALL and not (len(token.plain) > 1 and token.written.isupper())


def _at_edge(scope: Scope, *, last: bool) -> DocumentMatch:
    """The first or last document."""
    first, *beside = scope.dated(2, last=last)[:: -1 if last else 1] or (None,)
    if first is None or any(one and one.published_at == first.published_at for one in beside):
        return DocumentMatch()
    return DocumentMatch(entries=(first,), certainty=LIKELY)
