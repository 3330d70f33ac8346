"""Analyses a question without a language model: names, limits, type, subject and mode.

All knowledge of the material comes from the vocabulary, so the same question over the same
vocabulary on the same day always gives the same analysis.
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

from wellread.ask.understand.mentions import entities_of, people_in, people_limits, publisher_limits
from wellread.ask.understand.question_parts import Limit, asking_sentences, remove_spans, sides_of
from wellread.ask.understand.source_limits import (
    dimension_words,
    source_noun,
    sources_of,
    taxonomy_of,
    windows_of,
)
from wellread.ask.understand.vocabulary import Vocabulary, word_runs
from wellread.errors import RequestError
from wellread.models.base import Embedder
from wellread.text.english import CAUSES, EVERYTHING, PREPOSITIONS, STOP_WORDS, UNITS
from wellread.text.languages import ENGLISH, in_english, language_of
from wellread.text.parsed import parse, stem
from wellread.text.periods import expressions_of
from wellread.text.tokens import (
    ARTICLES,
    Token,
    key_of,
    key_of_words,
    normalise,
    singular,
    tokens_of,
)
from wellread.types import Mode, Span
from wellread.values.answers import Question
from wellread.values.question import Analysis, QuestionType

FILE = "question_types.npz"
TOPIC, TOPICS, NUMBER, UNIT = "{topic}", "{topics}", "{number}", "{unit}"
ENTITY, PERSON, WHEN, VALUE, DOCUMENT = "{entity}", "{person}", "{when}", "{value}", "{document}"
NOUN, NOUNS, BY, BYS = "{noun}", "{nouns}", "{by}", "{bys}"
FIRST, LAST = "^", "$"
WEIGHT_STEPS = 64  # stored integer of the weight 1.0; all weights are below 2.0
MIN_LEAD = 0.2  # of the best type; with less, the embedding decides too
NO_QUESTION_MARK, LISTED = "no question mark", "colon"
# Words that merge into the slot after them: the same topic's words, articles, "the pattern" in
# "the pattern Role".
_WORDS_MERGED_INTO: Mapping[str, Collection[str]] = {
    **dict.fromkeys((PERSON, VALUE, DOCUMENT), ARTICLES),
    **dict.fromkeys((TOPIC, TOPICS), ARTICLES | {TOPIC, TOPICS}),
    ENTITY: ARTICLES | {NOUN},
}
_SLOT = re.compile(r"\{\w+\}")
_UNITS = re.compile("|".join(UNITS.values()), re.IGNORECASE)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeModel:
    """The trained weights; ``turning`` are those of a vector of ``embedder``, and a bias row."""

    types: tuple[QuestionType, ...]
    words: frozenset[str]
    weights: Mapping[str, Floats]
    embedder: str
    turning: Floats

    def scores(self, masked: Sequence[str]) -> Floats:
        """The score of each type for the masked words."""
        names = [name for name in features(masked) if name in self.weights]
        rows = [self.weights[name] for name in names] or [np.zeros(len(self.types), np.float32)]
        total: Floats = np.sum(rows, axis=0) / np.float32(np.sqrt(len(rows)))
        return total

    def deciding_words(self, kind: QuestionType, masked: Sequence[str]) -> str:
        """The words of the feature with the highest weight for a type."""
        column = self.types.index(kind)
        words = {name: _SLOT.sub("…", name).strip(f"{FIRST}{LAST}~ ") for name in features(masked)}
        names = [name for name in self.weights.keys() & words if words[name].strip("… ")]
        best = max(names, key=lambda name: (self.weights[name][column], name), default="")
        return words.get(best, "")


def classify_question(
    masked: Sequence[str], subject: str, embedder: Embedder | None = None
) -> tuple[QuestionType, str]:
    """Return the type of a question, and the words that decided it."""
    model = load_model()
    scores = model.scores(masked)
    second, first = np.sort(scores)[-2:]
    is_fitted = embedder is not None and model_name(embedder) == model.embedder
    if embedder is not None and is_fitted and first - second < MIN_LEAD:
        scores = scores + with_bias(embedder.embed([subject], "query"))[0] @ model.turning
    kind = model.types[int(scores.argmax())]
    return kind, model.deciding_words(kind, masked)


def model_name(embedder: Embedder) -> str:
    """The embedding model's name without variant suffixes (precision, maximum length)."""
    return embedder.identity.partition("/")[0]


def with_bias(vectors: Floats) -> Floats:
    """Append a column of ones to ``vectors``."""
    return np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])


