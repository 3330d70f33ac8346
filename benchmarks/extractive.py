"""Answers of the built-in extractive answerer: do they hold the gold, and when are they declined.

    python -m benchmarks.extractive --sets sample --show-failures
    python -m benchmarks.extractive --sets sample,xquad,clapnq,covid --limit 300

Every question goes through ``ask.answer``, as a user's would. Figures go to ``results/``; one row
per question to ``.cache/cases/``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.homes import filled
from benchmarks.paths import CACHE
from benchmarks.record import save
from benchmarks.sets.asked import Asked, AskedSet
from benchmarks.sets.far_worded import FAR_WORDED, SHELF
from benchmarks.sets.reading import CLAPNQ, COVID, XQUAD
from benchmarks.sets.sample import SAMPLE_SET
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.direct import direct
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.evaluation.scores import bootstrap, percentile
from wellread.kb import KnowledgeBase
from wellread.values.answers import Answer, Citation, Question

SETS: dict[str, AskedSet] = {
    each.name: each for each in (SAMPLE_SET, XQUAD, CLAPNQ, COVID, FAR_WORDED, SHELF)
}
SEED = 7
NOBODY = "none"
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with what came out.

    Attributes:
        holds_gold: a delivered sentence overlaps a gold span, or the text has a gold phrase.
        leads_with_gold: a sentence of the first extract does.
        cited_right: of the citations, how many lie inside a gold passage.
        gold_cited: share of the gold spans that a citation overlaps.
        gold_rank: place of the first retrieved passage that overlaps gold (from 1; 0: none).
    """

    id: str
    group: str
    kind: str
    question: str
    declined: bool
    holds_gold: bool
    leads_with_gold: bool
    citations: int
    cited_right: int
    gold_cited: float
    gold_rank: int
    confidence: float
    seconds: float
    verdicts: list[str]
    text: str


