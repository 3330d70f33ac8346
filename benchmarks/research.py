"""Deep research against one search, without a language model.

    python -m benchmarks.research [--sets optech,hotpot,qmsum] [--step 1]

``optech``: "Tell me everything about X" for every topic of the index with at least eight mentions:
the share of the newsletters listed there that are cited, and the characters of text for each
newsletter that is. ``hotpot``: whether both supporting pages are among the first ten documents.
``qmsum``: the general question of each development meeting, within that meeting: the share of its
topics of which a turn is cited.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.homes import by_file_name, filled
from benchmarks.paths import eval_data
from benchmarks.record import save
from benchmarks.sets.items import HOTPOT
from benchmarks.sets.meetings import MENTIONS, QMSUM
from benchmarks.sets.reading import read_lines
from wellread.answers import Answer, Question
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.bridge import led_on
from wellread.ask.retrieve.search import search
from wellread.evaluation.bootstrap import paired_difference
from wellread.kb import KnowledgeBase
from wellread.reports import Report, ResearchRequest
from wellread.research.research import last_report, research, usual_limits
from wellread.types import Filters, Span, SpeakerMark

LEAST_MENTIONS = 8
FIRST = 10  # documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One question both ways: what each reached (0-1), and what it took."""

    quick: float
    deep: float
    quick_seconds: float
    deep_seconds: float
    searches: int
    quick_text: float = 0.0
    deep_text: float = 0.0


def main() -> None:
    """Measure, print, write ``results/research.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="optech,hotpot,qmsum")
    parser.add_argument("--step", type=int, default=1, help="every so many questions of each set")
    chosen = parser.parse_args()
    makers: dict[str, Callable[[int], Iterator[Pair]]] = {
        "optech": optech,
        "hotpot": hotpot,
        "qmsum": qmsum,
    }
    figures = {}
    for name in chosen.sets.split(","):
        figures[name] = summed(list(makers[name](chosen.step)))
        print(name, json.dumps(figures[name]), flush=True)
    if chosen.step == 1:
        save("research", figures)


def summed(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Means, the difference with its interval, and medians of what it took."""
    gain = paired_difference([one.deep for one in pairs], [one.quick for one in pairs])
    return {
        "questions": len(pairs),
        "quick": round(mean(one.quick for one in pairs), 3),
        "deep": round(mean(one.deep for one in pairs), 3),
        "difference": str(gain),
        "seconds quick, deep": [
            round(median(one.quick_seconds for one in pairs), 2),
            round(median(one.deep_seconds for one in pairs), 2),
        ],
        "searches": median(one.searches for one in pairs),
        "characters a source, quick, deep": [
            round(mean(one.quick_text for one in pairs)),
            round(mean(one.deep_text for one in pairs)),
        ],
    }


def both(kb: KnowledgeBase, text: str, filters: Filters) -> tuple[Answer, float, Report]:
    """The quick answer with its seconds, and the report."""
    question = Question(text=text, filters=filters, mode="quick", fresh=True, recorded=False)
    began = time.perf_counter()
    quick = asyncio.run(final(answer(kb, question)))
    seconds = time.perf_counter() - began
    request = ResearchRequest(question=question, limits=usual_limits(kb))
    return quick, seconds, asyncio.run(last_report(research(kb, request)))


# --- everything about a topic --------------------------------------------------------------------


def optech(step: int) -> Iterator[Pair]:
    """The topics of the index, each in its own words."""
    gold: dict[str, set[str]] = defaultdict(set)
    with filled(MENTIONS.name, MENTIONS.write) as kb:
        facts = by_file_name(kb)
        for row in read_lines(eval_data("bitcoin_optech", "derived", "mentions.jsonl")):
            gold[row["topic"]].add(facts[Path(row["doc"]).stem].id)
        topics = sorted(name for name, held in gold.items() if len(held) >= LEAST_MENTIONS)
        for name in topics[::step]:
            quick, seconds, report = both(kb, f"Tell me everything about {_title(name)}", Filters())
            yield Pair(
                quick=_recall(quick, gold[name]),
                deep=_recall(report.answer, gold[name]),
                quick_seconds=seconds,
                deep_seconds=report.seconds,
                searches=report.searches,
                quick_text=_characters(quick),
                deep_text=_characters(report.answer),
            )