def mask_question(
    text: str,
    vocabulary: Vocabulary,
    named: Mapping[str, Sequence[Span]],
    today: date,
    language: str = ENGLISH,
) -> list[str]:
    """The model's input: the question's words and slots, then its punctuation marks.

    The words of asking in another language are put into English, which the model knows.
    """
    tokens = tokens_of(text)
    slots: dict[int, str] = {}  # "" for the later words of a slot
    for span, slot in _slot_spans(text, tokens, vocabulary, named, today):
        token_indices = [
            index
            for index, token in enumerate(tokens)
            if token.start < span.end and span.start < token.end
        ]
        if token_indices and slots.keys().isdisjoint(token_indices):
            slots |= dict.fromkeys(token_indices, "") | {token_indices[0]: slot}
    words = [slots.get(index, token.plain) for index, token in enumerate(tokens)]
    if language != ENGLISH:
        written = (slots.get(index, token.written) for index, token in enumerate(tokens))
        words = list(map(normalise, in_english(" ".join(written), language).split()))
    return mask([word for word in words if word], marks_of(text), load_model().words)


def mask(slotted: Iterable[str], marks: Iterable[str], words: Collection[str]) -> list[str]:
    """Replace words outside the model's vocabulary, and append the question's marks.

    Neighbouring topic words become one slot, and articles before names are dropped.
    """
    words_and_slots: list[str] = []
    for token in slotted:
        word = token if token.startswith("{") else word_or_slot(token, words)
        merged_words = _WORDS_MERGED_INTO.get(word, frozenset())
        while words_and_slots and words_and_slots[-1] in merged_words:
            words_and_slots.pop()
        words_and_slots.append(word)
    return [*words_and_slots, *marks]


def _slot_spans(
    text: str,
    tokens: Sequence[Token],
    vocabulary: Vocabulary,
    named: Mapping[str, Sequence[Span]],
    today: date,
) -> Iterator[tuple[Span, str]]:
    """The spans that become slots, most certain first."""
    yield from ((span, slot) for slot, spans in named.items() for span in spans)
    for time in expressions_of(text, today):
        before = "".join(text[: time.start].split()[-1:])
        # a bare "may" is a month only after "in", "since" and the like
        if time.form != "month" or time.end - time.start > 3 or normalise(before) in PREPOSITIONS:
            yield Span(start=time.start, end=time.end), WHEN
    yield from _kinds_in(text, tokens, vocabulary)


def names_kinds(text: str, vocabulary: Vocabulary) -> bool:
    """Whether ``text`` names a kind of source, a type of entity or a dimension."""
    return any(_kinds_in(text, tokens_of(text), vocabulary))


def _kinds_in(
    text: str, tokens: Sequence[Token], vocabulary: Vocabulary
) -> Iterator[tuple[Span, str]]:
    """The spans that name a kind of source, a type of entity or a dimension, with their slots."""
    for match in source_noun(vocabulary).finditer(text):
        is_plural = singular(match.group().split()[-1].lower())
        yield Span(start=match.start(), end=match.end()), NOUNS if is_plural else NOUN
    kinds, dimensions = _keys(vocabulary.entity_types), dimension_words(vocabulary.dimensions)
    for start, end in word_runs(tokens, 3):
        words = [token.plain for token in tokens[start:end]]
        slot, plural_slot = (NOUN, NOUNS) if key_of_words(words) in kinds else (BY, BYS)
        if slot == NOUN or (len(words) == 1 and words[0] in dimensions):
            span = Span(start=tokens[start].start, end=tokens[end - 1].end)
            yield span, plural_slot if singular(words[-1]) else slot


@lru_cache(maxsize=64)
def _keys(types: frozenset[str]) -> frozenset[str]:
    return frozenset(key_of(name.replace("_", " ")) for name in types)


def word_or_slot(word: str, model_words: Collection[str]) -> str:
    """The word itself if the model knows it, else the slot that replaces it."""
    if word in model_words:
        return word
    if word.isdigit():
        return NUMBER
    if _UNITS.fullmatch(word):
        return UNIT
    if word in STOP_WORDS:
        return word
    return TOPICS if singular(word) else TOPIC


def marks_of(text: str) -> list[str]:
    """Features of the punctuation: no question mark at the end, a colon."""
    unasked = [] if text.rstrip(" \"'”’)").endswith("?") else [NO_QUESTION_MARK]
    return [*unasked, *([LISTED] if ":" in text else [])]


def features(masked: Sequence[str]) -> list[str]:
    """The words of a masked question, their stems, pairs and triples, and its marks, each once."""
    words = [word for word in masked if word not in (NO_QUESTION_MARK, LISTED)]
    stems = (f"~{stem(word)}" for word in words if not word.startswith("{"))
    return list(dict.fromkeys((*masked, *stems, *pairs_and_triples(words))))


def pairs_and_triples(words: Sequence[str]) -> Iterator[str]:
    """Word pairs and triples, with markers for both ends of the question."""
    ends = [FIRST, *words, LAST]
    yield from map(" ".join, pairwise(ends))
    yield from map(" ".join, zip(ends, ends[1:], ends[2:], strict=False))


