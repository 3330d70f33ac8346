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

from wellread.ask.aggregate.query import (
    MAX_NOUN_WORDS,
    PERIODS,
    Noun,
    noun_for_type,
    nouns,
    spelling,
)
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

CATALOGUE_MODEL_FILE = "catalogue_model.npz"
FACTS_MODEL_FILE = "facts_model.npz"  # for ``read_facts.py``
TEXTS = "passages"  # the reading of questions about what texts say
NAMING = "naming"  # scored in addition to a reading: documents have to name the topic
TOPIC = "{topic}"
# Readings that are phrased alike: a word or topic position learned for one counts for the others.
LOOKUP_READINGS = frozenset(("count", "mentions", "list", "exists"))
_SIMILAR_READINGS: tuple[frozenset[str], ...] = (
    LOOKUP_READINGS | {"values", "speaker", "author"},
    frozenset(("latest", "oldest")),
    frozenset(("most", "fewest", "count", "busiest_author", "busiest_speaker")),
    frozenset(("missing", "coverage")),
)
MIN_COMMON_READINGS = 5  # a word seen in so many readings may occur in any
NOUN, IN, BY, PERSON, WHEN = "{noun}", "{in}", "{by}", "{person}", "{when}"
VALUE, NUMBER = "{value}", "{number}"
LIMIT_SLOTS = (IN, PERSON, WHEN, VALUE)
MIN_MARGIN = 0.25  # a reading has to score so much higher than ``TEXTS``
MIN_SCORE = 0.45  # a reading that scores less is not used
KNOWN_WORD_PENALTY = 0.35  # subtracted for each known word that is read as a part of the topic
MAX_SPLITS = 300  # ways to split a question that are scored
MAX_TOKENS = 24
MAX_VALUE_WORDS = 5
WORDS_INSIDE_TOPICS = ARTICLES | {"of", "and", "or", "for", "in", "to"}
MAX_WORDS_INSIDE = 2  # more of them between two words end a topic
_SLOTS_OF_LIMITS: Mapping[ConstraintKind, str] = {
    "time": WHEN,
    "author": PERSON,
    "speaker": PERSON,
    "taxonomy": VALUE,
    "language": "",
}
# A reading needs at least one slot of each of its sets.
_REQUIRED_SLOTS: Mapping[str, tuple[frozenset[str], ...]] = {
    "count": (frozenset({NOUN}),),
    "list": (frozenset({NOUN, TOPIC, PERSON, WHEN, VALUE}),),
    "exists": (frozenset({TOPIC, PERSON, WHEN, VALUE}),),
    "most": (frozenset({BY}), frozenset({NOUN})),
    "fewest": (frozenset({BY}), frozenset({NOUN})),
    "values": (frozenset({BY}), frozenset({NOUN})),
    "oldest": (frozenset({NOUN, TOPIC, PERSON}),),
}

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionModel:
    """A linear model of what a question asks; ``words``: the readings of each example word."""

    readings: tuple[str, ...]
    weights: Mapping[str, Floats]
    words: Mapping[str, frozenset[str]]

    def scores(self, names: Sequence[str]) -> dict[str, float]:
        """Return how well each reading fits a question with these features."""
        rows = [self.weights[name] for name in names if name in self.weights]
        total = np.sum(rows, axis=0) if rows else np.zeros(len(self.readings), np.float32)
        return dict(zip(self.readings, map(float, total / np.sqrt(len(names))), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueModel(QuestionModel):
    """The model of questions to the catalogue; ``NAMING`` is among its readings.

    Attributes:
        around: the words before and after a topic, by reading; at the start of a question the word
            before is ``FIRST``.
        leading: words before a topic that ends a question.
    """

    around: Mapping[str, frozenset[tuple[str, str]]]
    leading: frozenset[str]

    def explains(self, reading: str, word: str) -> bool:
        """Whether a word or slot may occur in a question with this reading."""
        readings = self.words.get(word, frozenset())
        if word.startswith("{"):
            return reading in readings
        groups = (group for group in _SIMILAR_READINGS if reading in group)
        similar = frozenset((reading,)).union(*groups)
        return len(readings) >= MIN_COMMON_READINGS or not readings.isdisjoint(similar)

    def frames(self, reading: str, before: str, after: str) -> bool:
        """Whether a topic may occur between two words: each was seen next to a topic.

        At the start or end of a question, both must have been seen around the same topic.
        """
        similar = LOOKUP_READINGS if reading in LOOKUP_READINGS else (reading,)
        pairs = [pair for name in similar for pair in self.around.get(name, ())]
        if before == FIRST or after == LAST:
            return (before, after) in pairs
        return any(before == word for word, _ in pairs) and any(after == word for _, word in pairs)


def features(masked: Sequence[str]) -> list[str]:
    """The distinct words, pairs and triples of a masked question."""
    return list(dict.fromkeys((*masked, *pairs_and_triples(masked))))


@cache
def load_model(name: str = CATALOGUE_MODEL_FILE) -> CatalogueModel:
    """Load one of the shipped models."""
    with (resources.files(__package__) / name).open("rb") as file, np.load(file) as arrays:
        around: dict[str, set[tuple[str, str]]] = {}
        for line in arrays["around"]:
            reading, before, after = str(line).split(" ")
            around.setdefault(reading, set()).add((before, after))
        weights = arrays["weights"].astype(np.float32) * np.float32(arrays["step"])
        return CatalogueModel(
            readings=tuple(map(str, arrays["readings"])),
            weights=dict(zip(map(str, arrays["features"]), weights, strict=True)),
            words={
                word: frozenset(names) for word, *names in map(str.split, map(str, arrays["words"]))
            },
            around={name: frozenset(pairs) for name, pairs in around.items()},
            leading=frozenset(
                before for pairs in around.values() for before, after in pairs if after == LAST
            ),
        )


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
    known: bool = False  # a topic word that also occurs in the training questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One interpretation of a question.

    Attributes:
        naming: documents have to name the topic; a relation to it is not enough.
        score: how well the reading fits; ``texts``: how well the reading ``TEXTS`` fits.
        topic: those of the pieces that name the topic.
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
        return self.name != TEXTS and self.score >= max(MIN_SCORE, self.texts + MIN_MARGIN)

    def filled(self, slot: str) -> list[Piece]:
        """The pieces that fill a slot."""
        return [piece for piece in self.pieces if piece.slot == slot]


def merge_topics(words: Sequence[str]) -> list[str]:
    """Return the words and slots with adjacent topic pieces merged."""
    return [words[start] for start, _ in _word_runs(words)]


def _word_runs(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return (start, end) of each word; a topic and the small words inside it are one.

    An article before a name is left out: it has no meaning.
    """
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(words):
        end = start + 1
        while words[start] == TOPIC:
            after = end
            while after < len(words) and words[after] in WORDS_INSIDE_TOPICS:
                after += 1
            if after - end > MAX_WORDS_INSIDE or words[after : after + 1] != [TOPIC]:
                break
            end = after + 1
        before_name = words[end : end + 1] in ([TOPIC], [PERSON], [VALUE])
        if not (before_name and words[start] in ARTICLES):
            runs.append((start, end))
        start = end
    return runs


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
        """The span of these words in the question."""
        return Span(start=self.tokens[first].start, end=self.tokens[last - 1].end)

    def places(self, span: Span) -> tuple[int, int]:
        """The numbers of the first word in ``span`` and the one after its last; (0, 0) if none."""
        count = len(self.tokens)
        words = [number for number in range(count) if self.span(number, number + 1).overlaps(span)]
        return (words[0], words[-1] + 1) if words else (0, 0)

    def _add_limits(self) -> None:
        """Mark words that were already read as a limit, so that they get no other role."""
        known_nouns = nouns(self.vocabulary)
        for limit in self.analysis.constraints:
            first, last = self.places(limit.span)
            slot = _SLOTS_OF_LIMITS.get(limit.kind)
            if slot is not None and first < last:
                piece = Piece(slot=slot, first=first, last=last, filters=limit.filters)
                self.options[first].append(self._with_dimension(piece))
                self._fixed.update(range(first, last))
            elif last - first > 1 and self._phrase(first, last) not in known_nouns:
                # "papers or transcripts"
                label = " or ".join(map(noun_for_type, limit.value.split(" or ")))
                noun = Noun(what="documents", one=label, filters=limit.filters)
                for name in (NOUN, IN):
                    self.options[first].append(
                        Piece(slot=name, first=first, last=last, noun=noun, filters=limit.filters)
                    )
                self._fixed.update(range(first, last))

    def _add_times(self) -> None:
        """Add the only time in the question if it is no limit yet and documents appeared in it."""
        published = self.vocabulary.published
        if published is None or any(limit.kind == "time" for limit in self.analysis.constraints):
            return
        expressions = expressions_of(self.analysis.question, date.today())
        for expression in expressions if len(expressions) == 1 else ():
            period = expression.period
            first, last = self.places(Span(start=expression.start, end=expression.end))
            has_documents = period.first <= published[1] and published[0] <= period.last
            if period.month is None and has_documents and first < last:
                filters = date_filters(period.first, period.last)
                piece = Piece(slot=WHEN, first=first, last=last, filters=filters)
                self.options[first].append(piece)

    def _phrase(self, first: int, last: int) -> str:
        return spelling(self.span(first, last).of(self.analysis.question))

    def _nouns(self) -> Iterator[Piece]:
        """Yield the longest noun that begins at each word, and the words to group by."""
        known_nouns = nouns(self.vocabulary)
        divisions = {spelling(noun_for_type(name)): name for name in self.vocabulary.dimensions}
        divisions |= {name: name for name in PERIODS} | {"type": "kind"}
        for first in range(len(self.tokens)):
            if by := divisions.get(self._phrase(first, first + 1)):
                yield Piece(slot=BY, first=first, last=first + 1, by=by)
            for last in range(min(first + MAX_NOUN_WORDS, len(self.tokens)), first, -1):
                noun = known_nouns.get(self._phrase(first, last))
                if noun is None:
                    continue
                yield Piece(slot=NOUN, first=first, last=last, noun=noun)
                if noun.what == "documents":
                    yield Piece(slot=IN, first=first, last=last, noun=noun, filters=noun.filters)
                elif noun.what in FIELDS:
                    yield Piece(slot=BY, first=first, last=last, by=noun.what)
                break

    def _values(self) -> Iterator[Piece]:
        """Yield the longest value of the taxonomy that begins at each word."""
        for first in range(len(self.tokens)):
            for last in range(min(first + MAX_VALUE_WORDS, len(self.tokens)), first, -1):
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
        """Extend a value by its dimension's name, if that is after it; else add such an option."""
        taxonomy = piece.filters.taxonomy if piece.filters else ()
        names = {spelling(noun_for_type(name)) for name, _ in taxonomy}
        if piece.last < len(self.tokens) and self._phrase(piece.last, piece.last + 1) in names:
            return replace(piece, last=piece.last + 1)
        if piece.first and self._phrase(piece.first - 1, piece.first) in names:
            longer = replace(piece, first=piece.first - 1)
            self.options[longer.first].append(longer)
        return piece

    def _names(self) -> Iterator[Piece]:
        """Yield the people and entities that are named."""
        kinds = {kind for limit in self.analysis.constraints for kind in limit.filters.kinds}
        for person in people_in(self.analysis.question, self.vocabulary):
            first, last = self.places(person.span)
            speaks = person.speakers and (not person.authors or "transcript" in kinds)
            written_by = Filters(authors=person.authors)
            filters = Filters(speakers=person.speakers) if speaks else written_by
            yield Piece(slot=PERSON, first=first, last=last, filters=filters)
        for span in {entity.span for entity in self.analysis.entities}:
            first, last = self.places(span)
            entities = tuple(entity for entity in self.analysis.entities if entity.span == span)
            if first < last:
                yield Piece(slot=TOPIC, first=first, last=last, entities=entities)

    def _numbers(self) -> Iterator[Piece]:
        for number, word in enumerate(self.plain):
            digits = NUMBER_WORDS.get(word, word)
            if digits.isdigit() and len(digits) < 3 and int(digits):
                yield Piece(slot=NUMBER, first=number, last=number + 1, number=int(digits))

    def limits_outside_nouns(self, pieces: Sequence[Piece]) -> list[Filters]:
        """The limits on kinds whose words none of the nouns in ``pieces`` covers."""
        covered = {
            word for piece in pieces if piece.noun for word in range(piece.first, piece.last)
        }
        constraints = self.analysis.constraints
        limits = [limit for limit in constraints if limit.kind in ("kind", "source_type")]
        return [
            limit.filters for limit in limits if covered.isdisjoint(range(*self.places(limit.span)))
        ]

    def choices(self, model: CatalogueModel) -> list[list[Piece]]:
        """The pieces that may begin at each word, including the plain word and a topic word."""
        choices: list[list[Piece]] = []
        topic_words_left = 0  # words from here on that may be a topic although they are known
        for number, (token, options) in enumerate(zip(self.tokens, self.options, strict=True)):
            pieces = list(options)
            is_small_word = token.plain in STOP_WORDS or token.plain in PREPOSITIONS
            # A type of entity is what is asked for, not a word of the phrase around it.
            names_type = any(piece.noun and piece.noun.names for piece in options)
            is_known = token.plain in model.words and not names_type
            if number in self._fixed:
                choices.append(pieces)
                continue
            if is_known:
                pieces.append(Piece(slot=token.plain, first=number, last=number + 1))
            before = self.plain[number - 1] if number else ""
            if before in model.leading and before in model.words:
                topic_words_left = MAX_NOUN_WORDS
            is_entity = any(piece.entities for piece in options)
            may_be_topic = topic_words_left or not (is_known or pieces)
            if may_be_topic and not is_small_word and not is_entity:
                is_ambiguous = is_known or bool(options)
                pieces.append(Piece(slot=TOPIC, first=number, last=number + 1, known=is_ambiguous))
            topic_words_left = max(0, topic_words_left - 1)
            choices.append(pieces)
        return choices


def best_reading(words: QuestionWords, model: CatalogueModel) -> Reading | None:
    """The best reading; None when the question is not clearly about the catalogue."""
    best: Reading | None = None
    highest = -np.inf
    if len(words.tokens) > MAX_TOKENS:
        return None
    for split in islice(ways_to_split(words.choices(model)), MAX_SPLITS):
        pieces = [piece for piece in split if piece.slot]
        slots = [piece.slot for piece in pieces]
        runs = _word_runs(slots)
        reading = classify([slots[start] for start, _ in runs], model)
        required = _REQUIRED_SLOTS.get(reading.name, ()) if reading else ()
        if reading is None or any(map(set(slots).isdisjoint, required)):
            continue
        score = reading.score - KNOWN_WORD_PENALTY * sum(piece.known for piece in pieces)
        if score > highest:
            highest = score
            topic = next((pieces[start:end] for start, end in runs if slots[start] == TOPIC), [])
            best = replace(reading, score=score, pieces=tuple(pieces), topic=tuple(topic))
    return best if best and best.sure else None


def classify(masked: Sequence[str], model: CatalogueModel) -> Reading | None:
    """The best reading of these words and slots; None when none is possible."""
    if not _has_possible_slots(masked):
        return None
    scores = model.scores(features(masked))
    naming = scores.pop(NAMING)
    name = max(scores, key=lambda reading: scores[reading])
    if not _fits_examples(name, masked, model):
        return None
    return Reading(name=name, naming=naming > 0.5, score=scores[name], texts=scores[TEXTS])


class CoversWords(Protocol):
    """Anything that covers consecutive words of a question."""

    @property
    def last(self) -> int:
        """The number of the first word after it."""
        ...


P = TypeVar("P", bound=CoversWords)


def ways_to_split(choices: Sequence[Sequence[P]], start: int = 0) -> Iterator[list[P]]:
    """Yield every split into pieces; ``choices`` has those that may begin at each word."""
    if start >= len(choices):
        yield []
        return
    for piece in choices[start]:
        for others in ways_to_split(choices, piece.last):
            yield [piece, *others]


def _has_possible_slots(masked: Sequence[str]) -> bool:
    """Whether no slot occurs too often."""
    max_counts = {NOUN: 1, TOPIC: 1, NUMBER: 1, BY: 2, WHEN: 1, IN: 2}
    return all(masked.count(slot) <= number for slot, number in max_counts.items())


def _fits_examples(reading: str, masked: Sequence[str], model: CatalogueModel) -> bool:
    """Whether the words and the topic's position match training questions of this reading."""
    if reading == TEXTS:
        return True
    if not all(model.explains(reading, word) for word in masked):
        return False
    before = [word for word, slot in pairwise([FIRST, *masked]) if slot == BY]
    if not all(f"{word} {BY}" in model.weights for word in before):
        return False  # "in this collection" is no group
    if TOPIC not in masked:
        return True
    ends = [FIRST, *masked, LAST]
    topic_index = ends.index(TOPIC)
    return model.frames(reading, ends[topic_index - 1], ends[topic_index + 1])
