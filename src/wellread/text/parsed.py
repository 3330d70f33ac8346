"""Cached analysis of a text: its words, stems, sentences, names, numbers and quantities.

``parse`` returns the same :class:`Text` for the same content, so a question or passage is analysed
only once. Each property is computed on first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from wellread.text.english import ASKING, STOP_WORDS
from wellread.text.sentences import sentence_spans
from wellread.text.tokens import Phrase, Token, phrases_of, tokens_of
from wellread.text.words import (
    Quantity,
    amounts_in,
    lowercase,
    names_in,
    negations_in,
    numbers_in,
    quantities_in,
    stem,
    stems_in,
    words_in,
)
from wellread.types import Span

MOST_KEPT = 4_000  # cached texts; a question needs a few hundred
LONGEST_KEPT = 20_000  # characters of a cached text


class Text:
    """A text with its analysis; texts with the same content are equal."""

    def __init__(self, content: str) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and other.content == self.content

    def __hash__(self) -> int:
        return hash(self.content)

    def __repr__(self) -> str:
        return f"Text({self.content!r})"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words as written, in order."""
        return tuple(words_in(self.content))

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The words with their offsets and normalised forms."""
        return tuple(tokens_of(self.content))

    @cached_property
    def phrases(self) -> tuple[Phrase, ...]:
        """The noun phrases in reading order; they do not overlap."""
        return tuple(phrases_of(self.tokens))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The content words in lower case, in order, without repeats."""
        unique_words = dict.fromkeys(map(lowercase, self.words))
        return tuple(word for word in unique_words if word not in STOP_WORDS)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stems of the content words, in order, with repeats; see ``words.stems_in``."""
        return tuple(stems_in(self.content))

    @cached_property
    def stem_set(self) -> frozenset[str]:
        """The stems, each once."""
        return frozenset(self.stems)

    @cached_property
    def topic_stems(self) -> tuple[str, ...]:
        """The stems without words of asking ("the latest news on ..."), or all if none are left."""
        return tuple(stem for stem in self.stems if stem not in _asking()) or self.stems

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences in order; they do not overlap and cover every letter."""
        spans = sentence_spans(self.content)
        return tuple(Sentence(span=span, text=parse(span.of(self.content))) for span in spans)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Capitalised names, quoted phrases, words with digits; see ``words.names_in``."""
        return names_in(self.content)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers in normal form; see ``words.numbers_in``."""
        return numbers_in(self.content)

    @cached_property
    def amounts(self) -> frozenset[str]:
        """The numbers that are not part of a name; see ``words.amounts_in``."""
        return amounts_in(self.content)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers in order, with their units if known."""
        return tuple(quantities_in(self.content))

    @cached_property
    def negations(self) -> int:
        """The number of negations."""
        return negations_in(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of a text: its span, and its own analysis."""

    span: Span
    text: Text


def parse(content: str) -> Text:
    """The analysis of ``content``, cached unless it is very long."""
    return _cached(content) if len(content) <= LONGEST_KEPT else Text(content)


@lru_cache(maxsize=MOST_KEPT)
def _cached(content: str) -> Text:
    return Text(content)


@cache
def _asking() -> frozenset[str]:
    return frozenset(map(stem, ASKING))
