"""How well the cited passages bear a claim out, 0-1: readings weighed by learned numbers.

Each reading is 0-1. Words are read sentence by sentence: a word counts the more the fewer sentences
of the evidence hold it, and one that none holds counts most. What bears a claim out may be strewn
over a page, so that three sentences from anywhere count together (``cover_strewn``). The order of
the words was read too and added nothing. The numbers stand in ``support_weights.json``;
``benchmarks/train_support.py`` writes it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

from wellread.models.base import Embedder
from wellread.models.reader import NOWHERE, Excerpt
from wellread.text.english import DENIALS, FALLING, RISING
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.words import stem as stemmed
from wellread.types import Span

FILE = "support_weights.json"
FOR = ("cover_plain", "cover_strewn", "cover_letters", "near", "near_mean", "agreed")
AGAINST = ("number_missing", "names_apart", "opposed", "denied")
NAMES = FOR + AGAINST
GRAM = 4  # letters of the pieces by which words of one family know each other
STREWN = 3  # sentences from anywhere that together hold most of the claim
AS_GOOD = 0.6  # of the best sentence's share, from which another may speak for the claim as well
LEAST_WORDS = 3
OWN_SHARE = 0.6  # of the claim's words that a sentence holds itself, where its title holds the rest
NEAREST = 3  # sentences, the best by words, whose vectors are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A sentence: in which source, where in it, its stems, and which of the claim's it holds."""

    source: int
    span: Span
    text: str
    stems: tuple[str, ...]
    held: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A claim laid beside its sources, before any vector is asked for.

    Attributes:
        worth: the claim's stems, and what share of the claim each is; together 1.
        best: the sentences that hold most of the claim, best first, ``NEAREST`` at most.
    """

    claim: str
    worth: Mapping[str, float]
    sources: tuple[Excerpt, ...]
    lines: tuple[Line, ...]
    best: tuple[Line, ...]


def compare(claim: str, sources: Sequence[Excerpt]) -> Compared:
    """Lay ``claim`` beside ``sources``."""
    stems = tuple(parse(claim).stems)
    wanted = frozenset(stems)
    lines = tuple(
        _line(number, span, span.of(source.text), wanted)
        for number, source in enumerate(sources)
        for span in sentence_spans(source.text)
    )
    worth = worth_of(stems, [line.held for line in lines])
    ranked = sorted(lines, key=lambda line: (-_share(worth, line.held), len(line.text)))
    return Compared(
        claim=claim,
        worth=worth,
        sources=tuple(sources),
        lines=lines,
        best=tuple(ranked[:NEAREST]),
    )


def readings(compared: Compared, nearness: Sequence[float]) -> dict[str, float]:
    """All readings by name (``NAMES``); ``nearness`` is the cosine of each of ``compared.best``."""
    near = [min(1.0, max(0.0, value)) for value in nearness] or [0.0]
    pair = _best_pair(compared)
    titles = [source.title for source in compared.sources]
    stems = {stem for title in titles for stem in parse(title).stems}
    beside = " ".join([*(line.text for line in pair), *titles]).lower()
    names = parse(compared.claim).names
    apart = sum(not _named(name, beside) for name in names)
    return {
        "cover_plain": len(_union(compared.lines)) / max(1, len(compared.worth)),
        "cover_strewn": _strewn(compared),
        "cover_letters": _letters(compared.worth, stems.union(*(line.stems for line in pair))),
        "near": max(near),
        "near_mean": sum(near) / len(near),
        "number_missing": float(bool(missing_numbers(compared))),
        "names_apart": apart / max(1, len(names)),
        **_turned(compared),
    }


def contained(compared: Compared) -> bool:
    """Whether one sentence, with its title, holds every word and number of the claim in its order.

    A claim of fewer than ``LEAST_WORDS`` words says too little for that.
    """
    stems = list(dict.fromkeys(parse(compared.claim).stems))
    numbers = parse(compared.claim).numbers
    if len(stems) < LEAST_WORDS:
        return False
    for line in compared.best:
        title = parse(compared.sources[line.source].title).stem_set
        own = [stem for stem in stems if stem in line.held]
        places = [line.stems.index(stem) for stem in own]
        if (
            len(own) >= OWN_SHARE * len(stems)
            and title.issuperset(set(stems) - set(own))
            and numbers <= parse(line.text).numbers
            and places == sorted(places)
        ):
            return True
    return False


def missing_numbers(compared: Compared) -> list[str]:
    """The claim's numbers that no source holds, sorted."""
    return sorted(parse(compared.claim).amounts - parse(_whole(compared.sources)).numbers)


def _line(source: int, span: Span, text: str, wanted: frozenset[str]) -> Line:
    stems = tuple(parse(text).stems)
    return Line(source=source, span=span, text=text, stems=stems, held=wanted.intersection(stems))


def worth_of(stems: Iterable[str], lines: Sequence[frozenset[str]]) -> dict[str, float]:
    """Each stem's share of the whole, more the fewer of ``lines`` hold it, as BM25 weighs words."""
    count = Counter(one for held in lines for one in held)
    worth = {
        one: math.log(1 + (len(lines) + 0.5) / (count[one] + 0.5)) for one in dict.fromkeys(stems)
    }
    total = math.fsum(worth.values())
    return {one: value / total for one, value in worth.items()}


def _share(worth: Mapping[str, float], held: Iterable[str]) -> float:
    # Rounded, so that the order in which a set gives its words decides nothing.
    return round(math.fsum(worth[stem] for stem in held), 9)


def _union(lines: Iterable[Line]) -> frozenset[str]:
    return frozenset(stem for line in lines for stem in line.held)


