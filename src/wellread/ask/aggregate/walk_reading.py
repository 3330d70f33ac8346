"""Parses relation questions: names by lookup, other words by a model trained on examples.

Names and type nouns become slots, "Which {type} does {name} pay for?". A linear model over the
remaining words chooses the relation family and its direction. A recognised clause ("the {type} that
{name} uses") is replaced by its result and the question is parsed again; the best-scoring split
wins. ``benchmarks/train_walks.py`` trains the model from examples listed there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from itertools import islice, pairwise

import numpy as np

from wellread.ask.aggregate.catalogue_reading import (
    LEAST,
    SURE,
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
SKIPPED, OPENINGS = "skipped", "openings"  # words that say nothing, anywhere or at the beginning
BOTH, WHETHER, SAME = "both", "whether", "same"
FLAGS = (BOTH, WHETHER, SAME)  # beside a reading
PATH, RELATED, ANY = "path", "relate", "any"
OWN = "own words"  # of a relation that is like no family
NAME, NAMES, OTHER = "{name}", "{names}", "{other}"
TYPE = "{type}"
ROLES = {"subject": "object", "object": "subject"}  # of a name beside a verb
UNSEEN = 0.06  # less for each pair of words that no question about the graph has
MOST_UNSEEN = 3
COMMON = 14  # readings that have a word which may stand in any other
CUT = 0.25  # less for each clause
NEAR = 0.2  # readings that fit so much worse than the best are meant, too
MOST_READINGS, MOST_TOKENS = 160, 28
MOST_CLAUSES = 3
LONGEST = 6  # words that call a relation
JOINING = frozenset({"and", "or", "nor"})
LEADING = PREPOSITIONS | {"to", "of"}  # no clause inside of another begins with them

Groups = tuple[tuple[NamedEntity, ...], ...]


def features(masked: Sequence[str]) -> list[str]:
    """The words, pairs and triples of a clause, on which side of the name each word stands, and
    which slots there are beside its first word.
    """
    at = next((at for at, word in enumerate(masked) if word in (NAME, NAMES)), len(masked))
    sides = [f"{word} <" for word in masked[:at]] + [f"> {word}" for word in masked[at + 1 :]]
    slots = [f"{word} .. {masked[0]}" for word in masked[1:] if word.startswith("{")]
    return list(dict.fromkeys((*plain_features(masked), *sides, *slots)))


OwnWords = tuple[tuple[str, ...], str, Sense]
"""The words of a relation that is like no family, the slot that they fill, and its meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some words of the question as one slot, or one word; ``slot`` is empty for an article.

    Attributes:
        first, last: which words, the last not included.
        entities: for each name those that it may mean.
        families: of relations that the words call; "turned" where B does it to A;
            a verb without its particle stands in a clause that has it elsewhere, or has none.
        sense: of the words of a relation that is like no family.
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
        """The pieces that are such a slot."""
        return [piece for piece in self.pieces if piece.slot == slot]


@lru_cache(maxsize=20_000)
def judged(masked: tuple[str, ...]) -> Clause | None:
    """The interpretation of a clause; None when it is not clearly about the graph."""
    model = walk_model()
    pairs = list(pairwise((FIRST, *masked, LAST)))
    unseen = sum(pair not in model.pairs for pair in pairs)
    if unseen > MOST_UNSEEN or len(set(pairs)) < len(pairs):
        return None
    scores = model.scored(features(masked))
    flags = {name: scores.pop(name) for name in FLAGS}
    texts = scores.pop(TEXTS)
    best = max(scores.values())
    score = best - UNSEEN * unseen
    if score < max(LEAST, texts + SURE):
        return None
    near = sorted(name for name, held in scores.items() if held >= best - NEAR)
    near.sort(key=lambda name: -scores[name])
    readings = tuple(one for one in near if all(model.explains(one, word) for word in masked))
    if not readings or readings[0] != near[0]:
        return None
    said = frozenset(name for name, held in flags.items() if held > 0.5)
    return Clause(readings=readings, flags=said, score=score)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkModel(QuestionModel):
    """The model of relation questions; ``FLAGS`` and the roles of a name are among its readings.

    Attributes:
        pairs: of words that stand side by side in examples; an end of the question is a word.
        called: words to what they may call, as pieces without their places.
    """

    pairs: frozenset[tuple[str, str]]
    called: Mapping[tuple[str, ...], tuple[Piece, ...]]

    def explains(self, reading: str, word: str) -> bool:
        """Whether a word may stand in a clause that is read so."""
        told = self.words.get(word, frozenset())
        return reading in told or (reading not in ROLES and len(told) >= COMMON)


