"""Files of records for a base of any size, written once, and questions whose answers are known.

A document has ten paragraphs of real shape (``material.py``), each a passage of its own. Of every
two hundred documents twenty are by one author, so that an author is as long a list at any size;
each kind, month and topic grows with the base.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np

from benchmarks.material import COLLECTIONS, DAYS, FIRST_DAY, Pattern, pattern_texts, shape_of, vary
from wellread.models.word_pieces import count_tokens

PASSAGES = 10  # of a document
RECORDS = 10  # documents of a file
BY_ONE = 20  # documents of an author
KINDS = ("article", "page", "paper", "transcript")
TOPICS = ("mining", "wallets", "channels", "privacy", "fees", "relay", "scripts", "custody")
SYLLABLES = ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu")
FIRST_NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hanna", "Ivo", "Jana")
SHORTEST, LONGEST = 110, 165  # tokens of a paragraph: one passage, however its words are drawn


def shape() -> Pattern:
    """The paragraphs and the frequencies of their words; nothing is embedded."""
    joined = (" ".join(text.split()) for text in pattern_texts())
    texts = tuple(text for text in joined if SHORTEST <= count_tokens(text) <= LONGEST)
    return shape_of(texts, np.zeros((0, 0), dtype=np.float32))


def author(number: int) -> str:
    """Whose document this is; a name stands for one person."""
    person = number // (10 * BY_ONE) * 10 + number % 10
    last = "".join(SYLLABLES[int(digit)] for digit in f"{person:04d}"[::-1])
    return f"{FIRST_NAMES[person % 10]} {last.capitalize()}"


def write(folder: Path, passages: int) -> None:
    """A folder for each collection, four documents of five in the first."""
    model, generator = shape(), np.random.default_rng(passages)
    for number in range(passages // PASSAGES // RECORDS):
        place = folder / COLLECTIONS[number % 5 == 4] / f"{number // 1000:03d}"
        place.mkdir(parents=True, exist_ok=True)
        lines = records(number * RECORDS, model, generator)
        (place / f"{number:06d}.jsonl").write_text("".join(lines), encoding="utf-8")


def records(first: int, model: Pattern, generator: np.random.Generator) -> Iterator[str]:
    """The lines of a file."""
    chosen = generator.integers(0, len(model.texts), RECORDS * PASSAGES)
    texts = vary([model.texts[each] for each in chosen], model, generator)
    for number in range(first, first + RECORDS):
        start = (number - first) * PASSAGES
        words = texts[start].split()[:3]
        record = {
            "url": f"https://site{number % 40}.example/{number}",
            "title": f"{' '.join(words)} {number}",
            "text": "\n\n".join(texts[start : start + PASSAGES]),
            "kind": KINDS[number % len(KINDS)],
            "authors": [author(number)],
            "published_at": (FIRST_DAY + timedelta(days=number % DAYS)).date().isoformat(),
            "topics": [TOPICS[number % len(TOPICS)]],
        }
        yield json.dumps(record) + "\n"


def revise(folder: Path, share: int, word: str) -> int:
    """Say something new in every record of one file of ``share``; how many records."""
    changed = 0
    for path in sorted(folder.rglob("*.jsonl"))[::share]:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for record in lines:
            record["text"] = f"{record['text'].partition(' (revised')[0]} (revised: {word})."
        text = "".join(json.dumps(record) + "\n" for record in lines)
        path.write_text(text, encoding="utf-8")
        changed += len(lines)
    return changed
