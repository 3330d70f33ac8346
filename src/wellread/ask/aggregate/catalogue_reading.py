"""Parses a catalogue question: names by lookup, other words by a model trained on examples.

Nouns, people, taxonomy values, times and entities are looked up and become slots: "How many {noun}
mention {topic}?". A word that occurs in no training question is part of the topic. A word may have
several roles ("category" groups, or is counted), so a linear model over words, pairs and triples
scores every combination and the best one wins. One possible reading is that the question concerns
the texts, not the catalogue. ``benchmarks/train_catalogue.py`` trains the model from examples
listed there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from importlib import resources
from itertools import islice, pairwise
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wellread.ask.aggregate.query import MOST_WORDS, PERIODS, Noun, nouns, said, spelling
from wellread.ask.understand.analyse import FIRST, LAST, pairs_and_triples
from wellread.ask.understand.mentions import people_in
from wellread.ask.understand.source_limits import date_filters
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.store.catalogue.documents.listings import FIELDS
from wellread.text.english import NUMBER_WORDS, PREPOSITIONS, STOP_WORDS
from wellread.text.periods import expressions_of
from wellread.text.tokens import ARTICLES, Token, key_of_words, tokens_of
from wellread.types import Filters, Span
from wellread.values.question import Analysis, ConstraintKind, NamedEntity

FILE = "catalogue_model.npz"
FACTS = "facts_model.npz"  # of facts of documents (``read_facts.py``)
TEXTS = "passages"  # the reading of questions about what texts say
NAMING = "naming"  # beside a reading: documents have to name the topic
TOPIC = "{topic}"
# Readings that are asked for alike: a word, or a place of the topic, of one is one of the others.
LOOKING = frozenset(("count", "mentions", "list", "exists"))
_ALIKE: tuple[frozenset[str], ...] = (
    LOOKING | {"values", "speaker", "author"},
    frozenset(("latest", "oldest")),
    frozenset(("most", "fewest", "count", "busiest_author", "busiest_speaker")),
    frozenset(("missing", "coverage")),
)
COMMON = 5  # readings that have a word which may stand in any other

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionModel:
    """A linear model of what a question asks; ``words`` are those of its examples."""

    readings: tuple[str, ...]
    weights: Mapping[str, Floats]
    words: Mapping[str, frozenset[str]]

    def scored(self, names: Sequence[str]) -> dict[str, float]:
        """How well each reading fits a question with these features."""
        rows = [self.weights[name] for name in names if name in self.weights]
        total = np.sum(rows, axis=0) if rows else np.zeros(len(self.readings), np.float32)
        return dict(zip(self.readings, map(float, total / np.sqrt(len(names))), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueModel(QuestionModel):
    """The model of questions to the catalogue; ``NAMING`` is among its readings.

    Attributes:
        around: pairs of words between which a topic stood, by reading; what begins a question is
            ``FIRST``.
        leading: words before a topic that ends a question.
    """

    around: Mapping[str, frozenset[tuple[str, str]]]
    leading: frozenset[str]

    def explains(self, reading: str, word: str) -> bool:
        """Whether a word or slot may occur in a question with this reading."""
        told = self.words.get(word, frozenset())
        if word.startswith("{"):
            return reading in told
        alike = frozenset((reading,)).union(*(group for group in _ALIKE if reading in group))
        return len(told) >= COMMON or not told.isdisjoint(alike)

    def frames(self, reading: str, before: str, after: str) -> bool:
        """Whether a topic may stand between two words: both were seen beside one.

        At an end of the question the two must have been seen together.
        """
        alike = LOOKING if reading in LOOKING else (reading,)
        pairs = [pair for name in alike for pair in self.around.get(name, ())]
        if before == FIRST or after == LAST:
            return (before, after) in pairs
        return any(before == one for one, _ in pairs) and any(after == one for _, one in pairs)


def features(masked: Sequence[str]) -> list[str]:
    """The distinct words, pairs and triples of a masked question."""
    return list(dict.fromkeys((*masked, *pairs_and_triples(masked))))


@cache
def learned(name: str = FILE) -> CatalogueModel:
    """Load one of the shipped models."""
    with (resources.files(__package__) / name).open("rb") as file, np.load(file) as kept:
        around: dict[str, set[tuple[str, str]]] = {}
        for line in kept["around"]:
            reading, before, after = str(line).split(" ")
            around.setdefault(reading, set()).add((before, after))
        weights = kept["weights"].astype(np.float32) * np.float32(kept["step"])
        return CatalogueModel(
            readings=tuple(map(str, kept["readings"])),
            weights=dict(zip(map(str, kept["features"]), weights, strict=True)),
            words={
                word: frozenset(names) for word, *names in map(str.split, map(str, kept["words"]))
            },
            around={name: frozenset(pairs) for name, pairs in around.items()},
            leading=frozenset(
                before for pairs in around.values() for before, after in pairs if after == LAST
            ),
        )


# --- the words of a question ---

NOUN, IN, BY, PERSON, WHEN = "{noun}", "{in}", "{by}", "{person}", "{when}"
VALUE, NUMBER = "{value}", "{number}"
WITHIN = (IN, PERSON, WHEN, VALUE)
SURE = 0.25  # by how much a reading has to fit better than that the texts are asked
LEAST = 0.45  # how well it has to fit
SWALLOWED = 0.35  # less for each known word that is taken for a part of the topic
MOST_READINGS = 300  # that are scored
MOST_TOKENS = 24
LONGEST_VALUE = 5
INSIDE_A_TOPIC = ARTICLES | {"of", "and", "or", "for", "in", "to"}
MOST_INSIDE = 2  # such words between two others
_SLOTS: Mapping[ConstraintKind, str] = {
    "time": WHEN,
    "author": PERSON,
    "speaker": PERSON,
    "taxonomy": VALUE,
    "language": "",
}

# What a reading needs, one of each set.
_NEEDED: Mapping[str, tuple[frozenset[str], ...]] = {
    "count": (frozenset({NOUN}),),
    "list": (frozenset({NOUN, TOPIC, PERSON, WHEN, VALUE}),),
    "exists": (frozenset({TOPIC, PERSON, WHEN, VALUE}),),
    "most": (frozenset({BY}), frozenset({NOUN})),
    "fewest": (frozenset({BY}), frozenset({NOUN})),
    "values": (frozenset({BY}), frozenset({NOUN})),
    "oldest": (frozenset({NOUN, TOPIC, PERSON}),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Consecutive words of the question that fill a slot, or one word; filler has no slot."""

    slot: str
    first: int
    last: int
    noun: Noun | None = None
    by: str = ""
    filters: Filters | None = None
    entities: tuple[NamedEntity, ...] = ()
    number: int | None = None
    known: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One interpretation of a question.

    Attributes:
        naming: documents have to name the topic; else a link to it will do, too.
        score: how well the reading fits; ``texts`` how well that the texts are asked.
        topic: of the pieces, those that name what it is about.
    """

    name: str
    naming: bool
    score: float
    texts: float
    pieces: tuple[Piece, ...] = ()
    topic: tuple[Piece, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether the question is clearly about the catalogue and fits this reading."""
        return self.name != TEXTS and self.score >= max(LEAST, self.texts + SURE)

    def filled(self, slot: str) -> list[Piece]:
        """The pieces that fill a slot."""
        return [piece for piece in self.pieces if piece.slot == slot]


