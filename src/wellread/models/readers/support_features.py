"""What can be read off a claim and the passages it cites, each reading 0-1.

Words are read sentence by sentence: a word counts the more the fewer sentences of the evidence hold
it, and one that none holds counts most. What bears a claim out may be strewn over a page, so that
three sentences from anywhere count together (``cover_strewn``). The order of the
words was read too and added nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from wellread.text.english import DENIALS, FALLING, RISING
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.stems import stem as stemmed
from wellread.types import Span

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
class Source:
    """A passage that a claim cites, with its document's title."""

    text: str
    title: str


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
    sources: tuple[Source, ...]
    lines: tuple[Line, ...]
    best: tuple[Line, ...]


def compare(claim: str, sources: Sequence[Source]) -> Compared:
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
    titles = frozenset(stem for source in compared.sources for stem in parse(source.title).stems)
    return (
        _covers(compared, pair, titles)
        | _facts(compared, pair)
        | _turned(compared)
        | {
            "near": max(near),
            "near_mean": sum(near) / len(near),
        }
    )


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
    return sorted(parse(compared.claim).numbers - parse(_whole(compared.sources)).numbers)


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


def _covers(compared: Compared, pair: Sequence[Line], titles: frozenset[str]) -> dict[str, float]:
    worth = compared.worth
    around = titles.union(*(line.stems for line in pair))
    return {
        "cover_plain": len(_union(compared.lines)) / max(1, len(worth)),
        "cover_strewn": _strewn(compared),
        "cover_letters": _letters(worth, around),
    }


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


def _facts(compared: Compared, pair: Sequence[Line]) -> dict[str, float]:
    titles = [source.title for source in compared.sources]
    near = " ".join([*(line.text for line in pair), *titles]).lower()
    names = parse(compared.claim).names
    apart = sum(not _named(name, near) for name in names)
    return {
        "number_missing": float(bool(missing_numbers(compared))),
        "names_apart": apart / max(1, len(names)),
    }


def _named(name: str, text: str) -> bool:
    """Whether a part of ``name`` is in ``text``; initials and the like are not looked for."""
    parts = [part.lower() for part in name.split() if len(part) > 2]
    return not parts or any(part in text for part in parts)


def _turned(compared: Compared) -> dict[str, float]:
    claim = turns_of(compared.claim)
    shares = [_share(compared.worth, line.held) for line in compared.best]
    best = [
        turns_of(line.text)
        for line, share in zip(compared.best, shares, strict=True)
        if share >= AS_GOOD * shares[0]
    ]
    together = turns_of(" ".join(line.text for line in compared.best))
    return {
        "opposed": float(opposed(claim, together)),
        "agreed": float(agreed(claim, together)),
        "denied": float(bool(best) and all(denied(claim, text) for text in best)),
    }


def _whole(sources: Sequence[Source]) -> str:
    return " ".join(part for source in sources for part in (source.title, source.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """How one text is turned: how many negations it has, which words of direction."""

    negations: int
    rising: frozenset[str]
    falling: frozenset[str]


def turns_of(text: str) -> Turns:
    """Read ``text``."""
    held = frozenset(stemmed(word) for word in parse(text).words)
    plain = [word.lower().replace("’", "'") for word in parse(text).words]
    negations = sum(word in DENIALS or word.endswith("n't") for word in plain)
    return Turns(negations=negations, rising=held & _stems(RISING), falling=held & _stems(FALLING))


def opposed(claim: Turns, text: Turns) -> bool:
    """Whether the claim says one direction in words the text has not, and the text the other."""
    return _lacks(claim.rising, text.rising, text.falling) or _lacks(
        claim.falling, text.falling, text.rising
    )


def agreed(claim: Turns, text: Turns) -> bool:
    """Whether every word of one direction in the claim is in the text, and there is one."""
    return (bool(claim.rising) and claim.rising <= text.rising) or (
        bool(claim.falling) and claim.falling <= text.falling
    )


def denied(claim: Turns, text: Turns) -> bool:
    """Whether one of the two is negated and the other is not (two negations cancel out)."""
    return claim.negations % 2 != text.negations % 2


def _lacks(mine: frozenset[str], same: frozenset[str], other: frozenset[str]) -> bool:
    return bool(mine) and mine.isdisjoint(same) and bool(other)


@cache
def _stems(words: frozenset[str]) -> frozenset[str]:
    """Stems, so that "increase", "increases" and "increasing" are one entry."""
    return frozenset(stemmed(word) for word in words)