def _title(topic: str) -> str:
    page = eval_data("bitcoin_optech", "_topics", "en", f"{topic}.md").read_text(encoding="utf-8")
    found = re.search(r"^title: *(.*)$", page, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the topic {topic} has no title")
    return found.group(1).strip("'\" ")


def _recall(given: Answer, gold: set[str]) -> float:
    return len({one.document_id for one in given.citations} & gold) / len(gold)


def _characters(given: Answer) -> float:
    """Of sentences, for each document that is cited."""
    sources = len({one.document_id for one in given.citations})
    return sum(len(one.text) for one in given.sentences) / max(1, sources)


# --- two hops ------------------------------------------------------------------------------------


def hotpot(step: int) -> Iterator[Pair]:
    """Both pages among the first ten: those a question is answered from, those a report read."""
    with filled(HOTPOT.name, HOTPOT.write) as kb:
        for query in HOTPOT.queries(kb)[::step]:
            began = time.perf_counter()
            hits = search(kb, query.text, Filters(), limit=100)
            found = led_on(kb, query.text, Filters(), hits)
            seconds = time.perf_counter() - began
            quick = list(dict.fromkeys(hit.document.id for hit in found.hits))
            *_, report = both(kb, query.text, Filters())
            deep = [one.id for one in report.documents]
            yield Pair(
                quick=float(set(quick[:FIRST]) >= query.grades.keys()),
                deep=float(set(deep[:FIRST]) >= query.grades.keys()),
                quick_seconds=seconds,
                deep_seconds=report.seconds,
                searches=report.searches,
            )


# --- a meeting as a whole ------------------------------------------------------------------------


def qmsum(step: int) -> Iterator[Pair]:
    """The topics of a meeting that a turn is cited of."""
    with filled(QMSUM.name, QMSUM.write) as kb:
        facts = by_file_name(kb)
        meetings = read_lines(eval_data("qmsum", "val.jsonl"))
        for number, meeting in list(enumerate(meetings))[::step]:
            fact = facts[f"meeting-{number:02}"]
            marks = kb.catalogue.marks([fact.id])[fact.id]
            turns = [mark for mark in marks if isinstance(mark, SpeakerMark)]
            topics = [
                [_span(turns, first, last) for first, last in topic["relevant_text_span"]]
                for topic in meeting["topic_list"]
            ]
            limits = Filters(document_ids=(fact.id,))
            for asked in meeting["general_query_list"]:
                quick, seconds, report = both(kb, asked["query"], limits)
                yield Pair(
                    quick=_reached(quick, topics),
                    deep=_reached(report.answer, topics),
                    quick_seconds=seconds,
                    deep_seconds=report.seconds,
                    searches=report.searches,
                    quick_text=float(sum(len(one.text) for one in quick.sentences)),
                    deep_text=float(sum(len(one.text) for one in report.answer.sentences)),
                )


def _span(turns: Sequence[SpeakerMark], first: str, last: str) -> Span:
    end = turns[min(int(last), len(turns) - 1)].end  # the set's last index may lie behind the last
    return Span(start=turns[int(first)].start, end=end)


def _reached(given: Answer, topics: Sequence[Sequence[Span]]) -> float:
    """The share of turns' topics that a citation lies in."""
    cited = [one.source_span for one in given.citations]
    held = [any(span.overlaps(one) for span in topic for one in cited) for topic in topics]
    return sum(held) / len(held) if held else 0.0


if __name__ == "__main__":
    main()