@cache
def walk_model() -> WalkModel:
    """Load the shipped model."""
    with (resources.files(__package__) / FILE).open("rb") as file, np.load(file) as kept:
        lines = {
            name: bytes(kept[name]).decode().split("\n")
            for name in ("readings", "features", "words", "around", "lexicon")
        }
        weights = kept["weights"].T.astype(np.float32) * np.float32(kept["step"])
    called: dict[tuple[str, ...], list[Piece]] = {}
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
        called.setdefault(tuple(words.split()), []).append(piece)
    around = (line.split(" ") for line in lines["around"])
    return WalkModel(
        readings=tuple(lines["readings"]),
        weights=dict(zip(lines["features"], weights, strict=True)),
        words={word: frozenset(names) for word, *names in map(str.split, lines["words"])},
        pairs=frozenset((one, two) for one, two in around),
        called={words: tuple(pieces) for words, pieces in called.items()},
    )


# --- the words of a question ---


class WalkWords:
    """The words of a question with the slots that each word could fill."""

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
        self._named: set[int] = set()  # words of names behind the first
        self.plain = [token.plain for token in tokens]
        self.options: list[list[Piece]] = [list(self._words(at)) for at in range(len(tokens))]
        for group in groups:
            self._add_name(group)

    def _words(self, at: int) -> Iterator[Piece]:
        """The word itself, a noun for a type, the words of a relation."""
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
        for size in range(min(LONGEST, len(self.plain) - at), 0, -1):
            for known in self._model.called.get(tuple(self.plain[at : at + size]), ()):
                if known.slot == SKIPPED or (known.slot == OPENINGS and at in self._begins):
                    self._begins.add(at + size)
                    yield replace(known, slot="", first=at, last=at + size)
                elif known.slot != OPENINGS and not (known.slot == TYPE and types):
                    yield replace(known, first=at, last=at + size)
        if word in self._model.words and not types:
            yield Piece(slot=word, first=at, last=at + 1)

    def _add_name(self, group: tuple[NamedEntity, ...]) -> None:
        """A name takes the place of its words, but for a word that plays another part, too."""
        inside = [
            at
            for at, token in enumerate(self.tokens)
            if token.start < group[0].span.end and group[0].span.start < token.end
        ]
        if not inside:
            return
        first, last = inside[0], inside[-1] + 1
        name = Piece(slot=NAME, first=first, last=last, entities=(group,))
        written = self.tokens[first].written
        other = last - first == 1 and (written.islower() or not first)
        plays = other and (self.plain[first] in self._model.words or len(self.options[first]) > 1)
        self.options[first] = [name, *(self.options[first] if plays else ())]
        self._named |= set(inside[1:])
        for at in inside[1:]:
            self.options[at] = []

    def readable(self) -> bool:
        """Whether every word occurs in training questions about the graph."""
        return len(self.tokens) <= MOST_TOKENS and all(
            options or at in self._named for at, options in enumerate(self.options)
        )

    def ways(self) -> Iterator[list[Piece]]:
        """Every way to split the question into pieces."""
        for taken in islice(ways_to_split(self.options), MOST_READINGS):
            whole = [piece for piece in taken if piece.slot]
            yield _numbered(_coordinated(whole))

    def span(self, first: int, last: int) -> Span:
        """Where these words stand."""
        return Span(start=self.tokens[first].start, end=self.tokens[last - 1].end)

    def between(self, clause: Clause) -> list[str]:
        """The words of a clause that say something and are no slot for a noun or name."""
        verb = next((one for one in clause.pieces if one.families or one.sense), None)
        if verb:
            return self.plain[verb.first : verb.last]
        kept = [one for one in clause.pieces if one.slot not in (NAME, NAMES, OTHER, TYPE)]
        return [self.plain[at] for one in kept for at in range(one.first, one.last)]


def _coordinated(pieces: Sequence[Piece]) -> list[Piece]:
    """Names with "and" or "or" between them as one."""
    found: list[Piece] = []
    for piece in pieces:
        found.append(piece)
        at = next((at for at in (-3, -4, -5) if len(found) >= -at and found[at].entities), 0)
        if piece.slot != NAME or not at:
            continue
        between = {one.slot for one in found[at + 1 : -1]}
        if between & JOINING and between <= JOINING | PREPOSITIONS | {"both", "to", "of"}:
            one = found[at]
            slot = NAME if "or" in between else NAMES
            whole = replace(
                one, slot=slot, last=piece.last, entities=(*one.entities, *piece.entities)
            )
            found[at:] = [whole]
    return found


