"""Learns the types of questions and writes ``question_types.npz`` of ``wellread.ask.understand``.

    python -m benchmarks.train_question_type

Learned from ``questions/question-types.txt``: each line is written out in some of its wordings, and
its slots are what a base knows, or words that no base does. A ridge regression over the words,
pairs and triples of the masked question gives each type a score. Prints the share right by
five-fold cross-validation over the lines: all wordings of a line stand in one fold.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.paths import ROOT
from wellread.ask.understand.question_type import (
    FILE,
    TypeModel,
    features,
    marks_of,
    masked,
)
from wellread.questions import QuestionType
from wellread.text.tokens import tokens_of

EXAMPLES = ROOT / "benchmarks" / "questions" / "question-types.txt"
FOLDS, ROUNDS, PENALTY = 5, 60, 0.3
LEAST_WEIGHT = 0.15  # of a feature for some type; the smaller ones change nothing
# Wordings of a line, and how often each of its alternatives stands in them.
LEAST_WORDINGS, MOST_WORDINGS, OFTEN = 3, 16, 2
# What a slot may be masked as, or be said with.
FILLINGS = {
    "topic": "{topic} {topic} {topics} {entity} {entity}",
    "entity": "{entity}",
    "matter": "{topic} {topic} {topics}",
    "person": "{person} {person} {topic} {entity}",
    "noun": "{noun} {noun} {topic}",
    "nouns": "{nouns} {nouns} {topics}",
    "by": "{by}",
    "bys": "{bys}",
    "value": "{value} {value} {topic}",
    "when": "{when}",
    "document": "{document}",
    "relation": "{relation}",
    "number": "{number}",
    "unit": "{unit} {unit} hours days weeks months years bytes",
}
_CHOICE = re.compile(r"\(([^()]*)\)")
_SLOT = re.compile(r"\{(\w+)\}")
_POSSESSIVE = re.compile(r"\}['’]s\b")

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One wording; ``line`` is the same for those of one line.

    Attributes:
        words: those of the question, slots among them, not yet masked by what is known.
        marks: what its marks tell.
    """

    line: int
    type: QuestionType
    words: tuple[str, ...]
    marks: tuple[str, ...]

    def masked(self, known: Collection[str]) -> list[str]:
        """As the reader sees it that knows these words."""
        return masked(self.words, self.marks, known)


def main() -> None:
    """Cross-validate, learn from everything, write the file."""
    given = list(examples())
    types = tuple(dict.fromkeys(one.type for one in given))
    pairs: list[tuple[str, str]] = []
    for fold in range(FOLDS):
        model = learn([one for one in given if one.line % FOLDS != fold], types)
        held = [one for one in given if one.line % FOLDS == fold]
        pairs += [(one.type, model.read(one.masked(model.words))[0]) for one in held]
    print_right(pairs)
    model = learn(given, types)
    path = ROOT / "src" / "wellread" / "ask" / "understand" / FILE
    np.savez_compressed(
        path,
        types=np.array(types),
        words=np.array(sorted(model.words)),
        features=np.array(list(model.weights)),
        weights=np.array(list(model.weights.values()), dtype=np.float16),
    )
    print(f"{len(given)} wordings of {len({one.line for one in given})} lines")
    print(f"{len(model.weights)} features, {len(model.words)} words, {path.stat().st_size:,} bytes")


def examples() -> Iterator[Example]:
    """Wordings of the lines of the file; the same every time."""
    sort: QuestionType = "factual"
    for number, line in enumerate(EXAMPLES.read_text(encoding="utf-8").splitlines()):
        if line.startswith("["):
            sort = cast("QuestionType", line.strip("[]"))
        elif line and not line.startswith("#"):
            for text in wordings(line):
                yield Example(
                    line=number, type=sort, words=tuple(_words(text)), marks=tuple(marks_of(text))
                )


def wordings(line: str) -> list[str]:
    """The line written out, so that each alternative stands in some wordings."""
    chance = random.Random(line)
    most = max((choice.count("|") + 1 for choice in _CHOICE.findall(line)), default=1)
    found = {}
    for number in range(min(MOST_WORDINGS, max(LEAST_WORDINGS, OFTEN * most))):
        text = line
        while "(" in text:
            text = _CHOICE.sub(partial(_turn, line, number), text)
        text = _POSSESSIVE.sub("}", text)
        text = _SLOT.sub(lambda match: chance.choice(FILLINGS[match[1]].split()), text)
        found[text] = None
    return list(found)


def _turn(line: str, number: int, match: re.Match[str]) -> str:
    """One of the alternatives; all have had their turn before one comes again."""
    several = match[1].split("|")
    turn, place = divmod(number, len(several))
    random.Random(f"{match.start()} {turn} {line}").shuffle(several)
    return several[place]


def _words(text: str) -> Iterator[str]:
    for part in re.split(r"(\{\w+\})", text):
        if part.startswith("{"):
            yield part
        else:
            yield from (one.plain for one in tokens_of(part))


def words_of(given: Sequence[Example]) -> frozenset[str]:
    """The words that stand in several wordings."""
    held = defaultdict(set)
    for one in given:
        for word in one.words:
            held[word].add(one.words)
    return frozenset(word for word, at in held.items() if len(at) > 1 and word[0] != "{")


def learn(given: Sequence[Example], types: tuple[QuestionType, ...]) -> TypeModel:
    """Ridge regression by conjugate gradients; a line with many wordings counts for more, not as
    many times.
    """
    words = words_of(given)
    named = [features(one.masked(words)) for one in given]
    kept: dict[str, int] = {}
    for name in chain.from_iterable(named):
        kept.setdefault(name, len(kept))
    held = Counter(one.line for one in given)
    share = np.array([held[one.line] ** -0.5 for one in given])
    share /= share.mean()
    lengths = np.array([len(names) for names in named])
    places = np.array([kept[name] for name in chain.from_iterable(named)])
    values = np.repeat(np.sqrt(share / lengths), lengths)[:, None]
    starts = np.cumsum(lengths) - lengths

    def back(rows: Doubles) -> Doubles:
        spread = np.repeat(rows, lengths, axis=0) * values
        columns = [np.bincount(places, column, minlength=len(kept)) for column in spread.T]
        return np.stack(columns, axis=1)

    wanted = np.array([[one.type == name for name in types] for one in given], dtype=np.float64)
    rest = back(wanted * np.sqrt(share)[:, None])
    weights, step, size = np.zeros_like(rest), rest, (rest * rest).sum(axis=0)
    for _ in range(ROUNDS):
        turned = back(np.add.reduceat(step[places] * values, starts)) + PENALTY * step
        length = size / (step * turned).sum(axis=0)
        weights, rest, before = weights + length * step, rest - length * turned, size
        size = (rest * rest).sum(axis=0)
        step = rest + size / before * step
    rows = zip(kept, weights.astype(np.float32), strict=True)
    told = {name: row for name, row in rows if np.abs(row).max() >= LEAST_WEIGHT}
    return TypeModel(types=types, words=words, weights=told)


def print_right(pairs: Sequence[tuple[str, str]]) -> None:
    """The share right of all, and of each type; what is taken for what most."""
    print(f"right by cross-validation over lines: {np.mean([a == b for a, b in pairs]):.3f}")
    for name in dict.fromkeys(one for one, _ in pairs):
        mine = [other for one, other in pairs if one == name]
        wrong = Counter(other for other in mine if other != name).most_common(3)
        print(f"{name:12} {mine.count(name) / len(mine):.3f} of {len(mine)}  {wrong}")


if __name__ == "__main__":
    main()
