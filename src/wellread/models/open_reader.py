"""Opens the readers that the settings name, and ranks passages by the positions of words.

A plug-in is an entry point ``wellread.readers``: a function of the settings of the section
``reader`` and the ``Head``, which returns a ``Ranking`` for relevance or a ``PassageReader`` for
answers.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wellread.config import ReaderSettings
from wellread.errors import SettingsError
from wellread.models.base import (
    Closeable,
    Excerpt,
    Head,
    PassageReader,
    Preparable,
    Ranking,
    Scores,
)
from wellread.plugins import find
from wellread.text.languages import ENGLISH, words_of
from wellread.text.parsed import stem


class LexicalReader:
    """Ranks texts by how closely the question's words occur together.

    A word's rarity is measured among the texts of one call, so they should be the candidates of
    one search.
    """

    identity = "lexical"
    reranks = False

    def relevance(self, question: str, texts: Sequence[Excerpt], language: str = ENGLISH) -> Scores:
        """Return the proximity of the question's words in each of ``texts``, 0 to 1."""
        close = closeness(question, [(excerpt.title, excerpt.text) for excerpt in texts], language)
        return np.asarray(close, dtype=np.float64)


GROUP = "wellread.readers"
LEXICAL = "lexical"
TRAINED = "trained"
Factory = Callable[[ReaderSettings, Head], object]


class CompositeReader:
    """Combines a ranking and a passage reader, as the settings choose them."""

    def __init__(self, relevance: Ranking, passages: PassageReader | None) -> None:
        self._relevance, self.passages = relevance, passages
        self._parts: tuple[object, ...] = tuple(dict.fromkeys((relevance, passages)))
        self.reranks = relevance.identity != LEXICAL
        names = (relevance.identity, passages.identity if passages else LEXICAL)
        self.identity = " ".join(dict.fromkeys(names))

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """See ``Ranking.relevance``."""
        return self._relevance.relevance(question, texts)

    def prepare(self) -> None:
        """See ``Preparable.prepare``."""
        for part in self._parts:
            if isinstance(part, Preparable):
                part.prepare()

    def close(self) -> None:
        """Close the connections of the parts."""
        for part in self._parts:
            if isinstance(part, Closeable):
                part.close()


def open_reader(settings: ReaderSettings) -> CompositeReader:
    """Open the reader that the settings name.

    Only the libraries of the named parts are imported.

    Raises:
        SettingsError: a name is unknown, or that reader lacks the method it is named for.
    """
    relevance = _open_part(settings, "relevance")
    if not isinstance(relevance, Ranking):
        raise _head_error(settings.relevance, "relevance")
    if settings.answers == LEXICAL:
        return CompositeReader(relevance, None)
    same = settings.answers == settings.relevance
    passages = relevance if same else _open_part(settings, "answers")
    if not isinstance(passages, PassageReader):
        raise _head_error(settings.answers, "answers")
    return CompositeReader(relevance, passages)


def _open_part(settings: ReaderSettings, head: Head) -> object:
    name = getattr(settings, head)
    return find(GROUP, name, BUILT_IN, f"reader.{head}")(settings, head)


def _head_error(name: str, head: Head) -> SettingsError:
    return SettingsError(
        f"the reader {name!r} has no method for reader.{head}",
        hint=f"set reader.{head} to trained or lexical",
    )


def _lexical(settings: ReaderSettings, head: Head) -> Ranking:  # noqa: ARG001 - as all factories
    return LexicalReader()


def _trained(settings: ReaderSettings, head: Head) -> Ranking:  # noqa: ARG001 - as all factories
    from wellread.models import trained_reader  # noqa: PLC0415

    return trained_reader.TrainedReader(trained_reader.TrainedModel(threads=settings.threads))


BUILT_IN: Mapping[str, Callable[[], Factory]] = {
    LEXICAL: lambda: _lexical,
    TRAINED: lambda: _trained,
}

WINDOW_CHARS = 180  # about thirty words: the length of a long sentence
MAX_NEAR_CHARS = 40  # two words that begin within this distance count as near
MAX_GAP_CHARS = 2  # between two adjacent words
FULL_RATIO = 3  # ratio of passage to question length from which closeness counts fully
MAX_QUESTION_WORDS = 64  # distinct words of a question that are used
WEIGHT_COVERAGE, WEIGHT_TITLE, WEIGHT_ADJACENT = 0.6, 0.2, 0.6
WEIGHT_NEAR, WEIGHT_WINDOW = 0.4, 0.4
TOTAL_WEIGHT = WEIGHT_COVERAGE + WEIGHT_TITLE + WEIGHT_ADJACENT + WEIGHT_NEAR + WEIGHT_WINDOW

_WORD = re.compile(r"[^\W_]+")


class _WordPosition(NamedTuple):
    start: int
    end: int
    stem: str


@dataclass(frozen=True, slots=True)
class _Weights:
    """The words and word pairs of a question with their weights."""

    worth: dict[str, float]
    total: float
    pairs: dict[tuple[str, str], float]
    pairs_total: float


