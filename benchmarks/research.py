"""Deep research against one search, without a language model.

    python -m benchmarks.research [--sets optech,hotpot,qmsum] [--step 1]

``optech``: "Tell me everything about X" for every topic of the index with at least eight mentions:
the share of the newsletters listed there that are cited, and the characters of text for each
newsletter that is. ``hotpot``: whether both supporting pages are among the first ten documents.
``qmsum``: the general questions of each development meeting, within that meeting: the share of its
topics of which a turn is cited, and of its gold turns that are. The set marks no turns for general
questions; gold are all turns that lie in a ``relevant_text_span`` of one of the meeting's specific
questions, and one is covered where a citation overlaps it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.homes import by_file_name, filled
from benchmarks.paths import eval_data
from benchmarks.record import save
from benchmarks.sets.items import HOTPOT
from benchmarks.sets.meetings import MENTIONS, QMSUM
from benchmarks.sets.reading import Record, read_lines
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.direct import expand_by_references
from wellread.ask.retrieve.search import search
from wellread.evaluation.scores import paired_difference
from wellread.kb import KnowledgeBase
from wellread.research.research import default_limits, last_report, research
from wellread.types import Filters, Span, SpeakerMark
from wellread.values.answers import Answer, Question
from wellread.values.reports import Report, ResearchRequest

LEAST_MENTIONS = 8
FIRST = 10  # documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One question both ways: what each reached (0-1), and what it took.

    Attributes:
        more: further measures of the same two answers, name to what each reached.
    """

    quick: float
    deep: float
    quick_seconds: float
    deep_seconds: float
    searches: int
    quick_text: float = 0.0
    deep_text: float = 0.0
    more: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def main() -> None:
    """Measure, print, write ``results/research.json``, of some sets ``research-SETS.json``."""
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
        save(
            "research" if figures.keys() == makers.keys() else f"research-{'-'.join(figures)}",
            figures,
        )


def summed(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Means, the difference with its interval, and medians of what it took."""
    return {
        "questions": len(pairs),
        **compared([(one.quick, one.deep) for one in pairs]),
        **{name: compared([one.more[name] for one in pairs]) for name in pairs[0].more},
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


def compared(reached: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The means of quick and deep, and the difference with its interval."""
    quick, deep = [one for one, _ in reached], [one for _, one in reached]
    return {
        "quick": round(mean(quick), 3),
        "deep": round(mean(deep), 3),
        "difference": str(paired_difference(deep, quick)),
    }


def both(kb: KnowledgeBase, text: str, filters: Filters) -> tuple[Answer, float, Report]:
    """The quick answer with its seconds, and the report."""
    question = Question(text=text, filters=filters, mode="quick", fresh=True, recorded=False)
    began = time.perf_counter()
    quick = asyncio.run(final(answer(kb, question)))
    seconds = time.perf_counter() - began
    request = ResearchRequest(question=question, limits=default_limits(kb))
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
            found = expand_by_references(kb, query.text, Filters(), hits)
            seconds = time.perf_counter() - began
            quick = list(dict.fromkeys(hit.document.id for hit in found))
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
    """The topics of a meeting that a turn is cited of, and its gold turns that are cited."""
    with filled(QMSUM.name, QMSUM.write) as kb:
        facts = by_file_name(kb)
        meetings = read_lines(eval_data("qmsum", "val.jsonl"))
        for number, meeting in list(enumerate(meetings))[::step]:
            fact = facts[f"meeting-{number:02}"]
            marks = kb.catalogue.marks([fact.id])[fact.id]
            turns = [mark for mark in marks if isinstance(mark, SpeakerMark)]
            gold = gold_turns(meeting)
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
                    more={
                        name: (measure(quick, turns, gold), measure(report.answer, turns, gold))
                        for name, measure in OF_TURNS.items()
                    },
                )


def gold_turns(meeting: Record) -> list[list[int]]:
    """The turns of each marked span of the meeting's specific questions, by number."""
    last_turn = len(meeting["meeting_transcripts"]) - 1
    return [
        list(range(int(first), min(int(last), last_turn) + 1))
        for asked in meeting["specific_query_list"]
        for first, last in asked["relevant_text_span"]
    ]


def covered(given: Answer, turns: Sequence[SpeakerMark], gold: Sequence[Sequence[int]]) -> float:
    """The share of the gold turns that are cited."""
    wanted = {turn for span in gold for turn in span}
    return len(wanted & _cited_turns(given, turns)) / len(wanted) if wanted else 0.0


def on_target(given: Answer, turns: Sequence[SpeakerMark], gold: Sequence[Sequence[int]]) -> float:
    """The share of the cited turns that are gold; 0 where none is cited."""
    cited = _cited_turns(given, turns)
    return len(cited & {turn for span in gold for turn in span}) / len(cited) if cited else 0.0


def touched(given: Answer, turns: Sequence[SpeakerMark], gold: Sequence[Sequence[int]]) -> float:
    """The share of the marked spans of which a turn is cited."""
    cited = _cited_turns(given, turns)
    return sum(bool(cited & set(span)) for span in gold) / len(gold) if gold else 0.0


def cited_turns(given: Answer, turns: Sequence[SpeakerMark], _: Sequence[Sequence[int]]) -> float:
    """How many turns are cited."""
    return float(len(_cited_turns(given, turns)))


def gold_share(_: Answer, turns: Sequence[SpeakerMark], gold: Sequence[Sequence[int]]) -> float:
    """The share of all turns that are gold: what citing at random would reach."""
    return len({turn for span in gold for turn in span}) / len(turns)


def _cited_turns(given: Answer, turns: Sequence[SpeakerMark]) -> set[int]:
    cited = [one.source_span for one in given.citations]
    spans = [Span(start=turn.start, end=turn.end) for turn in turns]
    return {place for place, span in enumerate(spans) if any(span.overlaps(one) for one in cited)}


OF_TURNS: dict[str, Callable[[Answer, Sequence[SpeakerMark], Sequence[Sequence[int]]], float]] = {
    "gold turns cited": covered,
    "cited turns that are gold": on_target,
    "gold spans of which a turn is cited": touched,
    "turns cited": cited_turns,
    "turns of the meeting that are gold": gold_share,
}


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