def joined(words: Sequence[str]) -> list[str]:
    """Words and slots, with adjacent topic pieces merged."""
    return [words[start] for start, _ in _runs(words)]


def _runs(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where each word stands, parts of a topic together with the small words between them.

    An article before a name says nothing.
    """
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(words):
        end = place + 1
        while words[place] == TOPIC:
            after = end
            while after < len(words) and words[after] in INSIDE_A_TOPIC:
                after += 1
            if after - end > MOST_INSIDE or words[after : after + 1] != [TOPIC]:
                break
            end = after + 1
        led = words[place] in ARTICLES and words[end : end + 1] in ([TOPIC], [PERSON], [VALUE])
        if not led:
            found.append((place, end))
        place = end
    return found


class QuestionWords:
    """The words of a question with the slots that each word could fill."""

    def __init__(self, analysis: Analysis, vocabulary: Vocabulary) -> None:
        self.analysis, self.vocabulary = analysis, vocabulary
        vocabulary.learn(analysis.question)
        self.tokens: list[Token] = tokens_of(analysis.question)
        self.plain = [token.plain for token in self.tokens]
        self.options: list[list[Piece]] = [[] for _ in self.tokens]
        self._fixed: set[int] = set()
        self._add_limits()
        self._add_times()
        for sources in (self._nouns(), self._values(), self._names(), self._numbers()):
            for piece in sources:
                if self._fixed.isdisjoint(range(piece.first, piece.last)):
                    self.options[piece.first].append(piece)

    def span(self, first: int, last: int) -> Span:
        """Where these words stand."""
        return Span(start=self.tokens[first].start, end=self.tokens[last - 1].end)

    def places(self, span: Span) -> tuple[int, int]:
        """The words at a place of the question; two equal numbers where there are none."""
        inside = [at for at in range(len(self.tokens)) if self.span(at, at + 1).overlaps(span)]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    def _add_limits(self) -> None:
        """Mark words that were already read as a limit, so that they get no other role."""
        known = nouns(self.vocabulary)
        for one in self.analysis.constraints:
            first, last = self.places(one.span)
            slot = _SLOTS.get(one.kind)
            if slot is not None and first < last:
                piece = Piece(slot=slot, first=first, last=last, filters=one.filters)
                self.options[first].append(self._with_dimension(piece))
                self._fixed.update(range(first, last))
            elif last - first > 1 and self._phrase(first, last) not in known:
                # "papers or transcripts"
                called = " or ".join(map(said, one.value.split(" or ")))
                noun = Noun(what="documents", one=called, filters=one.filters)
                for name in (NOUN, IN):
                    self.options[first].append(
                        Piece(slot=name, first=first, last=last, noun=noun, filters=one.filters)
                    )
                self._fixed.update(range(first, last))

    def _add_times(self) -> None:
        """A year or month that stands beside a noun for documents, and in which some appeared."""
        held = self.vocabulary.published
        if held is None or any(one.kind == "time" for one in self.analysis.constraints):
            return
        found = expressions_of(self.analysis.question, date.today())
        for one in found if len(found) == 1 else ():
            first, last = self.places(Span(start=one.start, end=one.end))
            inside = one.period.first <= held[1] and held[0] <= one.period.last
            if one.period.month is None and inside and first < last:
                filters = date_filters(one.period.first, one.period.last)
                piece = Piece(slot=WHEN, first=first, last=last, filters=filters)
                self.options[first].append(piece)

    def _phrase(self, first: int, last: int) -> str:
        return spelling(self.span(first, last).of(self.analysis.question))

    def _nouns(self) -> Iterator[Piece]:
        """The longest noun that begins at each word, and by what may be divided."""
        known = nouns(self.vocabulary)
        divisions = {spelling(said(name)): name for name in self.vocabulary.dimensions}
        divisions |= {name: name for name in PERIODS} | {"type": "kind"}
        for first in range(len(self.tokens)):
            if by := divisions.get(self._phrase(first, first + 1)):
                yield Piece(slot=BY, first=first, last=first + 1, by=by)
            for last in range(min(first + MOST_WORDS, len(self.tokens)), first, -1):
                noun = known.get(self._phrase(first, last))
                if noun is None:
                    continue
                yield Piece(slot=NOUN, first=first, last=last, noun=noun)
                if noun.what == "documents":
                    yield Piece(slot=IN, first=first, last=last, noun=noun, filters=noun.filters)
                elif noun.what in FIELDS:
                    yield Piece(slot=BY, first=first, last=last, by=noun.what)
                break

    def _values(self) -> Iterator[Piece]:
        """The longest value of the taxonomy that begins at each word."""
        for first in range(len(self.tokens)):
            for last in range(min(first + LONGEST_VALUE, len(self.tokens)), first, -1):
                words = self.plain[first:last]
                if words[0] in STOP_WORDS or words[-1] in STOP_WORDS:
                    continue
                pairs = tuple(
                    pair
                    for pair in self.vocabulary.taxonomy.get(key_of_words(words), ())
                    if pair[1] not in self.vocabulary.entity_types
                )
                if pairs:
                    filters = Filters(taxonomy=pairs)
                    piece = Piece(slot=VALUE, first=first, last=last, filters=filters)
                    yield self._with_dimension(piece)
                    break

    def _with_dimension(self, piece: Piece) -> Piece:
        """A value with the name of its dimension right before or after it."""
        taxonomy = piece.filters.taxonomy if piece.filters else ()
        names = {spelling(said(name)) for name, _ in taxonomy}
        if piece.last < len(self.tokens) and self._phrase(piece.last, piece.last + 1) in names:
            return replace(piece, last=piece.last + 1)
        if piece.first and self._phrase(piece.first - 1, piece.first) in names:
            longer = replace(piece, first=piece.first - 1)
            self.options[longer.first].append(longer)
        return piece

    def _names(self) -> Iterator[Piece]:
        """Add the people and entities that are named."""
        for one in people_in(self.analysis.question, self.vocabulary):
            first, last = self.places(one.span)
            heard = one.speakers and (not one.authors or not self._written())
            filters = Filters(speakers=one.speakers) if heard else Filters(authors=one.authors)
            yield Piece(slot=PERSON, first=first, last=last, filters=filters)
        spans = {one.span for one in self.analysis.entities}
        for span in spans:
            first, last = self.places(span)
            same = tuple(one for one in self.analysis.entities if one.span == span)
            if first < last:
                yield Piece(slot=TOPIC, first=first, last=last, entities=same)

    def _written(self) -> bool:
        """Whether the question excludes recordings."""
        asked = [one.filters for one in self.analysis.constraints]
        return not any("transcript" in one.kinds for one in asked)

    def _numbers(self) -> Iterator[Piece]:
        for at, word in enumerate(self.plain):
            digits = NUMBER_WORDS.get(word, word)
            if digits.isdigit() and len(digits) < 3 and int(digits):
                yield Piece(slot=NUMBER, first=at, last=at + 1, number=int(digits))

    def kinds_beside(self, pieces: Sequence[Piece]) -> list[Filters]:
        """The limits on kinds whose words are no slot in these pieces."""
        taken = {at for piece in pieces if piece.noun for at in range(piece.first, piece.last)}
        kinds = [one for one in self.analysis.constraints if one.kind in ("kind", "source_type")]
        return [one.filters for one in kinds if taken.isdisjoint(range(*self.places(one.span)))]

    def choices(self, model: CatalogueModel) -> list[list[Piece]]:
        """The pieces that may begin at each word, including the plain word and a topic word."""
        found: list[list[Piece]] = []
        led = 0  # how many words a topic may go on that is made of known words
        for at, (token, options) in enumerate(zip(self.tokens, self.options, strict=True)):
            mine = list(options)
            stop = token.plain in STOP_WORDS or token.plain in PREPOSITIONS
            # What is a type of this base is no word around what is asked for.
            typed = any(one.noun and one.noun.names for one in options)
            known = token.plain in model.words and not typed
            if at in self._fixed:
                found.append(mine)
                continue
            if known:
                mine.append(Piece(slot=token.plain, first=at, last=at + 1))
            if at and self.plain[at - 1] in model.leading and self.plain[at - 1] in model.words:
                led = MOST_WORDS
            named = any(piece.entities for piece in options)
            if not stop and not named and (led or not (known or mine)):
                taken = known or bool(options)
                mine.append(Piece(slot=TOPIC, first=at, last=at + 1, known=taken))
            led = max(0, led - 1)
            found.append(mine)
        return found


def best_reading(words: QuestionWords, model: CatalogueModel) -> Reading | None:
    """The best reading; None when the question is not clearly about the catalogue."""
    best: Reading | None = None
    highest = -np.inf
    if len(words.tokens) > MOST_TOKENS:
        return None
    for taken in islice(ways_to_split(words.choices(model)), MOST_READINGS):
        pieces = [piece for piece in taken if piece.slot]
        slots = [piece.slot for piece in pieces]
        runs = _runs(slots)
        reading = judged([slots[start] for start, _ in runs], model)
        if reading is None or not all(map(set(slots).intersection, _NEEDED.get(reading.name, ()))):
            continue
        score = reading.score - SWALLOWED * sum(piece.known for piece in pieces)
        if score > highest:
            highest = score
            topic = next((pieces[start:end] for start, end in runs if slots[start] == TOPIC), [])
            best = replace(reading, score=score, pieces=tuple(pieces), topic=tuple(topic))
    return best if best and best.sure else None


def judged(masked: Sequence[str], model: CatalogueModel) -> Reading | None:
    """The best reading of these words and slots; None when none is possible."""
    if not _possible(masked):
        return None
    scores = model.scored(features(masked))
    naming = scores.pop(NAMING)
    name = max(scores, key=lambda one: scores[one])
    if not _framed(name, masked, model):
        return None
    return Reading(name=name, naming=naming > 0.5, score=scores[name], texts=scores[TEXTS])


class Placed(Protocol):
    """What stands on some words of a question."""

    @property
    def last(self) -> int:
        """The number of the first word after it."""
        ...


P = TypeVar("P", bound=Placed)


def ways_to_split(choices: Sequence[Sequence[P]], start: int = 0) -> Iterator[list[P]]:
    """Every way to split the words of a question into pieces, of which some may begin at each."""
    if start >= len(choices):
        yield []
        return
    for piece in choices[start]:
        for others in ways_to_split(choices, piece.last):
            yield [piece, *others]


def _possible(masked: Sequence[str]) -> bool:
    """Whether no slot occurs too often."""
    most = {NOUN: 1, TOPIC: 1, NUMBER: 1, BY: 2, WHEN: 1, IN: 2}
    return all(masked.count(slot) <= number for slot, number in most.items())


def _framed(reading: str, masked: Sequence[str], model: CatalogueModel) -> bool:
    """Whether the words and the topic's position match training questions of this reading."""
    if reading == TEXTS:
        return True
    if not all(model.explains(reading, word) for word in masked):
        return False
    before = [one for one, slot in pairwise([FIRST, *masked]) if slot == BY]
    if not all(f"{one} {BY}" in model.weights for one in before):
        return False  # "in this collection" does not divide
    if TOPIC not in masked:
        return True
    ends = [FIRST, *masked, LAST]
    at = ends.index(TOPIC)
    return model.frames(reading, ends[at - 1], ends[at + 1])
