"""Passages written for training: questions in far wording, unanswered ones, claims true and false.

The files ``written/*.txt`` are this project's own. A passage is a block between blank lines: ``@``
and the kind of text, its sentences one a line, then what is asked of it: ``?3`` a question that
sentence 3 answers, ``?-`` one that none does, ``+3`` a claim that sentence 3 bears out (``+3,5``
where it takes both), ``!3`` one that it contradicts, ``~3`` one that is near it and left open.
"""

from __future__ import annotations

import itertools
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from training.pairs import CONTRADICTED, ENTAILED, NOISY, NOT_ENTAILED, OPEN, Pair

FOLDER = Path(__file__).parent / "written"
MOST = (45, 130)  # words of a window
HEADED = 0.2  # of the texts that answer stand under their title
COUNTERED = 0.5  # of the claims come once more with a text of which the opposite holds
HELD_OUT = 10  # of so many passages one is never learnt from
LABELS = {"+": ENTAILED, "!": CONTRADICTED, "~": OPEN}

_ASKED = re.compile(r"^([?+!~])(-|\d+(?:,\d+)*) (.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question or claim; ``held`` are the numbers, from 0, of the sentences it rests on."""

    sign: str
    held: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One passage with all that is asked of it; ``kind`` says what sort of text it is."""

    kind: str
    sentences: tuple[str, ...]
    asked: tuple[Asked, ...]

    @property
    def held_out(self) -> bool:
        """Whether it is kept for measuring."""
        return zlib.crc32(" ".join(self.sentences).encode()) % HELD_OUT == 0


def passages(folder: Path = FOLDER, names: str = "*") -> list[Passage]:
    """All passages of the files of ``folder`` called like one of ``names``, in their order.

    Args:
        names: patterns of file names without ``.txt``, with commas.

    Raises:
        ValueError: a block is not as it should be; the message names file and block.
    """
    return [
        _passage(block, f"{path.name}, block {number}")
        for path in sorted({path for one in names.split(",") for path in folder.glob(f"{one}.txt")})
        for number, block in enumerate(
            re.split(r"\n\s*\n", path.read_text(encoding="utf-8").strip()), start=1
        )
    ]


def _passage(block: str, where: str) -> Passage:
    lines = [" ".join(line.split()) for line in block.splitlines() if line.strip()]
    found = [match for line in lines[1:] if (match := _ASKED.match(line))]
    sentences = tuple(line for line in lines[1:] if not _ASKED.match(line))
    asked = tuple(
        Asked(
            sign=match[1],
            held=() if match[2] == "-" else tuple(int(one) - 1 for one in match[2].split(",")),
            text=match[3],
        )
        for match in found
    )
    if not lines[0].startswith("@ ") or not sentences:
        raise ValueError(f"{where}: a passage begins with '@ ' and has sentences")
    if any(place >= len(sentences) for one in asked for place in one.held):
        raise ValueError(f"{where}: a number is beyond the last sentence")
    return Passage(kind=lines[0][2:], sentences=sentences, asked=asked)


class Beside(Protocol):
    """Finds texts that are near a question and do not answer it."""

    def beside(self, number: int, one: Asked, rng: random.Random) -> Sequence[Sequence[str]]:
        """Texts, as their sentences, for the question ``one`` of passage ``number``."""


def written_pairs(
    found: Sequence[Passage], rng: random.Random, *, near: Beside, claims: bool = True
) -> Iterator[Pair]:
    """The pairs of ``found``, each in a window of its own; without ``claims`` questions alone.

    Questions and true claims share few words with their sentence, false ones many. So that this is
    no sign, each answered question and true claim comes once more without the sentence it rests
    on, each question beside texts that are ``near`` it, and each contradicted claim beside the
    sentence itself, which is true. All texts of an answered question are one group.
    """
    numbers = itertools.count(rng.randrange(1 << 40))
    for number, passage in enumerate(found):
        for one in passage.asked:
            if one.sign == "?":
                group = next(numbers) if one.held else None
                for pair in _of_question(number, passage, one, rng, near):
                    yield replace(pair, group=group)
            elif claims:
                yield from _of_claim(passage, one, rng)


def _of_question(
    number: int, passage: Passage, one: Asked, rng: random.Random, near: Beside
) -> Iterator[Pair]:
    if one.held:
        yield _headed(_of(passage.sentences, one, rng), passage.kind, rng)
        if len(passage.sentences) > len(one.held):
            yield _without(_rest(passage.sentences, one.held, rng), one)
    for text in near.beside(number, one, rng):
        yield replace(_without(text, one), weight=NOISY if one.held else 1.0)


def _of_claim(passage: Passage, one: Asked, rng: random.Random) -> Iterator[Pair]:
    yield _of(passage.sentences, one, rng)
    if rng.random() > COUNTERED:
        return
    if one.sign == "+" and len(passage.sentences) > len(one.held):
        yield _without(_rest(passage.sentences, one.held, rng), one)
    if one.sign == "!":
        quoted = Asked(sign="+", held=one.held, text=passage.sentences[one.held[0]])
        yield replace(_of(passage.sentences, quoted, rng), weight=NOISY)


def _headed(pair: Pair, title: str, rng: random.Random) -> Pair:
    """``pair``, some of them under a title, as texts are read whose title the question names."""
    if rng.random() > HEADED:
        return pair
    chosen = None if pair.chosen is None else pair.chosen + 1
    return replace(pair, sentences=(title, *pair.sentences), chosen=chosen)


def _of(sentences: Sequence[str], one: Asked, rng: random.Random) -> Pair:
    """A pair of what is asked with the sentences it rests on and some around them.

    Of several sentences that answer a question one does; a claim needs all of its own.
    """
    asks, held = one.sign == "?", one.held or (rng.randrange(len(sentences)),)
    held = (rng.choice(held),) if asks else held
    first, last = _window(sentences, held, rng)
    return Pair(
        task="qa" if asks else "nli",
        asked=one.text,
        sentences=tuple(sentences[first : last + 1]),
        label=int(bool(one.held)) if asks else LABELS[one.sign],
        chosen=held[0] - first if asks and one.held else None,
        source="written",
    )


def _rest(sentences: Sequence[str], held: Sequence[int], rng: random.Random) -> list[str]:
    """A window around the sentences ``held``, without them."""
    first, last = _window(sentences, held, rng)
    first, last = (first, last) if last - first >= len(held) else (0, len(sentences) - 1)
    return [sentences[at] for at in range(first, last + 1) if at not in held]


def _without(sentences: Sequence[str], one: Asked) -> Pair:
    """A pair of what is asked with sentences that do not tell it."""
    asks = one.sign == "?"
    return Pair(
        task="qa" if asks else "nli",
        asked=one.text,
        sentences=tuple(sentences),
        label=0 if asks else NOT_ENTAILED,
        source="written",
        weight=1.0 if asks else NOISY,
    )


def _window(sentences: Sequence[str], held: Sequence[int], rng: random.Random) -> tuple[int, int]:
    """First and last of a run of sentences around ``held`` that has a random number of words."""
    first, last = min(held), max(held)
    most = rng.randint(*MOST)
    size = sum(len(one.split()) for one in sentences[first : last + 1])
    while size < most and (first > 0 or last < len(sentences) - 1):
        if first > 0 and (last == len(sentences) - 1 or rng.random() < 0.5):
            first -= 1
            size += len(sentences[first].split())
        else:
            last += 1
            size += len(sentences[last].split())
    return first, last