def main() -> None:
    """Measure the named sets, print tables, write one result file per set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="sample", help=f"of {','.join(SETS)}; with commas")
    parser.add_argument("--limit", type=int, default=0, help="questions per group; 0: all")
    parser.add_argument("--show-failures", action="store_true", help="print each one that failed")
    parser.add_argument("--reader", choices=("trained", "lexical"), default="trained")
    options = parser.parse_args()
    overrides = {"reader": {"answers": options.reader}, "cache": {"answers": False}}
    for name in options.sets.split(","):
        if name not in SETS:
            parser.error(f"no set {name!r}; there are {', '.join(SETS)}")
    for name in options.sets.split(","):
        chosen = SETS[name]
        with filled(name, chosen.write, overrides) as kb:
            cases = run(kb, sample(chosen.questions(kb), options.limit))
        figures = summary(cases)
        found = {"set": name, "about": chosen.about, "questions": len(cases), "figures": figures}
        save(f"answers-{name}{'-lexical' if options.reader == 'lexical' else ''}", found)
        path = keep(name, cases)
        print("\n".join(table(found)))
        if options.show_failures:
            show_failures(cases)
        print(f"per question: {path}")


def keep(name: str, cases: Sequence[Case]) -> Path:
    """Write one row per question, into the cache."""
    path = CACHE / "cases" / f"answers-{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(case) for case in cases]
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def sample(asked: Sequence[Asked], limit: int) -> list[Asked]:
    """At most ``limit`` questions of each group, drawn with a fixed seed, in their order."""
    if not limit:
        return list(asked)
    kept: list[Asked] = []
    for group in dict.fromkeys(one.group for one in asked):
        members = [one for one in asked if one.group == group]
        drawn = random.Random(SEED).sample(range(len(members)), min(limit, len(members)))
        kept += [members[place] for place in sorted(drawn)]
    return kept


def run(kb: KnowledgeBase, asked: Sequence[Asked]) -> list[Case]:
    """Ask every question."""
    return asyncio.run(_run(kb, asked))


async def _run(kb: KnowledgeBase, asked: Sequence[Asked]) -> list[Case]:
    # The first question opens the model and the stores; its time is nobody's figure.
    await final(answer(kb, Question(text="warm up")))
    cases = []
    for one in asked:
        started = time.perf_counter()
        asking = Question(text=one.text, filters=one.filters, fresh=True)
        given = await final(answer(kb, asking))
        cases.append(_case(kb, one, given, time.perf_counter() - started))
    return cases


def _case(kb: KnowledgeBase, one: Asked, given: Answer, seconds: float) -> Case:
    declined = given.answered_by == NOBODY
    cited = () if declined else given.citations  # a refusal shows the nearest passages
    return Case(
        id=one.id,
        group=one.group,
        kind=one.kind,
        question=one.text,
        declined=declined,
        holds_gold=not declined and holds_gold(given, one),
        leads_with_gold=not declined and holds_gold(_first(given), one),
        citations=len(cited),
        cited_right=sum(_on_gold(citation, one, exact=False) for citation in cited),
        gold_cited=0.0 if declined else _gold_cited(given, one),
        gold_rank=_gold_rank(kb, one),
        confidence=given.confidence.score,
        seconds=round(seconds, 4),
        verdicts=[] if declined else [each.verdict.name for each in given.sentences],
        text=given.text,
    )


def _first(given: Answer) -> Answer:
    """The answer with what its first citation stands behind alone."""
    told = [one for one in given.sentences if one.citations[:1] == given.sentences[0].citations[:1]]
    return replace(given, sentences=tuple(told), text=" ".join(one.text for one in told))


def holds_gold(given: Answer, one: Asked) -> bool:
    """Whether a sentence that is given overlaps a gold answer, or the text has a gold phrase."""
    documents = {citation.id: citation.document_id for citation in given.citations}
    told = (
        (documents[known], sentence.verdict.source)
        for sentence in given.sentences
        for known in sentence.citations
        if known in documents
    )
    shown = any(
        source is not None and known == gold.document_id and source.overlaps(gold.span)
        for known, source in told
        for gold in one.gold
    )
    return shown or _says(given.text, one.phrases)


def _on_gold(citation: Citation, one: Asked, *, exact: bool) -> bool:
    """Whether the cited span overlaps a gold answer (``exact``) or the passage around one."""
    return any(
        citation.document_id == gold.document_id
        and citation.source_span.overlaps(gold.span if exact else gold.within)
        for gold in one.gold
    )


def _gold_cited(given: Answer, one: Asked) -> float:
    """The share of the gold spans that a citation overlaps."""
    found = [
        any(
            citation.document_id == gold.document_id and citation.source_span.overlaps(gold.span)
            for citation in given.citations
        )
        for gold in one.gold
    ]
    return sum(found) / len(found) if found else 0.0


def _says(text: str, phrases: Sequence[str]) -> bool:
    plain = _plain(text)
    return any(f" {_plain(phrase).strip()} " in plain for phrase in phrases)


def _plain(text: str) -> str:
    """Lower case words between single spaces (the normalisation of SQuAD without articles)."""
    return " ".join(["", *_WORD.findall(text.lower()), ""])


def _gold_rank(kb: KnowledgeBase, one: Asked) -> int:
    if not one.gold:
        return 0
    known = vocabulary_of(kb)
    hits = direct(
        kb, analyse(Question(text=one.text, filters=one.filters), known, date.today())
    ).hits
    for rank, found in enumerate(hits, 1):
        for gold in one.gold:
            passage = found.passage
            if passage.document_id == gold.document_id and passage.span.overlaps(gold.span):
                return rank
    return 0


# --- figures ---------------------------------------------------------------------------------


def summary(cases: Sequence[Case]) -> dict[str, Any]:
    """Shares with intervals: over all answerable ones, over the answered ones, and declined."""
    answerable = [case for case in cases if case.group == "answerable"]
    answered = [case for case in answerable if not case.declined]
    cited = [case.cited_right / case.citations for case in answered if case.citations]
    return {
        "answerable": {
            "gold retrieved": asdict(bootstrap([float(case.gold_rank > 0) for case in answerable])),
            "answer holds gold": asdict(bootstrap([float(c.holds_gold) for c in answerable])),
            "first citation is gold": asdict(
                bootstrap([float(case.leads_with_gold) for case in answerable])
            ),
            "citation precision": asdict(bootstrap(cited)),
            "citation recall": asdict(bootstrap([case.gold_cited for case in answered])),
            "words": asdict(bootstrap([float(len(case.text.split())) for case in answered])),
            "sentences": asdict(bootstrap([float(len(case.verdicts)) for case in answered])),
        },
        "declined": {
            group: asdict(bootstrap([float(c.declined) for c in cases if c.group == group]))
            for group in dict.fromkeys(case.group for case in cases)
        },
        "by kind": {
            kind: asdict(bootstrap([float(c.holds_gold) for c in answerable if c.kind == kind]))
            for kind in dict.fromkeys(case.kind for case in answerable)
            if kind
        },
        "seconds": {
            "p50": percentile([case.seconds for case in cases], 0.5),
            "p95": percentile([case.seconds for case in cases], 0.95),
        },
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures of one set as a Markdown table."""
    found = figures["figures"]
    lines = [
        f"**{figures['about']}** ({figures['questions']:,} asked)",
        "",
        "| figure | value | n |",
        "|---|---|---|",
    ]
    for part, names in found.items():
        if part == "seconds":
            continue
        for name, row in names.items():
            label = name if part == "answerable" else f"{part}: {name}"
            interval = f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
            lines.append(f"| {label} | {interval} | {row['n']} |")
    seconds = found["seconds"]
    return [*lines, "", f"Seconds: p50 {seconds['p50']:.2f}, p95 {seconds['p95']:.2f}.", ""]


def show_failures(cases: Sequence[Case]) -> None:
    """Print every question that was answered wrongly, declined wrongly, or should have been."""
    for case in cases:
        wrong = _failure(case)
        if wrong:
            print(f"\n- [{case.id}] {wrong}: {case.question}")
            print(f"  gold at rank {case.gold_rank}, confidence {case.confidence}")
            print(f"  {' '.join(case.text.split())[:400]}")


def _failure(case: Case) -> str:
    if case.group != "answerable":
        return "" if case.declined else f"answered though {case.group}"
    if case.declined:
        return "declined"
    return "" if case.holds_gold else "without the gold"


if __name__ == "__main__":
    main()
