"""Learns the types of questions and writes ``question_types.npz`` of ``wellread.ask.understand``.

    python -m benchmarks.train_question_type

Learned from ``questions/question-types.txt``: each line is written out in some of its wordings,
and its slots are what a base knows, or words that no base does. A ridge regression over the words,
pairs and triples of the masked question gives each type a score; another one learns from the
vectors of the default embedder what these scores get wrong on lines that were left out. Prints the
share right by five-fold cross-validation over the lines: all wordings of a line stand in one fold.
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

from benchmarks.homes import default_embedder
from benchmarks.paths import ROOT
from wellread.ask.understand.analyse import (
    FILE,
    MIN_LEAD,
    WEIGHT_STEPS,
    Floats,
    TypeModel,
    features,
    marks_of,
    mask,
    model_name,
    with_bias,
)
from wellread.text.tokens import tokens_of
from wellread.values.question import QuestionType

EXAMPLES = ROOT / "benchmarks" / "questions" / "question-types.txt"
FOLDS, ROUNDS, BATCH = 5, 60, 64
PENALTY, VECTOR_PENALTY = 0.3, 3.0
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
# What is said in a slot where a wording is embedded.
SAID = {
    "topic": (
        "stone walls|night trains|honey|a rain barrel|chess openings|hospital food|the cello"
        "|vaccines|school lunches|wool|rent control|bread ovens|museum tickets|the tulip fair"
        "|wetlands|the lighthouse lamp|ski lifts|patent law|Norvik Hospital|the rowing club"
    ),
    "topics": "parking fees|clubs|recipes|glaciers|eels|allotments|churches|trails",
    "entity": "the Milton Trust|Westfield School|Orion Labs|the film society|the tramway",
    "person": "Marta Ruiz|Dr Okafor|Pelle Lind|Aiko Sato|the treasurer|Nadia Haddad",
    "noun": "article|talk|letter|report|project",
    "nouns": "articles|interviews|letters|reports|papers|projects|methods|villages",
    "by": "region|sector|category",
    "bys": "regions|sectors|categories",
    "value": "coastal|farming|health",
    "when": "2021|March 2023|last year",
    "document": "letter 12|the report of the guild",
    "relation": "taught by|paid by|next to",
    "number": "5|12",
    "unit": "metres|euros|litres",
}
CHOICE = re.compile(r"\(([^()]*)\)")
_SLOT = re.compile(r"\{(\w+)\}")
_POSSESSIVE = re.compile(r"\}['’]s\b")

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One wording; ``line`` is the same for those of one line.

    Attributes:
        text: with words in its slots, for its vector.
        words: those of the question, slots among them, not yet masked by what is known.
        marks: what its marks tell.
    """

    line: int
    type: QuestionType
    text: str
    words: tuple[str, ...]
    marks: tuple[str, ...]

    def masked(self, known: Collection[str]) -> list[str]:
        """As the reader sees it that knows these words."""
        return mask(self.words, self.marks, known)


def main() -> None:
    """Cross-validate, learn from everything, write the file."""
    given, embedder = list(examples()), default_embedder()
    types = tuple(dict.fromkeys(one.type for one in given))
    gold = np.array([types.index(one.type) for one in given])
    fold = np.array([one.line % FOLDS for one in given])
    wanted = np.eye(len(types))[gold]
    texts = [one.text for one in given]
    batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
    vectors = with_bias(np.concatenate([embedder.embed(batch, "query") for batch in batches]))
    scores = np.zeros_like(wanted)
    for held in range(FOLDS):
        learned = learn([one for one in given if one.line % FOLDS != held], types)
        for at in np.flatnonzero(fold == held):
            scores[at] = learned.scores(given[at].masked(learned.words))
    both = scores.copy()
    for held in range(FOLDS):
        others = fold != held
        turning = turned(vectors[others], wanted[others] - scores[others])
        both[~others] += vectors[~others] @ turning
    ahead = np.diff(np.sort(scores, axis=1)[:, -2:]).ravel()
    both = np.where((ahead < MIN_LEAD)[:, None], both, scores)
    print_right("words alone", types, gold, scores)
    print_right(f"vectors of {np.mean(ahead < MIN_LEAD):.2f} too", types, gold, both)
    model = learn(given, types)
    path = ROOT / "src" / "wellread" / "ask" / "understand" / FILE
    np.savez_compressed(
        path,
        types=np.array(types),
        words=np.array(sorted(model.words)),
        features=np.array(list(model.weights)),
        weights=np.rint(WEIGHT_STEPS * np.array(list(model.weights.values()))).astype(np.int8),
        embedder=np.array(model_name(embedder)),
        turning=turned(vectors, wanted - scores).astype(np.float16),
    )
    print(f"{len(given)} wordings of {len({one.line for one in given})} lines")
    print(f"{len(model.weights)} features, {len(model.words)} words, {path.stat().st_size:,} bytes")


