"""What the check of a model's sentences marks and passes, on answers that a model wrote.

    python -m benchmarks.judge

``data/model_answers``: 37 answers with every sentence labelled. Measured are the true sentences in
trouble (partly supported, unsupported, uncited, a number that stands nowhere) and the false ones
that pass (supported or quoted): by what is known without a model and, where the environment names
one (``WELLREAD_GENERATION_MODEL``, ``WELLREAD_GENERATION_BASE_URL``), after it has judged.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.paths import eval_data
from benchmarks.record import save
from wellread.ask.verify.check_claims import check_claims, judge_sentences
from wellread.ask.write.parse_draft import parse_draft
from wellread.kb import KnowledgeBase, open_kb
from wellread.types import DocumentFacts, Filters, Hit, Locator, Passage, Span
from wellread.values.answers import Checked, Claim, Evidence
from wellread.values.question import Analysis

NO_QUESTION = Analysis(question="", type="factual", terms=(), names=(), filters=Filters())
ALONE = "without a model"
TROUBLE = ("partial", "unsupported", "uncited")


def main() -> None:
    """Check every answer, print, write ``results/judge.json``."""
    figures = check_all()
    for name, found in figures.items():
        print(name, json.dumps(found))
    save("judge", figures)


def check_all() -> dict[str, Any]:
    """The figures over all labelled answers."""
    text = eval_data("model_answers", "answers.jsonl").read_text(encoding="utf-8")
    answers = [json.loads(line) for line in text.splitlines()]
    with tempfile.TemporaryDirectory() as folder, open_kb(Path(folder)) as kb:
        return asyncio.run(measured(kb, answers))


async def measured(kb: KnowledgeBase, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures without a model and, where there is one, with it."""
    alone: list[tuple[bool, Checked]] = []
    after: list[tuple[bool, Checked]] = []
    failures: Counter[str] = Counter()
    for answer in answers:
        evidence = [_piece(piece) for piece in answer["evidence"]]
        claims, labels = _labelled(answer, evidence)
        items = check_claims(claims, evidence)
        alone += zip(labels, items, strict=True)
        asked = replace(NO_QUESTION, question=answer["question"])
        ruling = await judge_sentences(kb, asked, evidence, items)
        failures[ruling.failure] += bool(ruling.failure)
        after += zip(labels, ruling.checked, strict=True)
    figures: dict[str, Any] = {ALONE: figures_of(alone)}
    if name := kb.models.names().get("judge_model", kb.models.names().get("model", "")):
        figures |= {name: figures_of(after), "failures": dict(failures)}
    return figures


def figures_of(found: Sequence[tuple[bool, Checked]]) -> dict[str, Any]:
    """How many true sentences are in trouble, how many false ones pass, and all verdicts."""
    told = [(label, item.verdict) for label, item in found if not item.verdict.states_nothing]
    return {
        "true": sum(label for label, _ in told),
        "true in trouble": sum(label and one.name in TROUBLE for label, one in told),
        "false": sum(not label for label, _ in told),
        "false passed": sum(not label and one.name.whole for label, one in told),
        "verdicts of true": Counter(one.name.value for label, one in told if label),
        "verdicts of false": Counter(one.name.value for label, one in told if not label),
    }


def table(found: Mapping[str, Any]) -> list[str]:
    """The lines of the report."""
    rows = [(name, one) for name, one in found.items() if isinstance(one, dict) and "true" in one]
    return [
        "| by | true in trouble | false passed |",
        "|---|---|---|",
        *(
            f"| {name} | {one['true in trouble']} of {one['true']} "
            f"| {one['false passed']} of {one['false']} |"
            for name, one in rows
        ),
    ]


def _labelled(
    answer: Mapping[str, Any], evidence: Sequence[Evidence]
) -> tuple[list[Claim], list[bool]]:
    """The sentences of an answer as it was written, with their labels; those without one go."""
    told = [sentence["text"] for sentence in answer["sentences"]]
    keys = {piece.key for piece in evidence}
    reply = answer.get("reply") or "\n\n".join(told)
    labels = {
        claim.text: sentence["label"]
        for sentence, text in zip(answer["sentences"], told, strict=True)
        for claim in parse_draft(text, keys).claims
    }
    claims = [one for one in parse_draft(reply, keys).claims if one.text in labels]
    return claims, [labels[claim.text] for claim in claims]


def _piece(row: Mapping[str, Any]) -> Evidence:
    span = Span(start=0, end=len(row["text"]))
    day = row.get("date")
    facts = DocumentFacts(
        id=f"doc_{row['key']}",
        version="1",
        collection="",
        uri="",
        kind="page",
        title=row["title"],
        published_at=datetime.fromisoformat(day) if day else None,
    )
    passage = Passage(
        id=f"psg_{row['key']}", document_id=facts.id, version="1", span=span, text=row["text"]
    )
    speakers = str(row.get("speakers") or row.get("speaker") or "").split(", ")
    known = replace(passage, speakers=tuple(filter(None, speakers)))
    return Evidence(
        key=row["key"],
        hit=Hit(passage=known, document=facts, score=1.0),
        text=row["text"],
        span=span,
        locator=Locator(label=row.get("place", "")),
    )


if __name__ == "__main__":
    main()
