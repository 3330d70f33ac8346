"""Which of the eleven types a question has, learned from examples alone.

What the base knows of the words becomes slots ("How many {nouns} mention {entity}?"), a word that
no example has is a part of a topic, and a linear model over the words, pairs and triples of words
gives each type a score. Where these leave it open, the question's vector is asked too, if the
embedder is the one that was learned from. ``benchmarks/train_question_type.py`` writes the numbers,
from examples that stand there as plain lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from wellread.ask.understand.source_limits import dimension_words, source_noun
from wellread.ask.understand.vocabulary import Vocabulary, runs_in
from wellread.models.base import Embedder
from wellread.text.english import PREPOSITIONS, STOP_WORDS, UNITS
from wellread.text.names import singular
from wellread.text.periods import expressions_of
from wellread.text.tokens import ARTICLES, Token, key_of, key_of_words, plain, tokens_of
from wellread.text.words import stem
from wellread.types import Span
from wellread.values.question import Constraint, NamedEntity, QuestionType

FILE = "question_types.npz"
TOPIC, TOPICS, NUMBER, UNIT = "{topic}", "{topics}", "{number}", "{unit}"
ENTITY, PERSON, WHEN, VALUE, DOCUMENT = "{entity}", "{person}", "{when}", "{value}", "{document}"
NOUN, NOUNS, BY, BYS = "{noun}", "{nouns}", "{by}", "{bys}"
FIRST, LAST = "^", "$"
STEPS = 64  # that a weight of one is kept as; none is as much as two
UNSURE = 0.2  # the least by which the words of the best type are ahead of the next one
UNASKED, LISTED = "no question mark", "colon"
# What goes before a slot: words of the same topic, an article, "the pattern" of "the pattern Role".
_JOINED: Mapping[str, Collection[str]] = {
    **dict.fromkeys((PERSON, VALUE, DOCUMENT), ARTICLES),
    **dict.fromkeys((TOPIC, TOPICS), ARTICLES | {TOPIC, TOPICS}),
    ENTITY: ARTICLES | {NOUN},
}
_SLOT = re.compile(r"\{\w+\}")
_UNITS = re.compile("|".join(UNITS.values()), re.IGNORECASE)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What is known of the words of a question before its type."""

    entities: Sequence[NamedEntity] = ()
    people: Sequence[Span] = ()
    constraints: Sequence[Constraint] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeModel:
    """What was learned.

    Attributes:
        words: those that several examples have.
        weights: a row for each feature, a column for each type.
        embedder: the name of the model whose vectors were learned from.
        turning: what each number of such a vector adds to the types, and a bias.
    """

    types: tuple[QuestionType, ...]
    words: frozenset[str]
    weights: Mapping[str, Floats]
    embedder: str
    turning: Floats

    def scores(self, masked: Sequence[str]) -> Floats:
        """How well each type fits the words."""
        names = [name for name in features(masked) if name in self.weights]
        rows = [self.weights[name] for name in names] or [np.zeros(len(self.types), np.float32)]
        total: Floats = np.sum(rows, axis=0) / np.float32(np.sqrt(len(rows)))
        return total

    def told(self, sort: QuestionType, masked: Sequence[str]) -> str:
        """The words that speak most for a type."""
        at = self.types.index(sort)
        told = {name: _SLOT.sub("…", name).strip(f"{FIRST}{LAST}~ ") for name in features(masked)}
        names = [name for name in self.weights.keys() & told if told[name].strip("… ")]
        best = max(names, key=lambda name: (self.weights[name][at], name), default="")
        return told.get(best, "")


def type_of(
    masked: Sequence[str], subject: str, embedder: Embedder | None = None
) -> tuple[QuestionType, str]:
    """The type of a question, and the words that tell it."""
    model = learned()
    scores = model.scores(masked)
    second, first = np.sort(scores)[-2:]
    known = embedder is not None and model_name(embedder) == model.embedder
    if embedder is not None and known and first - second < UNSURE:
        scores = scores + with_bias(embedder.embed([subject], "query"))[0] @ model.turning
    sort = model.types[int(scores.argmax())]
    return sort, model.told(sort, masked)


def model_name(embedder: Embedder) -> str:
    """What its variants (precision, longest text) have in common."""
    return embedder.identity.partition("/")[0]


def with_bias(vectors: Floats) -> Floats:
    """Vectors with a column of ones behind."""
    return np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])


def masked_question(text: str, vocabulary: Vocabulary, named: Named, today: date) -> list[str]:
    """The words of a question with slots for what is known of them, and its marks."""
    return masked(slotted(text, vocabulary, named, today), marks_of(text), learned().words)


