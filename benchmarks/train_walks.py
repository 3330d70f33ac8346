"""Learns how questions about the graph of relations are read; writes a model of ``ask``.

    python -m benchmarks.train_walks

Learned from ``questions/walk-examples.txt``: what each family of relations is called, frames in
which people ask with such verbs, phrases and nouns, and lines in other words, each in some of its
wordings. A ridge regression gives each reading a score; what questions are read as that were left
out is printed, all those of a line, or of a verb, together.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.paths import ROOT
from benchmarks.train_question_type import CHOICE, ridge, worded
from wellread.ask.aggregate.catalogue_reading import MIN_MARGIN, MIN_SCORE, TEXTS, TOPIC
from wellread.ask.aggregate.walk_reading import (
    FILE,
    FLAGS,
    OPENINGS,
    SKIPPED,
    features,
)
from wellread.ask.understand.analyse import FIRST, LAST
from wellread.text.english import PREPOSITIONS, STOP_WORDS
from wellread.text.tokens import ARTICLES, tokens_of

EXAMPLES = ROOT / "benchmarks" / "questions" / "walk-examples.txt"
MODEL = ROOT / "src" / "wellread" / "ask" / "aggregate" / FILE
PENALTY, STEPS = 0.05, 31
LEAST_WEIGHT = 0.32  # of a feature for some reading; the smaller ones change nothing
LEAST_EXAMPLES = 3  # that have a feature
LEFT_OUT = 6  # one in so many
SMALL = STOP_WORDS | PREPOSITIONS
# Wordings of a line, and how often each of its alternatives stands in them.
LEAST_WORDINGS, MOST_WORDINGS = 2, 40
SILENT, THINGS = (SKIPPED, OPENINGS), "things"
FRAMES, LEXICAL = "frames", ("verbs", "phrases", "nouns")
LEADS = (
    "{}:",
    "{},",
    "About {}:",
    "As for {},",
    "I am reading about {}.",
    "I am looking at {}.",
    "{} -",
    "Take {}.",
)
Bytes = NDArray[np.uint8]
Doubles = NDArray[np.float64]
_SLOT = re.compile(r"(\{\w+\})")
_PLAIN = re.compile(r"\{(name|names|other|type|by|relation|topic|person)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question as words and slots; ``source`` is the same for those of one line or verb."""

    text: str
    source: str
    labels: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def readings(self) -> tuple[str, ...]:
        """The labels that are no flags."""
        return tuple(one for one in self.labels if one not in FLAGS)


def main() -> None:
    """Print what leaving lines out gives; learn from everything; write the file."""
    given = examples()
    known = known_words(given)
    masked = [masked_words(one, known) for one in given]
    labels = list(dict.fromkeys(label for one in given for label in one.labels))
    wanted = np.array([[name in one.labels for name in labels] for one in given], dtype=np.float64)
    held = Counter(one.source for one in given)
    share = np.array([held[one.source] ** -0.5 for one in given])
    named = [features(words) for words in masked]
    counts = Counter(name for names in named for name in names)
    named = [[name for name in names if counts[name] >= LEAST_EXAMPLES] for names in named]
    print_left_out(given, named, labels, wanted, share)
    weights = ridge(named, wanted, share / share.mean(), PENALTY)
    kept = {name: row for name, row in weights.items() if np.abs(row).max() >= LEAST_WEIGHT}
    rows = np.array(list(kept.values()))
    step = np.abs(rows).max() / STEPS
    np.savez_compressed(
        MODEL,
        readings=block(labels),
        features=block(kept),
        weights=np.rint(rows / step).astype(np.int8).T,
        step=step,
        words=block(f"{word} {' '.join(known[word])}" for word in sorted(known)),
        around=block(f"{one} {two}" for one, two in sorted(pairs(given, masked))),
        lexicon=block(sorted(set(lexicon()))),
    )
    size = MODEL.stat().st_size
    print(f"{len(given)} examples, {len(kept)} features, {len(labels)} labels, {size:,} bytes")


def block(lines: Iterable[str]) -> Bytes:
    """Lines as the bytes of one text, which take little room."""
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def pairs(given: Sequence[Example], masked: Sequence[Sequence[str]]) -> set[tuple[str, str]]:
    """Neighbouring words of questions about the graph."""
    found: set[tuple[str, str]] = set()
    for one, words in zip(given, masked, strict=True):
        if TEXTS not in one.labels:
            found.update(pairwise((FIRST, *words, LAST)))
    return found


def known_words(given: Sequence[Example]) -> dict[str, list[str]]:
    """The words and slots of questions about the graph, with the readings that have them."""
    found: dict[str, dict[str, None]] = {}
    for one in given:
        for word in one.words if TEXTS not in one.labels else ():
            found.setdefault(word, {}).update(dict.fromkeys(one.labels))
    return {word: list(labels) for word, labels in found.items()}


def masked_words(one: Example, known: Mapping[str, object]) -> list[str]:
    """An example as the reader sees it: without articles, what it does not know is a topic."""
    found: list[str] = []
    for word in one.words:
        seen = word if _SLOT.match(word) or word in known or word in SMALL else TOPIC
        if seen not in ARTICLES and not (seen == TOPIC and found[-1:] == [TOPIC]):
            found.append(seen)
    return found


# --- the file ---


def examples() -> list[Example]:
    """All questions that are learned from, the same every time."""
    found: dict[tuple[str, ...], Example] = {}
    for head, lines in headed():
        kind, *rest = head.split()
        labels = [
            TEXTS if one == "texts" else one for one in (rest[1:] if kind == FRAMES else rest)
        ]
        if kind in (*LEXICAL, *SILENT, THINGS):
            continue
        for line in lines:
            for text in wordings(line):
                one = example(text, line, tuple(labels if kind == FRAMES else [kind, *rest]))
                found.setdefault(one.words, one)
    return list(found.values())


