"""Parses relation questions: names by lookup, other words by a model trained on examples.

Names and type nouns become slots, "Which {type} does {name} pay for?". A linear model over the
remaining words chooses the family of the relation and its direction. A recognised clause ("the
{type} that {name} uses") becomes a name in the rest of the question, which is then read in turn;
the best-scoring split wins. ``benchmarks/train_walks.py`` trains the model from listed examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from itertools import islice, pairwise

import numpy as np

from wellread.ask.aggregate.catalogue_reading import (
    MIN_MARGIN,
    MIN_SCORE,
    TEXTS,
    QuestionModel,
    ways_to_split,
)
from wellread.ask.aggregate.catalogue_reading import features as plain_features
from wellread.ask.aggregate.query import Sense
from wellread.ask.understand.analyse import FIRST, LAST
from wellread.text.english import PREPOSITIONS
from wellread.text.parsed import stem
from wellread.text.tokens import ARTICLES, Token
from wellread.types import Span
from wellread.values.question import NamedEntity

FILE = "walks_model.npz"
SKIPPED, OPENINGS = "skipped", "openings"  # words without meaning, anywhere or at the beginning
BOTH, WHETHER, SAME = "both", "whether", "same"
FLAGS = (BOTH, WHETHER, SAME)  # outputs of the model that add to a reading
PATH, RELATED, ANY = "path", "relate", "any"
OWN_WORDS = "own words"  # the reading for a relation of no known family
NAME, NAMES, OTHER = "{name}", "{names}", "{other}"
TYPE = "{type}"
ROLES = {"subject": "object", "object": "subject"}  # of the name that a verb has with it
UNSEEN_PENALTY = 0.06  # of the score, for each pair of words that no example has
MAX_UNSEEN_PAIRS = 3
MIN_COMMON_READINGS = 14  # a word with so many readings is allowed in any
CLAUSE_PENALTY = 0.25  # of the score, for each clause
MAX_SCORE_GAP = 0.2  # below the best score; closer readings are kept as alternatives
MAX_SPLITS, MAX_TOKENS = 160, 28
MAX_CLAUSES = 3
MAX_RELATION_WORDS = 6  # words of a relation's name
JOINING = frozenset({"and", "or", "nor"})
CLAUSE_PREPOSITIONS = PREPOSITIONS | {"to", "of"}  # no inner clause begins with them

Groups = tuple[tuple[NamedEntity, ...], ...]


def features(masked: Sequence[str]) -> list[str]:
    """The features of a clause: its words, pairs and triples, on which side of the name each
    word is, and its other slots together with its first word.
    """
    at = next((at for at, word in enumerate(masked) if word in (NAME, NAMES)), len(masked))
    sides = [f"{word} <" for word in masked[:at]] + [f"> {word}" for word in masked[at + 1 :]]
    slots = [f"{word} .. {masked[0]}" for word in masked[1:] if word.startswith("{")]
    return list(dict.fromkeys((*plain_features(masked), *sides, *slots)))


OwnWords = tuple[tuple[str, ...], str, Sense]
"""The words of a relation of no known family, the slot that they fill, and its meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A slot or a single word of the question; ``slot`` is empty for words to skip.

    Attributes:
        first, last: the positions of its words, ``last`` not included.
        entities: for each name, the entities that it may mean.
        families: the relation families that the words name; "turned" if B does it to A.
        particle: of a verb that the clause may separate from it ("pays … for").
        sense: the meaning of a relation of no known family.
    """

    slot: str
    first: int
    last: int
    entities: Groups = ()
    types: frozenset[str] = frozenset()
    families: tuple[str, ...] = ()
    turned: bool = False
    particle: str = ""
    sense: Sense | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """The interpretation of the words around a name."""

    readings: tuple[str, ...]
    flags: frozenset[str]
    score: float
    pieces: tuple[Piece, ...] = ()
    sense: Sense | None = None

    def slots(self, slot: str) -> list[Piece]:
        """The pieces that fill this slot."""
        return [piece for piece in self.pieces if piece.slot == slot]


@lru_cache(maxsize=20_000)
def interpret_clause(masked: tuple[str, ...]) -> Clause | None:
    """Interpret a clause; None if it is not clearly about the graph."""
    model = walk_model()
    pairs = list(pairwise((FIRST, *masked, LAST)))
    unseen = sum(pair not in model.pairs for pair in pairs)
    if unseen > MAX_UNSEEN_PAIRS or len(set(pairs)) < len(pairs):
        return None
    scores = model.scores(features(masked))
    flags = {name: scores.pop(name) for name in FLAGS}
    texts = scores.pop(TEXTS)
    best = max(scores.values())
    score = best - UNSEEN_PENALTY * unseen
    if score < max(MIN_SCORE, texts + MIN_MARGIN):
        return None
    close = sorted(name for name, value in scores.items() if value >= best - MAX_SCORE_GAP)
    close.sort(key=lambda name: -scores[name])
    readings = tuple(name for name in close if all(model.explains(name, word) for word in masked))
    if not readings or readings[0] != close[0]:
        return None
    set_flags = frozenset(name for name, value in flags.items() if value > 0.5)
    return Clause(readings=readings, flags=set_flags, score=score)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkModel(QuestionModel):
    """The model of relation questions; its outputs include ``FLAGS`` and the roles of a name.

    Attributes:
        pairs: adjacent words in the examples; the ends of a question count as words.
        lexicon: words to what they may call, as pieces without their places.
    """

    pairs: frozenset[tuple[str, str]]
    lexicon: Mapping[tuple[str, ...], tuple[Piece, ...]]

    def explains(self, reading: str, word: str) -> bool:
        """Whether a word is allowed in a clause with this reading."""
        readings = self.words.get(word, frozenset())
        return reading in readings or (
            reading not in ROLES and len(readings) >= MIN_COMMON_READINGS
        )


@cache
def walk_model() -> WalkModel:
    """Load the shipped model."""
    with (resources.files(__package__) / FILE).open("rb") as file, np.load(file) as arrays:
        lines = {
            name: bytes(arrays[name]).decode().split("\n")
            for name in ("readings", "features", "words", "around", "lexicon")
        }
        weights = arrays["weights"].T.astype(np.float32) * np.float32(arrays["step"])
    lexicon: dict[tuple[str, ...], list[Piece]] = {}
    for line in lines["lexicon"]:
        words, slot, families, turned, particle = line.split("|")
        piece = Piece(
            slot=slot,
            first=0,
            last=0,
            families=tuple(filter(None, families.split("+"))),
            turned=bool(turned),
            particle=particle,
        )
        lexicon.setdefault(tuple(words.split()), []).append(piece)
    around = (line.split(" ") for line in lines["around"])
    return WalkModel(
        readings=tuple(lines["readings"]),
        weights=dict(zip(lines["features"], weights, strict=True)),
        words={word: frozenset(names) for word, *names in map(str.split, lines["words"])},
        pairs=frozenset((before, after) for before, after in around),
        lexicon={words: tuple(pieces) for words, pieces in lexicon.items()},
    )


# --- the words of a question ---


class WalkWords:
    """The words of a question, with the slots that each could fill."""

    def __init__(
        self,
        tokens: Sequence[Token],
        groups: Sequence[tuple[NamedEntity, ...]],
        types: Mapping[str, frozenset[str]],
        relations: Sequence[OwnWords] = (),
    ) -> None:
        self.tokens, self._types, self._relations = tokens, types, relations
        self._model = walk_model()
        self._begins = {0}  # where a question may begin
        self._named: set[int] = set()  # positions inside names, but for their first words
        self.plain = [token.plain for token in tokens]
        self.options: list[list[Piece]] = [list(self._pieces_at(at)) for at in range(len(tokens))]
        for group in groups:
            self._add_name(group)

    def _pieces_at(self, at: int) -> Iterator[Piece]:
        """Yield the pieces that begin here: the word, a type noun, the words of a relation."""
        word = self.plain[at]
        if word in ARTICLES:
            yield Piece(slot="", first=at, last=at + 1)
            return
        types = self._types.get(stem(word), frozenset())
        if types or (at and self.plain[at - 1] == SAME):
            yield Piece(slot=TYPE, first=at, last=at + 1, types=types)
        for words, slot, sense in self._relations:
            if tuple(map(stem, self.plain[at : at + len(words)])) == words:
                yield Piece(slot=slot, first=at, last=at + len(words), sense=sense)
        for size in range(min(MAX_RELATION_WORDS, len(self.plain) - at), 0, -1):
            for piece in self._model.lexicon.get(tuple(self.plain[at : at + size]), ()):
                if piece.slot == SKIPPED or (piece.slot == OPENINGS and at in self._begins):
                    self._begins.add(at + size)
                    yield replace(piece, slot="", first=at, last=at + size)
                elif piece.slot != OPENINGS and not (piece.slot == TYPE and types):
                    yield replace(piece, first=at, last=at + size)
        if word in self._model.words and not types:
            yield Piece(slot=word, first=at, last=at + 1)

    def _add_name(self, group: tuple[NamedEntity, ...]) -> None:
        """Replace the words of a name by its slot; a single ordinary word stays an option."""
        positions = [
            at
            for at, token in enumerate(self.tokens)
            if token.start < group[0].span.end and group[0].span.start < token.end
        ]
        if not positions:
            return
        first, last = positions[0], positions[-1] + 1
        name = Piece(slot=NAME, first=first, last=last, entities=(group,))
        written = self.tokens[first].written
        is_ordinary = last - first == 1 and (written.islower() or not first)
        is_known = self.plain[first] in self._model.words or len(self.options[first]) > 1
        self.options[first] = [name, *(self.options[first] if is_ordinary and is_known else ())]
        self._named |= set(positions[1:])
        for at in positions[1:]:
            self.options[at] = []

    def readable(self) -> bool:
        """Whether every word occurs in training questions about the graph."""
        return len(self.tokens) <= MAX_TOKENS and all(
            options or at in self._named for at, options in enumerate(self.options)
        )

    def splits(self) -> Iterator[list[Piece]]:
        """Yield every way to split the question into pieces."""
        for pieces in islice(ways_to_split(self.options), MAX_SPLITS):
            yield _mark_second_name(_join_names([piece for piece in pieces if piece.slot]))

    def span(self, first: int, last: int) -> Span:
        """The span of these words in the question."""
        return Span(start=self.tokens[first].start, end=self.tokens[last - 1].end)

    def relation_words(self, clause: Clause) -> list[str]:
        """The words of a clause that name its relation."""
        verb = next((piece for piece in clause.pieces if piece.families or piece.sense), None)
        if verb:
            return self.plain[verb.first : verb.last]
        others = [piece for piece in clause.pieces if piece.slot not in (NAME, NAMES, OTHER, TYPE)]
        return [self.plain[at] for piece in others for at in range(piece.first, piece.last)]


def _join_names(pieces: Sequence[Piece]) -> list[Piece]:
    """Join names with "and" or "or" between them into one piece."""
    joined: list[Piece] = []
    for piece in pieces:
        joined.append(piece)
        at = next((at for at in (-3, -4, -5) if len(joined) >= -at and joined[at].entities), 0)
        if piece.slot != NAME or not at:
            continue
        between = {inner.slot for inner in joined[at + 1 : -1]}
        if between & JOINING and between <= JOINING | PREPOSITIONS | {"both", "to", "of"}:
            slot = NAME if "or" in between else NAMES
            entities = (*joined[at].entities, *piece.entities)
            joined[at:] = [replace(joined[at], slot=slot, last=piece.last, entities=entities)]
    return joined


def _mark_second_name(pieces: Sequence[Piece]) -> list[Piece]:
    """Give a name after the first the slot ``{other}``."""
    marked: list[Piece] = []
    for piece in pieces:
        is_second = piece.slot == NAME and any(earlier.entities for earlier in marked)
        marked.append(replace(piece, slot=OTHER) if is_second else piece)
    return marked


# --- clauses ---


def best_clauses(words: WalkWords) -> list[Clause]:
    """The clauses of the question, the innermost first; none if it is about texts."""
    if not words.readable():
        return []
    best: list[Clause] = []
    highest = 0.0
    for pieces in words.splits():
        for clauses in _splits(pieces, MAX_CLAUSES):
            score = min(clause.score for clause in clauses) - CLAUSE_PENALTY * len(clauses)
            if score > highest:
                best, highest = clauses, score
    return best


def _splits(pieces: Sequence[Piece], max_clauses: int) -> Iterator[list[Clause]]:
    """Yield the pieces as one clause, and every split into an inner clause and those around it."""
    clause = _read_clause(pieces)
    if clause:
        yield [clause]
    name_positions = [at for at, piece in enumerate(pieces) if piece.slot in (NAME, NAMES)]
    if max_clauses == 1 or len(name_positions) != 1 or any(piece.slot == OTHER for piece in pieces):
        return
    for first in range(name_positions[0] + 1):
        if pieces[first].slot in CLAUSE_PREPOSITIONS:
            continue
        for last in range(max(name_positions[0] + 1, first + 2), len(pieces) + 1):
            if last - first >= len(pieces):
                continue
            inner = _read_clause(pieces[first:last])
            if inner is None or inner.flags - {BOTH} or inner.readings[0] == PATH:
                continue
            answer = Piece(slot=NAME, first=pieces[first].first, last=pieces[last - 1].last)
            outer = [*pieces[:first], answer, *pieces[last:]]
            for others in _splits(outer, max_clauses - 1):
                yield [inner, *others]


def _read_clause(pieces: Sequence[Piece]) -> Clause | None:
    """Read the pieces as one clause; None if a slot is missing or occurs too often."""
    slots = [piece.slot for piece in pieces]
    relation_pieces = [piece for piece in pieces if piece.families or piece.sense]
    if slots.count(NAME) + slots.count(NAMES) != 1 or len(relation_pieces) > 1:
        return None
    if not all(_is_complete(verb, slots) for verb in relation_pieces):
        return None
    if relation_pieces and any(map(_is_verb, slots[1:])):
        return None
    clause = interpret_clause(tuple(slots))
    if clause is None or not _fits(clause, slots, bool(relation_pieces)):
        return None
    if relation_pieces:
        return _with_verb_families(clause, relation_pieces[0], pieces)
    return replace(clause, pieces=tuple(pieces))


def _is_verb(word: str) -> bool:
    """Whether a plain word names a relation in other clauses."""
    return any(piece.slot in ("{V}", "{Vs}") for piece in walk_model().lexicon.get((word,), ()))


def _is_complete(verb: Piece, slots: Sequence[str]) -> bool:
    """Whether the particle of a verb is there; a question with "where" may leave it out."""
    is_separable = verb.slot in ("{v}", "{vs}")
    return not is_separable or "where" in slots or verb.particle in slots


def _fits(clause: Clause, slots: Sequence[str], has_relation: bool) -> bool:
    """Whether the clause has the slots that its reading requires, and none twice."""
    first = clause.readings[0]
    two_names = OTHER in slots or NAMES in slots
    return (
        (first in ROLES) == has_relation
        and SAME not in clause.flags
        and slots.count(TYPE) <= 1
        and slots.count(OTHER) <= 1
        and (two_names or not (first == PATH or clause.flags & {BOTH, WHETHER}))
        and (OTHER not in slots or first == PATH or WHETHER in clause.flags)
    )


def _with_verb_families(clause: Clause, verb: Piece, pieces: Sequence[Piece]) -> Clause:
    """Set the readings of a clause to the families that its verb, phrase or noun names."""
    role = ROLES[clause.readings[0]] if verb.turned else clause.readings[0]
    readings = tuple(reading_of(family, role) for family in verb.families) or (OWN_WORDS,)
    sense = verb.sense and (verb.sense if role == "subject" else verb.sense.flipped())
    return replace(clause, readings=readings, sense=sense, pieces=tuple(pieces))


def reading_of(family: str, role: str) -> str:
    """The reading of a family for the name's role; some are the same for both roles."""
    return family if family in walk_model().readings else f"{family}.{role}"
