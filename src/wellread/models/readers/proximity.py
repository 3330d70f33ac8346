"""How close a passage's words come to a question's: not only which it holds, but how they stand.

BM25 counts words wherever they are, and a vector blurs them. A passage that holds the question's
rare words together, in their order, or in its title, is far likelier to be the one that is meant.
Five readings, each 0-1, are taken of every candidate; the rarity of a word is judged among the
candidates themselves, which needs no statistics of the whole base and is no worse (decision 012).
The idea of term proximity is old (Tao and Zhai, SIGIR 2007); the weights are measured here.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wellread.text.english import FUNCTION_WORDS
from wellread.text.words import stem

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
    """A word of the question in a passage."""

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