def slotted(text: str, vocabulary: Vocabulary, named: Named, today: date) -> list[str]:
    """The words of a question with slots for what the base knows of them."""
    tokens = tokens_of(text)
    slots: dict[int, str] = {}  # empty for further words of one
    for span, slot in _places(text, tokens, vocabulary, named, today):
        inside = [
            at for at, one in enumerate(tokens) if one.start < span.end and span.start < one.end
        ]
        if inside and slots.keys().isdisjoint(inside):
            slots |= dict.fromkeys(inside, "") | {inside[0]: slot}
    words = (slots.get(at, token.plain) for at, token in enumerate(tokens))
    return [word for word in words if word]


def masked(slotted: Iterable[str], marks: Iterable[str], words: Collection[str]) -> list[str]:
    """Words and slots as the model knows them, and the marks of the question.

    Neighbouring words of a topic are one, and names have no articles.
    """
    found: list[str] = []
    for one in slotted:
        word = one if one.startswith("{") else worded(one, words)
        ahead = _JOINED.get(word, frozenset())
        while found and found[-1] in ahead:
            found.pop()
        found.append(word)
    return [*found, *marks]


def _places(
    text: str, tokens: Sequence[Token], vocabulary: Vocabulary, named: Named, today: date
) -> Iterator[tuple[Span, str]]:
    """Where something known stands, the surest first."""
    for limit in named.constraints:
        if limit.kind == "taxonomy":
            yield limit.span, VALUE
    for one in named.people:
        yield one, PERSON
    for entity in named.entities:
        yield entity.span, ENTITY
    for time in expressions_of(text, today):
        before = "".join(text[: time.start].split()[-1:])
        # "may" alone is a month behind "in" or "since" only
        if time.form != "month" or time.end - time.start > 3 or plain(before) in PREPOSITIONS:
            yield Span(start=time.start, end=time.end), WHEN
    yield from _kinds_in(text, tokens, vocabulary)


def names_kinds(text: str, vocabulary: Vocabulary) -> bool:
    """Whether ``text`` has a word for a kind of source or entity, or for a dimension."""
    return any(_kinds_in(text, tokens_of(text), vocabulary))


def _kinds_in(
    text: str, tokens: Sequence[Token], vocabulary: Vocabulary
) -> Iterator[tuple[Span, str]]:
    """Where a kind of source or entity is named, or a dimension."""
    for match in source_noun(vocabulary).finditer(text):
        many = singular(match.group().split()[-1].lower())
        yield Span(start=match.start(), end=match.end()), NOUNS if many else NOUN
    kinds, dimensions = _keys(vocabulary.entity_types), dimension_words(vocabulary.dimensions)
    for start, end in runs_in(tokens, 3):
        words = [one.plain for one in tokens[start:end]]
        one, many = (NOUN, NOUNS) if key_of_words(words) in kinds else (BY, BYS)
        if one == NOUN or (len(words) == 1 and words[0] in dimensions):
            span = Span(start=tokens[start].start, end=tokens[end - 1].end)
            yield span, many if singular(words[-1]) else one


@lru_cache(maxsize=64)
def _keys(types: frozenset[str]) -> frozenset[str]:
    """The keys of the names of entity types."""
    return frozenset(key_of(name.replace("_", " ")) for name in types)


def worded(word: str, known: Collection[str]) -> str:
    """A word as the model knows it, or what stands for it."""
    if word in known:
        return word
    if word.isdigit():
        return NUMBER
    if _UNITS.fullmatch(word):
        return UNIT
    if word in STOP_WORDS:
        return word
    return TOPICS if singular(word) else TOPIC


def marks_of(text: str) -> list[str]:
    """What its marks tell: that it does not end as a question, that it lists."""
    unasked = [] if text.rstrip(" \"'”’)").endswith("?") else [UNASKED]
    return [*unasked, *([LISTED] if ":" in text else [])]


def features(masked: Sequence[str]) -> list[str]:
    """The words of a masked question, their stems, pairs and triples, and its marks, each once."""
    words = [word for word in masked if word not in (UNASKED, LISTED)]
    stems = (f"~{stem(word)}" for word in words if not word.startswith("{"))
    return list(dict.fromkeys((*masked, *stems, *pairs_and_triples(words))))


def pairs_and_triples(words: Sequence[str]) -> Iterator[str]:
    """Neighbouring words, the two ends of the question among them."""
    ends = [FIRST, *words, LAST]
    yield from map(" ".join, pairwise(ends))
    yield from map(" ".join, zip(ends, ends[1:], ends[2:], strict=False))


@cache
def learned() -> TypeModel:
    """The model that ships."""
    with (resources.files(__package__) / FILE).open("rb") as file, np.load(file) as kept:
        weights = kept["weights"].astype(np.float32) / STEPS
        return TypeModel(
            types=cast("tuple[QuestionType, ...]", tuple(map(str, kept["types"]))),
            words=frozenset(map(str, kept["words"])),
            embedder=str(kept["embedder"]),
            turning=kept["turning"].astype(np.float32),
            weights=dict(zip(map(str, kept["features"]), weights, strict=True)),
        )
