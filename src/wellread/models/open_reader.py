"""From settings to a reader: who ranks passages, and who reads them for the answer.

Each may be a plug-in, an entry point ``wellread.readers``: a function that takes the settings of
the section ``reader`` and the head that it is wanted for, and gives a ``Ranking`` for relevance, a
``PassageReader`` for answers.
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
from wellread.text.words import stem


class LexicalReader:
    """Relevance by how a question's words stand.

    A word's rarity is judged among the texts of one call, so they should be the candidates of one
    search.
    """

    identity = "lexical"
    reranks = False

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """How closely the question's words stand together in each of ``texts``, 0 to 1."""
        close = closeness(question, [(each.title, each.text) for each in texts])
        return np.asarray(close, dtype=np.float64)


GROUP = "wellread.readers"
LEXICAL = "lexical"
TRAINED = "trained"
Factory = Callable[[ReaderSettings, Head], object]


class ReaderByHead:
    """A reader that asks whoever the settings name."""

    def __init__(self, relevance: Ranking, passages: PassageReader | None) -> None:
        self._relevance, self.passages = relevance, passages
        self._parts: tuple[object, ...] = tuple(dict.fromkeys((relevance, passages)))
        self.reranks = relevance.identity != LEXICAL
        names = (relevance.identity, passages.identity if passages else LEXICAL)
        self.identity = " ".join(dict.fromkeys(names))

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """As ``Ranking``."""
        return self._relevance.relevance(question, texts)

    def prepare(self) -> None:
        """As ``Preparable``."""
        for part in self._parts:
            if isinstance(part, Preparable):
                part.prepare()

    def close(self) -> None:
        """Let go of connections, where a part holds any."""
        for part in self._parts:
            if isinstance(part, Closeable):
                part.close()


def open_reader(settings: ReaderSettings) -> ReaderByHead:
    """The reader that the settings ask for.

    Only the libraries of what is named are imported.

    Raises:
        SettingsError: there is no such back end, or it does not read what it is named for.
    """
    relevance = _opened(settings, "relevance")
    if not isinstance(relevance, Ranking):
        raise _unfit(settings.relevance, "relevance")
    if settings.answers == LEXICAL:
        return ReaderByHead(relevance, None)
    same = settings.answers == settings.relevance
    passages = relevance if same else _opened(settings, "answers")
    if not isinstance(passages, PassageReader):
        raise _unfit(settings.answers, "answers")
    return ReaderByHead(relevance, passages)


def _opened(settings: ReaderSettings, head: Head) -> object:
    name = getattr(settings, head)
    return find(GROUP, name, BUILT_IN, f"reader.{head}")(settings, head)


def _unfit(name: str, head: Head) -> SettingsError:
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
NEAR = 40  # characters between the beginnings of two words that stand near each other
GAP = 2  # characters at most between two neighbouring words
FULL_RATIO = 3  # lengths of passage and question from which closeness counts in full
LONGEST_QUESTION = 64  # different words of a question that are looked for
WEIGHT_COVERAGE, WEIGHT_TITLE, WEIGHT_ADJACENT = 0.6, 0.2, 0.6
WEIGHT_NEAR, WEIGHT_WINDOW = 0.4, 0.4
WEIGHT = WEIGHT_COVERAGE + WEIGHT_TITLE + WEIGHT_ADJACENT + WEIGHT_NEAR + WEIGHT_WINDOW

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    end: int
    stem: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """The words of a question and what each is worth."""

    worth: dict[str, float]
    total: float
    pairs: dict[tuple[str, str], float]
    pairs_total: float


def closeness(question: str, passages: Sequence[tuple[str, str]]) -> list[float]:
    """How close each passage (context, text) comes to ``question``, 0-1, in their order.

    The passages should be the candidates of one search: the fewer of them hold a word, the more
    it counts. A question without a word to look for is close to none.
    """
    written = [word for word in _WORD.findall(question.lower()) if word not in FUNCTION_WORDS]
    asked = [stem(word) for word in written]
    known = dict.fromkeys(list(dict.fromkeys(asked))[:LONGEST_QUESTION])
    if not known or not passages:
        return [0.0] * len(passages)
    pattern = _pattern([word for word, one in zip(written, asked, strict=True) if one in known])
    contexts = [context.lower() for context, _ in passages]
    texts = [
        f"{context}\n{text.lower()}" for context, (_, text) in zip(contexts, passages, strict=True)
    ]
    places = [
        [
            _Place(match.start(), match.end(), found)
            for match in pattern.finditer(text)
            if (found := stem(match.group())) in known
        ]
        for text in texts
    ]
    weighed = _weighed([one for one in asked if one in known], places)
    return [
        _close(found, weighed, len(context))
        for found, context in zip(places, contexts, strict=True)
    ]