def examples() -> Iterator[Example]:
    """Wordings of the lines of the file; the same every time."""
    chance = random.Random(1)
    sort: QuestionType = "factual"
    for number, line in enumerate(EXAMPLES.read_text(encoding="utf-8").splitlines()):
        if line.startswith("["):
            sort = cast("QuestionType", line.strip("[]"))
        elif line and not line.startswith("#"):
            for text in wordings(line):
                yield Example(
                    line=number,
                    type=sort,
                    text=_SLOT.sub(lambda match: chance.choice(SAID[match[1]].split("|")), text),
                    words=tuple(_words(text)),
                    marks=tuple(marks_of(text)),
                )


def wordings(line: str) -> list[str]:
    """The line written out, so that each alternative stands in some wordings."""
    chance = random.Random(line)
    most = max((choice.count("|") + 1 for choice in CHOICE.findall(line)), default=1)
    found: dict[str, None] = {}
    for number in range(min(MOST_WORDINGS, max(LEAST_WORDINGS, OFTEN * most))):
        text = _POSSESSIVE.sub("}", worded(line, number))
        text = _SLOT.sub(lambda match: chance.choice(FILLINGS[match[1]].split()), text)
        found[text] = None
    return list(found)


def worded(line: str, number: int) -> str:
    """One wording of a line with alternatives."""
    text = line
    while "(" in text:
        text = CHOICE.sub(partial(_turn, line, number), text)
    return text


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
    held = Counter(one.line for one in given)
    share = np.array([held[one.line] ** -0.5 for one in given])
    wanted = np.array([[one.type == name for name in types] for one in given], dtype=np.float64)
    rows = ridge(named, wanted, share / share.mean(), PENALTY)
    told = {name: row for name, row in rows.items() if np.abs(row).max() >= LEAST_WEIGHT}
    none = np.zeros((0, len(types)), np.float32)
    return TypeModel(types=types, words=words, weights=told, embedder="", turning=none)


def ridge(
    named: Sequence[Sequence[str]], wanted: Doubles, share: Doubles, penalty: float
) -> dict[str, Floats]:
    """The weights of each feature, by conjugate gradients.

    Args:
        named: the features of each example.
        wanted: a row for each example.
        share: how much each example counts.
    """
    kept: dict[str, int] = {}
    for name in chain.from_iterable(named):
        kept.setdefault(name, len(kept))
    lengths = np.array([len(names) for names in named])
    places = np.array([kept[name] for name in chain.from_iterable(named)])
    values = np.repeat(np.sqrt(share / lengths), lengths)[:, None]
    starts = np.cumsum(lengths) - lengths

    def back(rows: Doubles) -> Doubles:
        spread = np.repeat(rows, lengths, axis=0) * values
        columns = [np.bincount(places, column, minlength=len(kept)) for column in spread.T]
        return np.stack(columns, axis=1)

    rest = back(wanted * np.sqrt(share)[:, None])
    weights, step, size = np.zeros_like(rest), rest, (rest * rest).sum(axis=0)
    for _ in range(ROUNDS):
        turned = back(np.add.reduceat(step[places] * values, starts)) + penalty * step
        length = size / (step * turned).sum(axis=0)
        weights, rest, before = weights + length * step, rest - length * turned, size
        size = (rest * rest).sum(axis=0)
        step = rest + size / before * step
    return dict(zip(kept, weights.astype(np.float32), strict=True))


def turned(vectors: Floats, rest: Doubles) -> Doubles:
    """What the vectors add to scores, by what those of left-out lines leave to explain."""
    square = vectors.T @ vectors + VECTOR_PENALTY * np.eye(vectors.shape[1])
    found: Doubles = np.linalg.solve(square, vectors.T @ rest).astype(np.float64)
    return found


def print_right(name: str, types: Sequence[str], gold: NDArray[np.int64], scores: Doubles) -> None:
    """The share right of all left-out wordings, and of those of each type."""
    right = scores.argmax(axis=1) == gold
    shares = (f"{sort} {right[gold == at].mean():.2f}" for at, sort in enumerate(types))
    print(f"{name}: {right.mean():.3f} right; {', '.join(shares)}")


if __name__ == "__main__":
    main()