def headed() -> Iterator[tuple[str, list[str]]]:
    """The headings of the file with their lines."""
    for part in re.split(r"^\[", EXAMPLES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *lines = part.splitlines()
        yield head.rstrip("]"), [line for line in lines if line and not line.startswith("#")]


def lexicon() -> Iterator[str]:
    """Each form of a verb, phrase or noun with its slot, its families, and whether it is turned."""
    for head, lines in headed():
        kind, *rest = head.split()
        for entry in ", ".join(lines).split(", ") if kind in (*SILENT, THINGS) else ():
            plain = " ".join(one.plain for one in tokens_of(entry))
            yield f"{plain}|{'{type}' if kind == THINGS else kind}|||"
        for entry in ", ".join(lines).split(", ") if kind in LEXICAL else ():
            for slot, words in forms(kind, entry).items():
                plain = " ".join(one.plain for one in tokens_of(words))
                last = entry.split()[-1] if slot in ("v", "vs", "bare") else ""
                yield f"{plain}|{{{slot}}}|{rest[0]}|{'turned' if rest[1:] else ''}|{last}"


def example(text: str, source: str, labels: tuple[str, ...]) -> Example:
    """A question in one wording."""
    words: list[str] = []
    for part in _SLOT.split(text):
        words += [part] if _SLOT.match(part) else [one.plain for one in tokens_of(part)]
    return Example(text=text, source=source, labels=labels, words=tuple(words))


def wordings(line: str) -> list[str]:
    """The line written out, so that each alternative stands in some wordings."""
    most = max((choice.count("|") + 1 for choice in CHOICE.findall(line)), default=1)
    number = min(MOST_WORDINGS, max(LEAST_WORDINGS, 2 * most)) if most > 1 else 1
    return list(dict.fromkeys(_varied(worded(line, at), line, at) for at in range(number)))


def _varied(text: str, line: str, at: int) -> str:
    """With other things in the slots now and then."""
    chance = random.Random(f"{line} {at}")
    if chance.random() < 0.1 and text.count("{name}") == 1 and "{type} {name}" not in text:
        # the name stands before the question
        lead, it = chance.choice(LEADS), chance.choice(("it", "it", "that", "they", "this"))
        text = f"{lead.format('{name}')} {text.replace('{name}', it)}"
    if chance.random() < 0.05 and "{other}" not in text:
        text = text.replace("{name}", "{names}")
    return text


def forms(sort: str, entry: str) -> dict[str, str]:
    """What the slots of frames stand for; what an entry does not have is left out."""
    first, _, rest = entry.partition(" ")
    base, _, other = first.partition("/")
    rest = f" {rest}" if rest else ""
    if sort == "phrases":
        *words, last = entry.split()
        said = (
            {"bare": " ".join(words)} if words and last in ("in", "by", "at", "to", "with") else {}
        )
        return {"P": entry, **said}
    if sort == "nouns":
        return {"N": base + rest, "Ns": (other or f"{_third(base)}") + rest}
    if base == "cannot":
        return {"V": entry, "Vs": entry}
    last = rest.split()[-1] if rest else ""
    found = {
        "V": base + rest,
        "Vs": ("has" if base == "have" else _third(base)) + rest,
        "Ved": (other or _past(base)) + rest,
        "Ving": _ing(base) + rest,
    }
    if last in PREPOSITIONS | {"of"}:
        bare = " ".join(rest.split()[:-1])
        found |= {"v": f"{base} {bare}".strip(), "vs": f"{_third(base)} {bare}".strip()}
    return found


def _third(word: str) -> str:
    if re.search(r"(s|sh|ch|x|z|o)$", word):
        return f"{word}es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", word) + "s"


def _past(word: str) -> str:
    if word.endswith("e"):
        return f"{word}d"
    return re.sub(r"(?<=[^aeiou])y$", "i", _doubled(word)) + "ed"


def _ing(word: str) -> str:
    return (word[:-1] if re.search(r"[^e]e$", word) else _doubled(word)) + "ing"


def _doubled(word: str) -> str:
    closed = re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word) or word in ("refer", "begin")
    return word + word[-1] if closed else word


# --- what it gives ---


def print_left_out(
    given: Sequence[Example],
    named: Sequence[Sequence[str]],
    labels: Sequence[str],
    wanted: Doubles,
    share: Doubles,
) -> None:
    """How the examples are read by what was learned from those of other lines and verbs."""
    sources = sorted({one.source for one in given})
    left = set(random.Random(1).sample(sources, len(sources) // LEFT_OUT))
    others = [at for at, one in enumerate(given) if one.source not in left]
    part = share[others]
    weights = ridge([named[at] for at in others], wanted[others], part / part.mean(), PENALTY)
    texts = labels.index(TEXTS)
    readings = [at for at, name in enumerate(labels) if name not in FLAGS]
    told = Counter[tuple[str, str]]()
    for one, names in zip(given, named, strict=True):
        if one.source not in left:
            continue
        rows = [weights[name] for name in names if name in weights]
        scores = np.array([*rows, np.zeros(len(labels))]).sum(axis=0) / np.sqrt(len(names) or 1)
        best = max(readings, key=lambda column: scores[column])
        sure = best != texts and scores[best] >= max(MIN_SCORE, scores[texts] + MIN_MARGIN)
        read = labels[best] if sure else TEXTS
        how = "right" if read in one.labels else "left" if read == TEXTS else "another"
        told["of the texts" if TEXTS in one.labels else "of the graph", how] += 1
    print(dict(told))


if __name__ == "__main__":
    main()
