"""The sample base that ships with Wellread, with ``tests/sample_questions.jsonl``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.homes import documents, find_quote, text_of
from benchmarks.paths import SAMPLE, SAMPLE_QUESTIONS
from benchmarks.sets.asked import Asked, AskedSet, Gold, missing_gold, whole
from wellread.kb import KnowledgeBase

FOLDERS = ("commons", "news", "pages", "papers", "transcripts")


def _write(folder: Path) -> None:
    for name in FOLDERS:
        shutil.copytree(SAMPLE / name, folder / name)


def _questions(kb: KnowledgeBase) -> Sequence[Asked]:
    stored = [(fact, text_of(kb, fact)) for fact in documents(kb)]
    asked: list[Asked] = []
    missing: list[str] = []
    lines = SAMPLE_QUESTIONS.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        row = json.loads(line)
        gold: list[Gold] = []
        if row["answerable"]:
            for fact, text in stored:
                if not any(one.endswith(row["uri_suffix"]) for one in (fact.uri, fact.url)):
                    continue
                span = find_quote(text, row["quote"])
                if span:
                    gold.append(Gold(document_id=fact.id, span=span, within=whole(len(text))))
            if not gold:
                missing.append(f"{row['uri_suffix']}: {row['quote']}")
        asked.append(
            Asked(
                id=f"sample-{number:02}",
                text=row["question"],
                group="answerable" if row["answerable"] else row["kind"],
                kind=row["kind"] if row["answerable"] else "",
                gold=tuple(gold),
            )
        )
    missing_gold("sample", missing)
    return asked


SAMPLE_SET = AskedSet(
    name="sample",
    about="the shipped sample base: 40 answerable, 20 off-topic, 6 near-miss questions",
    write=_write,
    questions=_questions,
)
