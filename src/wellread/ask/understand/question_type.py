"""Which of the eleven types a question has: by a sure pattern of words, else by its meaning.

The first pattern that fits decides; they stand in the order of how surely their words tell a type.
Where none fits, a softmax regression does, over the question's embedding, which retrieval needs
anyway, and over the short phrases that it is asked with. ``benchmarks/train_question_type.py``
writes its numbers; they belong to one embedder, and with any other the patterns decide alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from typing import cast

import numpy as np
from numpy.typing import NDArray

from wellread.ask.understand.question_parts import sides_of
from wellread.ask.understand.source_limits import source_noun, source_plurals
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.models.base import Embedder
from wellread.questions import Constraint, NamedEntity, QuestionType
from wellread.text.english_types import (
    ASKING_RELATIONS,
    ASKING_VERB,
    COMPARISONS,
    COVERAGE,
    GAPS,
    LACKING,
    LISTS,
    MOMENTS,
    OF_THE_BASE,
    OPEN,
    PERSONA,
    PLAIN_COMPARISONS,
    RELATED,
    RELATING,
    SUMMARIES,
    THINGS,
    TRENDS,
)
from wellread.text.names import plural, singular
from wellread.text.parsed import parse
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """What is known of a question when its type is decided.

    Attributes:
        asked: of the text, the sentences that ask.
    """

    text: str
    asked: str
    vocabulary: Vocabulary
    entities: Sequence[NamedEntity]
    constraints: Sequence[Constraint]


Rule = Callable[[Clues], str]


def _says(*patterns: str, whole: bool = False) -> Rule:
    """A rule that fits where one of the patterns does; its reason is what they found.

    Args:
        whole: also look into sentences that only lead to the question.
    """
    joined = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)

    def rule(clues: Clues) -> str:
        match = joined.search(clues.text if whole else clues.asked)
        return " ".join(match.group().split()[:6]) if match else ""

    return rule


_GAP = _says(*GAPS)
_META = _says(*COVERAGE)
_COMPARATIVE = _says(*COMPARISONS)
_PLAINLY = _says(*PLAIN_COMPARISONS)
_OPEN = _says(*OPEN)
_OF_BASE = re.compile(OF_THE_BASE, re.IGNORECASE)


def type_of(clues: Clues) -> tuple[QuestionType, str]:
    """The type of a question, and the words that tell it (empty for the plain factual one)."""
    for name, rule in _RULES:
        reason = rule(clues)
        if reason:
            return name, reason
    return "factual", ""


def _comparative(clues: Clues) -> str:
    """A comparison; "more than" alone is none unless its sides can be told."""
    if re.match(r"\W*why\b", clues.asked, re.IGNORECASE):
        return ""
    found = _COMPARATIVE(clues)
    return found if found and (_PLAINLY(clues) or sides_of(clues.text, clues.entities)) else ""


_STRONG = re.compile(rf"\b(?:{RELATED})\b", re.IGNORECASE)
_WEAK = re.compile(
    rf"(?<!\bto )(?<!\byou )(?<!\bi )(?<!\bwe )(?<!\bone )\b(?:{RELATING})\b", re.IGNORECASE
)
_USE = re.compile(r"use[sd]?\s+(?:for|in|as|to)\b", re.IGNORECASE)
# "Which topics does X mention".
_OF_ENTITY = re.compile(
    r"^(?:which|what)\s+\w+(?:\s+\w+)?\s+(?:do|does|did)\s.*?\s(?P<verb>\w+)\W*$", re.IGNORECASE
)


def _relational(clues: Clues) -> str:
    """Relation words; those that mean other things as well count beside an entity only."""
    text, relations = clues.text, clues.vocabulary.relations
    if any(one.kind in ("taxonomy", "document") for one in clues.constraints):
        return ""
    strong = _STRONG.search(text)
    if strong or not clues.entities:
        return strong.group() if strong else ""
    named = _OF_ENTITY.search(text)
    verb = named["verb"] if named else ""
    if verb and not {verb + end for end in ("", "s", "es", "d", "ed")}.isdisjoint(relations):
        return verb  # "does it mention" of "mentions"
    several = "|".join(re.escape(words) for words in relations if " " in words)
    declared = re.compile(rf"\b(?:{several or '(?!)'})\b", re.IGNORECASE)
    for match in chain(_WEAK.finditer(text), declared.finditer(text)):
        place = Span(start=match.start(), end=match.end())
        inside = any(one.span.overlaps(place) for one in clues.entities)
        # "what is it used for" is about use, not about users
        if not inside and not _USE.match(text, place.start) and ASKING_RELATIONS.search(text):
            return match.group()
    return ""


_IS_THERE = re.compile(r"is\s+there\s+an?\s+(\w+)(?:\s+(\w+))?", re.IGNORECASE)


_COVERED = re.compile(
    r"(?:what|which)\s+(?P<noun>[\w-]+)\s+(?:are|is)\s+(?:there|covered|missing|not\s+covered)"
    r"(?:\s+(?:here|in\s+(?:here|the\s+\w+)))?\s*\?*$",
    re.IGNORECASE,
)


def _meta(clues: Clues) -> str:
    """Coverage, asked for as such, or by a dimension of the taxonomy."""
    found = _META(clues)
    asked = _COVERED.match(clues.asked)
    if found or asked is None:
        return found
    noun = asked["noun"].lower()
    known = {name.lower() for name in clues.vocabulary.dimensions}
    return asked.group() if known & {noun, plural(noun), singular(noun)} else ""


def _gap(clues: Clues) -> str:
    found = _GAP(clues)
    if found:
        return found
    one = _IS_THERE.match(clues.asked)
    known = {name.lower() for name in clues.vocabulary.entity_types}
    for noun in one.groups(default="") if one else ():
        if noun.lower() in known or source_noun(clues.vocabulary).fullmatch(noun):
            return f"is there a {noun}"
    return ""


def _exploratory(clues: Clues) -> str:
    found = _OPEN(clues)
    if found:
        return found
    nouns = THINGS | {plural(name.lower()) for name in clues.vocabulary.entity_types}
    several = "|".join(map(re.escape, [*sorted(nouns), *source_plurals(clues.vocabulary)]))
    listed = re.match(
        rf"(?:which|what)\s+(?:(?!{ASKING_VERB})\S+\s+){{0,4}}?(?:{several})\b"
        r"(?!\s+(?:\S+\s+){0,6}?(?:did|was|were)\b)",
        clues.asked,
        re.IGNORECASE,
    )
    return " ".join(listed.group().split()[:4]) if listed else ""


_RULES: tuple[tuple[QuestionType, Rule], ...] = (
    ("persona", _says(*PERSONA, whole=True)),
    ("meta", _says(*LACKING)),
    ("trend", _says(*TRENDS)),
    ("counting", _says(*LISTS, whole=True)),
    ("temporal", _says(*MOMENTS)),
    ("gap_finding", _gap),
    ("meta", _meta),
    ("comparative", _comparative),
    ("synthesis", _says(*SUMMARIES)),
    ("relational", _relational),
    ("exploratory", _exploratory),
)


FILE = "question_types.npz"
PLAIN: QuestionType = "factual"
HEAD_START = 1.5  # of the plain type, in log odds: the others are told only by a clear voice
# A plain question that is taken for one about the base itself gets a table instead of an answer.
HANDICAP: Mapping[QuestionType, float] = {"meta": 1.5}
VECTOR_SHARE, PHRASE_SHARE = 3.0, 2.0  # how long the two parts of the features are
UNASKED, LISTED = "no question mark", "colon"

Guess = Callable[[str, str], QuestionType]  # from a question, and what is searched for it
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeModel:
    """What was learned.

    Attributes:
        embedder: the name of the model whose vectors it reads.
        phrases: each phrase to its place among the features.
        weights: one row per number of the vector, per phrase, and one for the bias.
    """

    embedder: str
    types: tuple[QuestionType, ...]
    phrases: Mapping[str, int]
    weights: Floats


def guesser(embedder: Embedder) -> Guess | None:
    """What tells the type of a question; None where nothing was learned for the embedder."""
    model = learned()
    if model_name(embedder) != model.embedder:
        return None

    def guess(question: str, searched: str) -> QuestionType:
        vector = embedder.embed([searched], "query")
        odds = (features([question], vector, model.phrases) @ model.weights)[0]
        odds[model.types.index(PLAIN)] += HEAD_START
        for name, less in HANDICAP.items():
            odds[model.types.index(name)] -= less
        return model.types[int(odds.argmax())]

    return guess


def of_base(question: str, vocabulary: Vocabulary) -> bool:
    """Whether a word of ``question`` speaks of the base itself, or of what it holds."""
    if _OF_BASE.search(question):
        return True
    held = {*vocabulary.dimensions, *vocabulary.entity_types}
    kinds = {form for name in held for form in (name.lower(), plural(name.lower()))}
    words = {token.plain for token in parse(question).tokens}
    return bool(kinds & words) or source_noun(vocabulary).search(question) is not None


def model_name(embedder: Embedder) -> str:
    """What its variants (precision, longest text) have in common."""
    return embedder.identity.partition("/")[0]


def phrases_of(question: str) -> frozenset[str]:
    """The words and pairs of words of a question, numbers as one, and how it begins and ends."""
    words = ["#" if token.plain.isdigit() else token.plain for token in parse(question).tokens]
    pairs = {" ".join(pair) for pair in zip(["^", *words], [*words, "$"], strict=True)}
    marks = set() if question.rstrip().endswith("?") else {UNASKED}
    return frozenset({*words, *pairs, *marks, *({LISTED} if ":" in question else ())})


def features(questions: Sequence[str], vectors: Floats, phrases: Mapping[str, int]) -> Floats:
    """One row per question."""
    held = np.zeros((len(questions), len(phrases)), np.float32)
    for row, question in enumerate(questions):
        held[row, [phrases[one] for one in phrases_of(question) if one in phrases]] = 1.0
    held *= PHRASE_SHARE / np.sqrt(np.maximum(held.sum(axis=1, keepdims=True), 1.0))
    bias = np.ones((len(questions), 1), np.float32)
    return np.hstack([VECTOR_SHARE * vectors, held, bias]).astype(np.float32)


@cache
def learned() -> TypeModel:
    """The model that ships."""
    with (resources.files(__package__) / FILE).open("rb") as file, np.load(file) as kept:
        return TypeModel(
            embedder=str(kept["embedder"]),
            types=cast("tuple[QuestionType, ...]", tuple(map(str, kept["types"]))),
            phrases={str(phrase): place for place, phrase in enumerate(kept["phrases"])},
            weights=kept["weights"].astype(np.float32),
        )