def _numbered(pieces: Sequence[Piece]) -> list[Piece]:
    """The second name as another one."""
    found: list[Piece] = []
    for piece in pieces:
        second = piece.slot == NAME and any(one.entities for one in found)
        found.append(replace(piece, slot=OTHER) if second else piece)
    return found


# --- clauses ---


def best_clauses(words: WalkWords) -> list[Clause]:
    """The clauses of the question from the name outwards; none if it is about texts."""
    if not words.readable():
        return []
    best: list[Clause] = []
    highest = 0.0
    for pieces in words.ways():
        for clauses in _readings(pieces, MOST_CLAUSES):
            value = min(one.score for one in clauses) - CUT * len(clauses)
            if value > highest:
                best, highest = clauses, value
    return best


def _readings(pieces: Sequence[Piece], most: int) -> Iterator[list[Clause]]:
    """The whole as one clause, and each cut into one around the name and what asks for that."""
    whole = _read(pieces)
    if whole:
        yield [whole]
    places = [at for at, piece in enumerate(pieces) if piece.slot in (NAME, NAMES)]
    if most == 1 or len(places) != 1 or any(piece.slot == OTHER for piece in pieces):
        return
    for first in range(places[0] + 1):
        if pieces[first].slot in LEADING:
            continue
        for last in range(max(places[0] + 1, first + 2), len(pieces) + 1):
            if last - first >= len(pieces):
                continue
            inner = _read(pieces[first:last])
            if inner is None or inner.flags - {BOTH} or inner.readings[0] == PATH:
                continue
            found = Piece(slot=NAME, first=pieces[first].first, last=pieces[last - 1].last)
            outer = [*pieces[:first], found, *pieces[last:]]
            for others in _readings(outer, most - 1):
                yield [inner, *others]


def _read(pieces: Sequence[Piece]) -> Clause | None:
    """The clause that the pieces are; None where a slot stands there too often, or is missing."""
    slots = [piece.slot for piece in pieces]
    calling = [piece for piece in pieces if piece.families or piece.sense]
    names = slots.count(NAME) + slots.count(NAMES)
    if names != 1 or len(calling) > 1 or not all(_whole(one, slots) for one in calling):
        return None
    if calling and any(map(_is_verb, slots[1:])):
        return None
    clause = judged(tuple(slots))
    if clause is None or not _fits(clause, slots, bool(calling)):
        return None
    if calling:
        return _of_a_verb(clause, calling[0], pieces)
    return replace(clause, pieces=tuple(pieces))


def _is_verb(word: str) -> bool:
    """Whether a plain word names a relation in other clauses."""
    return any(one.slot in ("{V}", "{Vs}") for one in walk_model().called.get((word,), ()))


def _whole(verb: Piece, slots: Sequence[str]) -> bool:
    """Whether the particle of a verb is there; of where something is it may be left out."""
    apart = verb.slot in ("{v}", "{vs}")
    return not apart or "where" in slots or verb.particle in slots


def _fits(clause: Clause, slots: Sequence[str], verb: bool) -> bool:
    """Whether the clause has the slots that its reading requires, none too often."""
    first = clause.readings[0]
    two = OTHER in slots or NAMES in slots
    return (
        (first in ROLES) == verb
        and SAME not in clause.flags
        and slots.count(TYPE) <= 1
        and slots.count(OTHER) <= 1
        and (two or not (first == PATH or clause.flags & {BOTH, WHETHER}))
        and (OTHER not in slots or first == PATH or WHETHER in clause.flags)
    )


def _of_a_verb(clause: Clause, verb: Piece, pieces: Sequence[Piece]) -> Clause:
    """The clause with the families that its verb, phrase or noun calls."""
    role = ROLES[clause.readings[0]] if verb.turned else clause.readings[0]
    readings = tuple(reading_of(one, role) for one in verb.families) or (OWN,)
    sense = verb.sense and (verb.sense if role == "subject" else verb.sense.flipped())
    return replace(clause, readings=readings, sense=sense, pieces=tuple(pieces))


def reading_of(family: str, role: str) -> str:
    """The reading of a family for the name's role; some are the same for both roles."""
    return family if family in walk_model().readings else f"{family}.{role}"