def room_for_words(question: str, texts: Sequence[str]) -> float:
    """How far closeness can be trusted, 0-1: by how much longer the passages are than the question.

    Two texts of one length that mean the same say it in different words (two questions, a
    conversation and a paragraph); that a long passage holds the question's words in place is no
    accident. 1 from three times the question's length.
    """
    if not texts or not question:
        return 0.0
    ratio = statistics.median(len(text) for text in texts) / len(question)
    return min(1.0, max(0.0, (ratio - 1) / (FULL_RATIO - 1)))


def _pattern(written: Iterable[str]) -> re.Pattern[str]:
    """Finds words that begin as one of the stems does; whether they are it, the stemmer says."""
    heads = {head for word in written for head in _heads(word, stem(word))}
    either = "|".join(
        re.escape(head) for head in sorted(heads, key=lambda head: (-len(head), head))
    )
    return re.compile(rf"(?<![^\W_])(?:{either})[^\W_]*")


def _heads(word: str, stem: str) -> tuple[str, ...]:
    """What the forms of a word begin with; the stemmer writes the ends of some anew."""
    head = stem[:-1] if len(stem) > 2 and (stem[-1] in "iey" or stem.endswith("bl")) else stem
    return (head,) if word.startswith(head) else (head, word)


def _weighed(asked: Sequence[str], places: Sequence[Sequence[_Place]]) -> _Asked:
    """Each word's worth by how few candidates hold it, as BM25 weighs words."""
    held = Counter(stem for found in places for stem in {place.stem for place in found})
    count = len(places)
    worth = {
        stem: math.log(1 + (count - held[stem] + 0.5) / (held[stem] + 0.5))
        for stem in dict.fromkeys(asked)
    }
    times = Counter((one, other) for one, other in itertools.pairwise(asked) if one != other)
    pairs = {
        (one, other): count * (worth[one] + worth[other]) for (one, other), count in times.items()
    }
    return _Asked(
        worth=worth,
        total=sum(worth.values()) or 1.0,
        pairs=pairs,
        pairs_total=sum(pairs.values()) or 1.0,
    )


def _close(found: Sequence[_Place], asked: _Asked, title_end: int) -> float:
    by_stem: dict[str, list[_Place]] = {}
    for place in found:
        by_stem.setdefault(place.stem, []).append(place)
    covered = sum(asked.worth[stem] for stem in by_stem)
    titled = sum(
        asked.worth[stem] for stem, places in by_stem.items() if places[0].start < title_end
    )
    adjacent = near = 0.0
    for (one, other), worth in asked.pairs.items():
        if one in by_stem and other in by_stem:
            together, close_by = _together(by_stem[one], by_stem[other])
            adjacent += worth * together
            near += worth * close_by
    close = (
        WEIGHT_COVERAGE * covered / asked.total
        + WEIGHT_TITLE * titled / asked.total
        + WEIGHT_ADJACENT * adjacent / asked.pairs_total
        + WEIGHT_NEAR * near / asked.pairs_total
        + WEIGHT_WINDOW * _best_window(found, asked.worth) / asked.total
    ) / WEIGHT
    return min(1.0, close)  # sums of the same numbers in another order may differ a little


def _together(ones: Sequence[_Place], others: Sequence[_Place]) -> tuple[bool, bool]:
    """Whether one of ``ones`` is followed by one of ``others``, and whether two are near.

    Both are in the order of the text, so each is gone through once.
    """
    near, at = False, 0
    for one in ones:
        while at < len(others) and others[at].start < one.end:
            at += 1
        # Nearest to it are the last one before and the first one after it.
        if at < len(others) and others[at].start - one.end <= GAP:
            return True, True
        near = near or any(
            abs(other.start - one.start) <= NEAR for other in others[max(0, at - 1) : at + 1]
        )
    return False, near


def _best_window(found: Sequence[_Place], worth: dict[str, float]) -> float:
    """The worth of the different words in the best stretch of ``WINDOW`` characters."""
    best = here = 0.0
    counts: Counter[str] = Counter()
    first = 0
    for place in found:
        counts[place.stem] += 1
        if counts[place.stem] == 1:
            here += worth[place.stem]
        while found[first].start < place.start - WINDOW:
            counts[found[first].stem] -= 1
            if not counts[found[first].stem]:
                here -= worth[found[first].stem]
            first += 1
        best = max(best, here)
    return best
