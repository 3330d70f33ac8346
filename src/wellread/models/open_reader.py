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
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

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
from wellread.text.english import FUNCTION_WORDS
from wellread.text.parsed import stem


class LexicalReader:
    """Ranks texts by how closely the question's words occur together.

    A word's rarity is measured among the texts of one call, so they should be the candidates of
    one search.
    """

    identity = "lexical"
    reranks = False

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """Return the proximity of the question's words in each of ``texts``, 0 to 1."""
        close = closeness(question, [(each.title, each.text) for each in texts])
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


WINDOW = 180  # characters, about thirty words: the length of a long sentence
NEAR = 40  # characters: two words that begin within this distance count as near
GAP = 2  # most characters between two adjacent words
FULL_RATIO = 3  # ratio of passage to question length from which closeness counts fully
LONGEST_QUESTION = 64  # most distinct words of a question that are used
WEIGHT_COVERAGE, WEIGHT_TITLE, WEIGHT_ADJACENT = 0.6, 0.2, 0.6
WEIGHT_NEAR, WEIGHT_WINDOW = 0.4, 0.4
WEIGHT = WEIGHT_COVERAGE + WEIGHT_TITLE + WEIGHT_ADJACENT + WEIGHT_NEAR + WEIGHT_WINDOW

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _WordPosition:
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


def closeness(question: str, passages: Sequence[tuple[str, str]]) -> list[float]:
    """Return the closeness of each passage (context, text) to ``question``, 0-1, in order.

    The passages should be the candidates of one search: the fewer of them contain a word, the
    more it counts. The result is 0 for a question of function words only.
    """
    words = [word for word in _WORD.findall(question.lower()) if word not in FUNCTION_WORDS]
    stems = [stem(word) for word in words]
    wanted = dict.fromkeys(list(dict.fromkeys(stems))[:LONGEST_QUESTION])
    if not wanted or not passages:
        return [0.0] * len(passages)
    pattern = _pattern([word for word, form in zip(words, stems, strict=True) if form in wanted])
    contexts = [context.lower() for context, _ in passages]
    texts = [
        f"{context}\n{text.lower()}" for context, (_, text) in zip(contexts, passages, strict=True)
    ]
    places = [
        [
            _WordPosition(match.start(), match.end(), found)
            for match in pattern.finditer(text)
            if (found := stem(match.group())) in wanted
        ]
        for text in texts
    ]
    weighted = _weigh([form for form in stems if form in wanted], places)
    return [
        _proximity(found, weighted, len(context))
        for found, context in zip(places, contexts, strict=True)
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
    either = "|".join(
        re.escape(head) for head in sorted(heads, key=lambda head: (-len(head), head))
    )
    return re.compile(rf"(?<![^\W_])(?:{either})[^\W_]*")


def _heads(word: str, stem: str) -> tuple[str, ...]:
    """Return the prefixes of a word's forms; the stemmer changes the ends of some."""
    head = stem[:-1] if len(stem) > 2 and (stem[-1] in "iey" or stem.endswith("bl")) else stem
    return (head,) if word.startswith(head) else (head, word)


def _weigh(stems: Sequence[str], places: Sequence[Sequence[_WordPosition]]) -> _Weights:
    """Weigh words by their rarity among the candidates, as BM25 does."""
    counts = Counter(stem for passage in places for stem in {place.stem for place in passage})
    count = len(places)
    worth = {
        stem: math.log(1 + (count - counts[stem] + 0.5) / (counts[stem] + 0.5))
        for stem in dict.fromkeys(stems)
    }
    times = Counter(pair for pair in itertools.pairwise(stems) if pair[0] != pair[1])
    pairs = {
        (first, second): count * (worth[first] + worth[second])
        for (first, second), count in times.items()
    }
    return _Weights(
        worth=worth,
        total=sum(worth.values()) or 1.0,
        pairs=pairs,
        pairs_total=sum(pairs.values()) or 1.0,
    )


def _proximity(positions: Sequence[_WordPosition], weights: _Weights, title_end: int) -> float:
    by_stem: dict[str, list[_WordPosition]] = {}
    for place in positions:
        by_stem.setdefault(place.stem, []).append(place)
    covered = sum(weights.worth[stem] for stem in by_stem)
    titled = sum(
        weights.worth[stem] for stem, places in by_stem.items() if places[0].start < title_end
    )
    adjacent = near = 0.0
    for (first, second), worth in weights.pairs.items():
        if first in by_stem and second in by_stem:
            together, close_by = _adjacency(by_stem[first], by_stem[second])
            adjacent += worth * together
            near += worth * close_by
    close = (
        WEIGHT_COVERAGE * covered / weights.total
        + WEIGHT_TITLE * titled / weights.total
        + WEIGHT_ADJACENT * adjacent / weights.pairs_total
        + WEIGHT_NEAR * near / weights.pairs_total
        + WEIGHT_WINDOW * _best_window(positions, weights.worth) / weights.total
    ) / WEIGHT
    return min(1.0, close)  # rounding can exceed 1 slightly


def _adjacency(ones: Sequence[_WordPosition], others: Sequence[_WordPosition]) -> tuple[bool, bool]:
    """Whether one of ``ones`` is directly followed by one of ``others``, and whether two are near.

    Both are in text order, so one pass suffices.
    """
    near, index = False, 0
    for first in ones:
        while index < len(others) and others[index].start < first.end:
            index += 1
        # The nearest are the last one before it and the first one after it.
        if index < len(others) and others[index].start - first.end <= GAP:
            return True, True
        near = near or any(
            abs(other.start - first.start) <= NEAR
            for other in others[max(0, index - 1) : index + 1]
        )
    return False, near


def _best_window(positions: Sequence[_WordPosition], worth: dict[str, float]) -> float:
    """Return the total weight of distinct words in the best ``WINDOW`` characters."""
    best = total = 0.0
    counts: Counter[str] = Counter()
    first = 0
    for place in positions:
        counts[place.stem] += 1
        if counts[place.stem] == 1:
            total += worth[place.stem]
        while positions[first].start < place.start - WINDOW:
            counts[positions[first].stem] -= 1
            if not counts[positions[first].stem]:
                total -= worth[positions[first].stem]
            first += 1
        best = max(best, total)
    return best
