"""RAMDocs (dev): ambiguous names, noise and misinformation, each question with its own documents.

Every question has a collection of its own in one home, so that its documents are the material.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.homes import Item, open_home, write_items
from benchmarks.paths import CACHE, eval_data
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase

_FILE = ("ramdocs", "ramdocs_dev.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOfSeveral:
    """A question with every answer that its documents give.

    Attributes:
        collection: where its documents are.
        valid: the right answers: more than one when the name in the question is ambiguous.
        wrong: what a misinforming document says instead.
    """

    id: str
    text: str
    collection: str
    valid: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def disputed(self) -> bool:
        """Whether the documents give more than one answer."""
        return len(self.valid) + len(self.wrong) > 1


def asked() -> Iterator[AskedOfSeveral]:
    """The questions in the order of the file."""
    lines = eval_data(*_FILE).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        row = json.loads(line)
        yield AskedOfSeveral(
            id=f"ramdocs-{number:03}",
            text=row["question"],
            collection=f"q{number:03}",
            valid=tuple(row["gold_answers"]),
            wrong=tuple(row["wrong_answers"]),
        )


def home(overrides: Mapping[str, Mapping[str, Any]] | None = None) -> KnowledgeBase:
    """The home with one collection per question; filled where that was not done yet.

    Raises:
        SystemExit: a document could not be read.
    """
    kb = open_home("ramdocs", overrides)
    sources = CACHE / "sources" / "ramdocs"
    sources.mkdir(parents=True, exist_ok=True)
    held = kb.catalogue.collection_names()
    lines = eval_data(*_FILE).read_text(encoding="utf-8").splitlines()
    for one, line in zip(asked(), lines, strict=True):
        if one.collection not in held:
            _fill(kb, sources / f"{one.collection}.jsonl", one, json.loads(line)["documents"])
    return kb


def _fill(
    kb: KnowledgeBase, path: Path, one: AskedOfSeveral, documents: list[dict[str, str]]
) -> None:
    # The same text stands there twice for some questions; it is one document.
    texts = dict.fromkeys(each["text"].strip() for each in documents)
    items = [
        Item(key=f"{one.id}-{number}", text=text) for number, text in enumerate(texts, 1) if text
    ]
    write_items(path, "ramdocs", items)
    report = add(kb, [str(path)], collection=one.collection)
    bad = [row.reason for row in report.rows if row.status == "failed"]
    if bad:
        raise SystemExit(f"{one.id}: {len(bad)} documents were not taken in: {bad[0]}")
