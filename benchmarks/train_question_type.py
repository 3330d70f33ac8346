"""Learns the types of questions and writes ``question_types.npz`` of ``wellread.ask.understand``.

    python -m benchmarks.train_question_type

Learned from ``questions/question-types.txt``, written for this over a dozen everyday domains, each
line with three fillings, and from half ``a`` of the labelled questions of ``benchmarks.analysis``,
on which the patterns were tuned too. Prints the share right by five-fold cross-validation over the
lines: all fillings of a line stand in one fold. What ships is used only where no sure pattern
tells the type, so ``benchmarks.analysis`` and the paraphrase sets measure the whole.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis import QUESTIONS, labelled
from benchmarks.homes import default_embedder
from benchmarks.paths import ROOT
from wellread.ask.understand.question_type import (
    FILE,
    Floats,
    features,
    model_name,
    phrases_of,
)

FILLINGS, FOLDS, ROUNDS, BATCH = 3, 5, 120, 64
LEAST_LINES = 2  # in which a phrase has to stand
PENALTY, STEP = 3e-4, 0.1
TIMES_LABELLED = 2  # that a labelled question counts, beside the fillings of a line
WORDS = {
    "topic": (
        "stone walls|night trains|honey|a rain barrel|chess openings|hospital food|solar sails"
        "|the cello|eel fishing|vaccines|choir practice|school lunches|wool|the tramway"
        "|rent control|bread ovens|glaciers|museum tickets|sourdough|the tulip fair|parking fees"
        "|beekeeping|the tax on sugar|wetlands|tooth decay|the lighthouse lamp|knitting|ski lifts"
        "|patent law|allotments"
    ),
    "person": (
        "Marta Ruiz|Dr Okafor|Pelle Lind|Aiko Sato|the treasurer|Judge Brandon|Nadia Haddad"
        "|a fisherman|Tom Weller|the head gardener"
    ),
    "organisation": (
        "the rowing club|Norvik Hospital|the Milton Trust|Westfield School|the bakers' guild"
        "|Orion Labs|the film society|the railway"
    ),
    "sources": (
        "articles|interviews|letters|reports|talks|papers|bulletins|transcripts|episodes|minutes"
    ),
    "things": (
        "clubs|species|recipes|laws|churches|experiments|players|techniques|trails|projects"
        "|methods|villages|topics|rules"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question with its type; ``line`` is the same for those made of one line."""

    line: int
    type: str
    text: str


def main() -> None:
    """Cross-validate, learn from everything, write the file."""
    embedder = default_embedder()
    written = list(examples())
    more = [
        Example(line=-1, type=one.type, text=one.question) for one in labelled() if one.half == "a"
    ]
    everything = [*written, *(more * TIMES_LABELLED)]
    texts = [one.text for one in everything]
    batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
    vectors = np.concatenate([embedder.embed(batch, "query") for batch in batches])
    types = sorted({one.type for one in everything})
    phrases = {phrase: place for place, phrase in enumerate(kept_phrases(written, more))}
    rows = features(texts, vectors, phrases)
    gold = np.array([types.index(one.type) for one in everything])
    fold = np.array([one.line % FOLDS if one.line >= 0 else -1 for one in everything])
    right = []
    for held in range(FOLDS):
        weights = learn(rows[fold != held], gold[fold != held], len(types))
        right.append(((rows[fold == held] @ weights).argmax(1) == gold[fold == held]).mean())
    print(f"{len(written)} questions of {len({one.line for one in written})} lines")
    print(f"{len(phrases)} phrases; right by cross-validation over lines: {np.mean(right):.3f}")
    path = ROOT / "src" / "wellread" / "ask" / "understand" / FILE
    np.savez_compressed(
        path,
        embedder=np.array(model_name(embedder)),
        types=np.array(types),
        phrases=np.array(list(phrases)),
        weights=learn(rows, gold, len(types)).astype(np.float16),
    )
    print(f"{path}: {path.stat().st_size:,} bytes")


def examples() -> Iterator[Example]:
    """The questions made of the lines; the same every time."""
    chance = random.Random(1)
    words = {name: several.split("|") for name, several in WORDS.items()}
    lines = (QUESTIONS / "question-types.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(one for one in lines if not one.startswith("#")):
        sort, _, frame = line.partition(": ")
        for _ in range(FILLINGS):
            topic, other = chance.sample(words["topic"], 2)
            person, second = chance.sample(words["person"], 2)
            text = frame.format(
                t=topic,
                u=other,
                p=person,
                q=second,
                o=chance.choice(words["organisation"]),
                s=chance.choice(words["sources"]),
                n=chance.choice(words["things"]),
            )
            shown = f"{text[:1].upper()}{text[1:]}" if chance.random() < 0.8 else text.lower()
            yield Example(line=number, type=sort, text=shown)


def kept_phrases(written: Sequence[Example], more: Sequence[Example]) -> list[str]:
    """Phrases of several lines that do not come from the fillings."""
    lines: dict[int, frozenset[str]] = {}
    for one in written:
        found = phrases_of(one.text)
        lines[one.line] = lines.get(one.line, found) & found
    counts = Counter(phrase for found in lines.values() for phrase in found)
    counts.update(phrase for one in more for phrase in phrases_of(one.text))
    return sorted(phrase for phrase, count in counts.items() if count >= LEAST_LINES)


def learn(rows: Floats, gold: NDArray[np.int64], count: int) -> Floats:
    """The weights; every type counts alike, whatever the number of its questions."""
    share = (len(gold) / (count * np.bincount(gold, minlength=count)[gold])).astype(np.float32)
    share /= share.sum()
    wanted = np.eye(count, dtype=np.float32)[gold]
    weights = np.zeros((rows.shape[1], count), np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    penalty = np.full((rows.shape[1], 1), PENALTY, np.float32)
    penalty[-1] = 0.0
    for turn in range(1, ROUNDS + 1):
        odds = rows @ weights
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        slope = rows.T @ ((odds - wanted) * share[:, None]) + penalty * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope * slope
        step = mean / (1 - 0.9**turn) / (np.sqrt(square / (1 - 0.999**turn)) + 1e-8)
        weights -= STEP * step
    return weights


if __name__ == "__main__":
    main()
