"""Learns how questions to the catalogue are read; writes the models of ``ask``, one for facts.

    python -m benchmarks.train_catalogue

Learned from ``questions/catalogue-examples.txt``, and for facts of documents from
``questions/fact-examples.txt``: lines with slots for what is looked up, under headings that say how
they are read. What is left of a line about the texts when its words are
known is what a question about the texts would be left with, too: words that no question to the
catalogue has are a topic. A ridge regression to the readings has a closed form, and so has leaving
each line out, which is printed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.paths import ROOT
from wellread.ask.aggregate.catalogue_reading import (
    CATALOGUE_MODEL_FILE,
    FACTS_MODEL_FILE,
    MIN_MARGIN,
    MIN_SCORE,
    NAMING,
    TEXTS,
    TOPIC,
    features,
    merge_topics,
)
from wellread.ask.understand.analyse import FIRST, LAST
from wellread.text.english import PREPOSITIONS, STOP_WORDS
from wellread.text.tokens import tokens_of

MODELS = ROOT / "src" / "wellread" / "ask" / "aggregate"
# The file of each model to the examples that it is learned from.
EXAMPLES = {CATALOGUE_MODEL_FILE: "catalogue-examples.txt", FACTS_MODEL_FILE: "fact-examples.txt"}
STEPS = {CATALOGUE_MODEL_FILE: 127, FACTS_MODEL_FILE: 4095}  # in which the largest weight is kept
PENALTY = {CATALOGUE_MODEL_FILE: 0.15, FACTS_MODEL_FILE: 0.05}
LEAST_EXAMPLES = 2  # that have a feature

SMALL = STOP_WORDS | PREPOSITIONS
Doubles = NDArray[np.float64]
# A topic may be several things, too.
_OF_MANY = {"is": "are", "was": "were", "has": "have", "does": "do"}
_OF_ONE = re.compile(r"\b(is|was|has|does)( (?:the )?\{topic\})", re.IGNORECASE)
_SLOT = re.compile(r"(\{\w+\})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A line of the file with its heading; ``words`` are its words and slots."""

    text: str
    reading: str
    naming: bool
    words: tuple[str, ...]


def main() -> None:
    """Learn both models."""
    for file in EXAMPLES:
        learn(file)


def learn(file: str) -> None:
    """Learn, print what leaving lines out gives, write the file."""
    given = examples(file)
    known = known_words(given)
    masked = [masked_words(one, known) for one in given]
    counts = Counter(name for words in masked for name in features(words))
    kept = {
        name: at
        for at, name in enumerate(n for n, held in counts.items() if held >= LEAST_EXAMPLES)
    }
    rows = np.zeros((len(given), len(kept)))
    for row, words in zip(rows, masked, strict=True):
        names = features(words)
        row[[kept[name] for name in names if name in kept]] = 1 / np.sqrt(len(names))
    readings = [*dict.fromkeys(one.reading for one in given), NAMING]
    wanted = np.array(
        [
            [one.reading == name or (name == NAMING and one.naming) for name in readings]
            for one in given
        ],
        dtype=np.float64,
    )
    inverse = np.linalg.inv(rows @ rows.T + PENALTY[file] * np.eye(len(given)))
    print_left_out(given, masked, readings, wanted - (inverse @ wanted) / np.diag(inverse)[:, None])
    weights = rows.T @ inverse @ wanted
    around = {line for one, words in zip(given, masked, strict=True) for line in beside(one, words)}
    np.savez_compressed(
        MODELS / file,
        readings=np.array(readings),
        features=np.array(list(kept)),
        weights=np.rint(weights * STEPS[file] / np.abs(weights).max()).astype(np.int16),
        step=np.abs(weights).max() / STEPS[file],
        words=np.array([f"{word} {' '.join(known[word])}" for word in sorted(known)]),
        around=np.array(sorted(around)),
    )
    size = (MODELS / file).stat().st_size
    print(f"{file}: {len(given)} examples, {len(kept)} features, {size:,} bytes")


def examples(file: str) -> list[Example]:
    """The lines that a model is learned from."""
    found: list[Example] = []
    reading, flags = "", list[str]()
    lines = ROOT / "benchmarks" / "questions" / EXAMPLES[file]
    for line in lines.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            reading, *flags = line.strip("[]").split()
        elif line and not line.startswith("#"):
            several = _OF_ONE.sub(lambda match: f"{_OF_MANY[match[1].lower()]}{match[2]}", line)
            found += [
                Example(text=one, reading=reading, naming=NAMING in flags, words=tuple(_words(one)))
                for one in dict.fromkeys((line, several))
            ]
    return found


def _words(text: str) -> Iterator[str]:
    for part in _SLOT.split(text):
        if _SLOT.match(part):
            yield part
        else:
            yield from (one.plain for one in tokens_of(part))


def known_words(given: Sequence[Example]) -> dict[str, list[str]]:
    """The words and slots of questions to the catalogue, with the readings that have them."""
    found: dict[str, dict[str, None]] = {}
    for one in given:
        for word in one.words if one.reading != TEXTS else ():
            found.setdefault(word, {})[one.reading] = None
    return {word: list(readings) for word, readings in found.items()}


def masked_words(one: Example, known: Collection[str]) -> list[str]:
    """An example with what would be taken for a topic as one."""
    words = [
        word if _SLOT.match(word) or word in known or word in SMALL else TOPIC for word in one.words
    ]
    return merge_topics(words)


def beside(one: Example, words: Sequence[str]) -> list[str]:
    """The reading of an example with what stands around its topic."""
    ends = [FIRST, *words, LAST]
    places = [at for at, word in enumerate(ends) if word == TOPIC and one.reading != TEXTS]
    return [f"{one.reading} {ends[at - 1]} {ends[at + 1]}" for at in places]


def print_left_out(
    given: Sequence[Example], masked: Sequence[list[str]], readings: Sequence[str], scores: Doubles
) -> None:
    """How the lines are read by what was learned from the others."""
    texts = readings.index(TEXTS)
    read = [
        readings[at]
        if at != texts
        and row[at] >= max(MIN_SCORE, row[texts] + MIN_MARGIN)
        and words.count(TOPIC) < 2
        else TEXTS
        for at, row, words in zip(scores[:, :-1].argmax(axis=1), scores, masked, strict=True)
    ]
    pairs = [(one.reading, name) for one, name in zip(given, read, strict=True)]
    mine = [(wanted, name) for wanted, name in pairs if wanted != TEXTS]
    right = sum(wanted == name for wanted, name in mine) / len(mine)
    other = sum(name not in (wanted, TEXTS) for wanted, name in mine) / len(mine)
    taken = [name != TEXTS for wanted, name in pairs if wanted == TEXTS]
    print(f"of the catalogue: {right:.3f} right, {other:.3f} another reading")
    print(f"of the texts: {sum(taken) / len(taken):.3f} taken for one of the catalogue")


if __name__ == "__main__":
    main()