@cache
def load_model() -> TypeModel:
    """The model that ships with the package."""
    with (resources.files(__package__) / FILE).open("rb") as file, np.load(file) as arrays:
        weights = arrays["weights"].astype(np.float32) / WEIGHT_STEPS
        return TypeModel(
            types=cast("tuple[QuestionType, ...]", tuple(map(str, arrays["types"]))),
            words=frozenset(map(str, arrays["words"])),
            embedder=str(arrays["embedder"]),
            turning=arrays["turning"].astype(np.float32),
            weights=dict(zip(map(str, arrays["features"]), weights, strict=True)),
        )


MAX_QUESTION_CHARS = 4_000
MAX_TYPE_CHARS = 1_000  # characters of the question that its type is predicted from
_DEEP_TYPES: dict[QuestionType, str] = {
    "comparative": "it compares several things",
    "trend": "it asks how something changed",
    "synthesis": "it asks for the whole",
}


def analyse(
    question: Question,
    vocabulary: Vocabulary,
    today: date,
    embedder: Embedder | None = None,
    *,
    days: Collection[date] = (),
) -> Analysis:
    """Analyse ``question``; ``days``: its days on which something was published."""
    text = _in_one_line(question.text)
    language = language_of(text, vocabulary.languages)
    in_words = in_english(text, language)
    asking, mentions = asking_sentences(text), people_in(text, vocabulary)
    people = [person.span for person in mentions]
    entities = entities_of(text, vocabulary, people)
    sources = list(sources_of(text, vocabulary))
    windows = windows_of(text, entities, vocabulary, today, days, of_sources=bool(sources))
    published = publisher_limits(text, vocabulary, people)
    limits = _within([*windows, *sources, *taxonomy_of(text, vocabulary), *published], asking)
    spans = [limit.constraint.span for limit in limits if limit.constraint.kind == "taxonomy"]
    named = {VALUE: spans, PERSON: people, ENTITY: [entity.span for entity in entities]}
    words = mask_question(text[:MAX_TYPE_CHARS], vocabulary, named, today, language)
    subject = _subject(text, [limit.cut for limit in limits], language)
    kind, cue = classify_question(words, subject, embedder)
    persona = None
    if kind == "persona":  # others may report a person's views, so the person is no limit
        persona = next((person for person in mentions if person.speakers), None)
    people_limited = _within(people_limits(text, mentions), asking)
    cuts = [person.cut for person in people_limited] or [persona.span] if persona else []
    limits += people_limited if kind != "persona" else ()
    limits.sort(key=lambda limit: limit.constraint.span.start)
    subject = _subject(text, [*cuts, *(limit.cut for limit in limits)], language)
    mode, why = _choose_mode(in_words, kind, question.mode)
    return Analysis(
        question=text,
        type=kind,
        language=language,
        terms=parse(subject, language).terms,
        names=parse(subject).names,
        filters=question.filters,
        mode=mode,
        subject=subject,
        max_clusters=question.max_clusters,
        constraints=tuple(limit.constraint for limit in limits),
        entities=entities,
        sides=sides_of(in_words, entities) if kind == "comparative" else (),
        reasons=(f"{kind}: “{cue}”" if cue else f"{kind}: no word suggests another type", why),
        persona=persona.speakers if persona else (),
    )


def _in_one_line(question: str) -> str:
    text = " ".join(question.split())
    if not text:
        raise RequestError("the question is empty", hint="write a question")
    if len(text) > MAX_QUESTION_CHARS:
        raise RequestError(
            f"the question has {len(text):,} characters, the limit is {MAX_QUESTION_CHARS:,}",
            hint="shorten it, or add the long text as a document",
        )
    return text


def _within(limits: Iterable[Limit], asking: Sequence[Span]) -> list[Limit]:
    """The limits that are in the asking sentences."""
    return [
        limit for limit in limits if any(limit.constraint.span.overlaps(span) for span in asking)
    ]


def _subject(text: str, cuts: Sequence[Span | None], language: str) -> str:
    """The search text: the question without its limits, or all of it when no topic word is left."""
    subject = remove_spans(text, [cut for cut in cuts if cut is not None])
    return subject if parse(subject, language).terms else text


def _choose_mode(text: str, kind: QuestionType, requested_mode: Mode) -> tuple[Mode, str]:
    if requested_mode != "auto":
        return requested_mode, f"{requested_mode}: as asked"
    causes = CAUSES.search(text)
    if causes:
        return "deep", f"deep: it asks for causes (“{causes.group()}”)"
    if kind in _DEEP_TYPES:
        return "deep", f"deep: {_DEEP_TYPES[kind]}"
    if EVERYTHING.search(text):
        return "deep", "deep: it asks for everything"
    return "quick", "quick: one search will do"