def closeness(
    question: str, passages: Sequence[tuple[str, str]], language: str = ENGLISH
) -> list[float]:
    """Return the closeness of each passage (context, text) to ``question``, 0-1, in order.

    The passages should be the candidates of one search: the fewer of them contain a word, the
    more it counts. The result is 0 for a question of function words only.
    """
    function_words = words_of(language).function_words
    words = [word for word in _WORD.findall(question.lower()) if word not in function_words]
    stems = [stem(word, language) for word in words]
    used_stems = dict.fromkeys(list(dict.fromkeys(stems))[:MAX_QUESTION_WORDS])
    if not used_stems or not passages:
        return [0.0] * len(passages)
    used = [word for word, form in zip(words, stems, strict=True) if form in used_stems]
    pattern = _pattern(used) if language == ENGLISH else _WORD
    contexts = [context.lower() for context, _ in passages]
    texts = [
        f"{context}\n{text.lower()}" for context, (_, text) in zip(contexts, passages, strict=True)
    ]
    positions = [
        [
            _WordPosition(match.start(), match.end(), matched_stem)
            for match in pattern.finditer(text)
            if (matched_stem := stem(match.group(), language)) in used_stems
        ]
        for text in texts
    ]
    weights = _weigh([form for form in stems if form in used_stems], positions)
    return [
        _proximity(text_positions, weights, len(context))
        for text_positions, context in zip(positions, contexts, strict=True)
    ]


def closeness_weight(question: str, texts: Sequence[str]) -> float:
    """Return how far closeness can be trusted, 0-1, by the ratio of passage to question length.

    Two texts of similar length that mean the same use different words (two questions, a
    conversation and a paragraph), but a long passage rarely has the question's words together by
    chance. The result is 1 from three times the question's length.
    """
    if not texts or not question:
        return 0.0
    ratio = statistics.median(len(text) for text in texts) / len(question)
    return min(1.0, max(0.0, (ratio - 1) / (FULL_RATIO - 1)))


def _pattern(written: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern of words that begin like a stem; the stemmer then decides."""
    heads = {head for word in written for head in _heads(word, stem(word))}
    escaped = map(re.escape, sorted(heads, key=lambda head: (-len(head), head)))
    # Looking behind comes last, since only a pattern that begins with letters is searched fast.
    either = "|".join(rf"{head}(?<![^\W_]{head})" for head in escaped)
    return re.compile(rf"(?:{either})[^\W_]*")


def _heads(word: str, stem: str) -> tuple[str, ...]:
    """Return the prefixes of a word's forms; the stemmer changes the ends of some."""
    head = stem[:-1] if len(stem) > 2 and (stem[-1] in "iey" or stem.endswith("bl")) else stem
    return (head,) if word.startswith(head) else (head, word)


def _weigh(stems: Sequence[str], words: Sequence[Sequence[_WordPosition]]) -> _Weights:
    """Weigh words by their rarity among the candidates, as BM25 does."""
    counts = Counter(stem for passage in words for stem in {word.stem for word in passage})
    count = len(words)
    weights = {
        stem: math.log(1 + (count - counts[stem] + 0.5) / (counts[stem] + 0.5))
        for stem in dict.fromkeys(stems)
    }
    pair_counts = Counter(pair for pair in itertools.pairwise(stems) if pair[0] != pair[1])
    pairs = {
        (first, second): count * (weights[first] + weights[second])
        for (first, second), count in pair_counts.items()
    }
    return _Weights(
        worth=weights,
        total=sum(weights.values()) or 1.0,
        pairs=pairs,
        pairs_total=sum(pairs.values()) or 1.0,
    )


def _proximity(positions: Sequence[_WordPosition], weights: _Weights, title_end: int) -> float:
    by_stem: dict[str, list[_WordPosition]] = {}
    for position in positions:
        by_stem.setdefault(position.stem, []).append(position)
    covered = sum(weights.worth[stem] for stem in by_stem)
    titled = sum(
        weights.worth[stem]
        for stem, stem_positions in by_stem.items()
        if stem_positions[0].start < title_end
    )
    adjacent = near = 0.0
    for (first, second), weight in weights.pairs.items():
        if first in by_stem and second in by_stem:
            is_adjacent, is_near = _adjacency(by_stem[first], by_stem[second])
            adjacent += weight * is_adjacent
            near += weight * is_near
    close = (
        WEIGHT_COVERAGE * covered / weights.total
        + WEIGHT_TITLE * titled / weights.total
        + WEIGHT_ADJACENT * adjacent / weights.pairs_total
        + WEIGHT_NEAR * near / weights.pairs_total
        + WEIGHT_WINDOW * _best_window(positions, weights.worth) / weights.total
    ) / TOTAL_WEIGHT
    return min(1.0, close)  # rounding can exceed 1 slightly


def _adjacency(
    earlier: Sequence[_WordPosition], later: Sequence[_WordPosition]
) -> tuple[bool, bool]:
    """Whether a word of ``earlier`` directly precedes one of ``later``, and whether two are near.

    Both are in text order, so one pass suffices.
    """
    is_near, index = False, 0
    for first in earlier:
        while index < len(later) and later[index].start < first.end:
            index += 1
        # The nearest are the last one before it and the first one after it.
        if index < len(later) and later[index].start - first.end <= MAX_GAP_CHARS:
            return True, True
        is_near = is_near or any(
            abs(other.start - first.start) <= MAX_NEAR_CHARS
            for other in later[max(0, index - 1) : index + 1]
        )
    return False, is_near


def _best_window(positions: Sequence[_WordPosition], worth: dict[str, float]) -> float:
    """Return the total weight of distinct words in the best ``WINDOW_CHARS`` characters."""
    best = total = 0.0
    counts: defaultdict[str, int] = defaultdict(int)
    start_index = 0
    for position in positions:
        counts[position.stem] += 1
        if counts[position.stem] == 1:
            total += worth[position.stem]
        while positions[start_index].start < position.start - WINDOW_CHARS:
            counts[positions[start_index].stem] -= 1
            if not counts[positions[start_index].stem]:
                total -= worth[positions[start_index].stem]
            start_index += 1
        best = max(best, total)
    return best