def _best_pair(compared: Compared) -> Sequence[Line]:
    """The two neighbouring sentences of one source, or one, that hold most of the claim."""
    pairs = (
        [line for line in compared.lines[at : at + 2] if line.source == first.source]
        for at, first in enumerate(compared.lines)
    )
    empty: Sequence[Line] = ()
    return max(pairs, key=lambda lines: _share(compared.worth, _union(lines)), default=empty)


def _strewn(compared: Compared) -> float:
    """The share held by ``STREWN`` sentences, chosen one by one for what each adds."""
    held: frozenset[str] = frozenset()
    for _ in range(STREWN):
        added = [line.held - held for line in compared.lines]
        held |= max(added, key=lambda new: _share(compared.worth, new), default=frozenset())
    return _share(compared.worth, held)


def _letters(worth: Mapping[str, float], held: Collection[str]) -> float:
    """The share of the claim's words of which ``held`` has a relative, by pieces of letters."""
    grams = frozenset(gram for stem in held for gram in _grams(stem))
    found = 0.0
    for stem, value in worth.items():
        if stem in held:
            found += value
        elif len(stem) > GRAM:
            mine = _grams(stem)
            found += value * sum(gram in grams for gram in mine) / len(mine)
    return min(1.0, found)


def _grams(stem: str) -> list[str]:
    return [stem[at : at + GRAM] for at in range(len(stem) - GRAM + 1)]


def _named(name: str, text: str) -> bool:
    """Whether a part of ``name`` is in ``text``; initials and the like are not looked for."""
    parts = [part.lower() for part in name.split() if len(part) > 2]
    return not parts or any(part in text for part in parts)


class _Turns(NamedTuple):
    """How one text is turned: whether it is negated (two cancel out), its words of direction."""

    negated: bool
    rising: frozenset[str]
    falling: frozenset[str]


def _turns_of(text: str) -> _Turns:
    held = frozenset(stemmed(word) for word in parse(text).words)
    plain = [word.lower().replace("’", "'") for word in parse(text).words]
    negations = sum(word in DENIALS or word.endswith("n't") for word in plain)
    return _Turns(negations % 2 == 1, held & _stems(RISING), held & _stems(FALLING))


def _turned(compared: Compared) -> dict[str, float]:
    """Whether direction and negation of the claim fit the sentences that hold most of it."""
    claim = _turns_of(compared.claim)
    shares = [_share(compared.worth, line.held) for line in compared.best]
    best = [
        _turns_of(line.text)
        for line, share in zip(compared.best, shares, strict=True)
        if share >= AS_GOOD * shares[0]
    ]
    text = _turns_of(" ".join(line.text for line in compared.best))
    ways = ((claim.rising, text.rising, text.falling), (claim.falling, text.falling, text.rising))
    opposed = any(mine and mine.isdisjoint(same) and other for mine, same, other in ways)
    return {
        "opposed": float(opposed),
        "agreed": float(any(mine and mine <= same for mine, same, _ in ways)),
        "denied": float(bool(best) and all(claim.negated != each.negated for each in best)),
    }


def _whole(sources: Sequence[Excerpt]) -> str:
    return " ".join(part for source in sources for part in (source.title, source.text))


@cache
def _stems(words: frozenset[str]) -> frozenset[str]:
    """Stems, so that "increase", "increases" and "increasing" are one entry."""
    return frozenset(stemmed(word) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A logistic regression: the log odds are ``bias`` and each reading times its weight.

    Attributes:
        supported: the score from which a claim counts as borne out.
        partial: the score from which it counts as borne out in part.
    """

    bias: float
    readings: Mapping[str, float]
    supported: float
    partial: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How far a claim is borne out, and by which sentence.

    Attributes:
        source: which of the sources holds the best sentence; ``None`` when none shares a word.
        span: the best sentence, in that source's text.
        readings: what the score was computed from, by name.
        contained: one sentence holds every word of the claim, in its order.
    """

    score: float
    source: int | None
    span: Span
    readings: Mapping[str, float]
    contained: bool = False


def support(claim: str, sources: Sequence[Excerpt], embedder: Embedder) -> Support:
    """How far ``sources`` together bear ``claim`` out.

    Embeds the claim and at most three sentences; nothing when no sentence shares a word with it.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    compared = compare(claim, sources)
    if not any(line.held for line in compared.best):
        return Support(score=0.0, source=None, span=NOWHERE, readings={})
    vectors = embedder.embed([claim, *(line.text for line in compared.best)], "passage")
    nearness = [float(value) for value in vectors[1:] @ vectors[0]]
    found = readings(compared, nearness)
    held = [sum(compared.worth[stem] for stem in line.held) for line in compared.best]
    place = max(range(len(nearness)), key=lambda at: (held[at] + nearness[at], -at))
    best = compared.best[place]
    return Support(
        score=weigh(found, learned()),
        source=best.source,
        span=best.span,
        readings=found,
        contained=contained(compared),
    )


def weigh(found: Mapping[str, float], weights: Weights) -> float:
    """The score of ``found``, 0-1."""
    odds = weights.bias + math.fsum(
        weight * found[name] for name, weight in weights.readings.items()
    )
    return 1 / (1 + math.exp(-odds))


@cache
def learned() -> Weights:
    """The numbers that come with the package."""
    text = resources.files("wellread.models.readers").joinpath(FILE).read_text(encoding="utf-8")
    read = json.loads(text)
    return Weights(
        bias=float(read["bias"]),
        readings={name: float(read["readings"][name]) for name in NAMES},
        supported=float(read["supported"]),
        partial=float(read["partial"]),
    )
