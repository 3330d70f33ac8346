"""Puts cases to a knowledge base through the real analysis, retrieval and answer, one by one."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from itertools import zip_longest
from typing import Unpack

import anyio
from anyio import to_thread

from wellread.answers import Answer, Question
from wellread.ask.aggregate.queries.result import AggregateResult
from wellread.ask.answer import answer, final
from wellread.ask.plan import find
from wellread.ask.retrieve.retrieval import Found
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import LONGEST_QUESTION, analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.config import CacheSettings
from wellread.errors import WellreadError
from wellread.evaluation.cases import Case
from wellread.evaluation.scores import Run, Scored, score
from wellread.evaluation.targets import Resolver
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.learning.gap_records import Filing
from wellread.types import Filters

DEPTHS = (5, 10)
TOTAL = "total"

OnCase = Callable[[int], None]


def evaluate(
    kb: KnowledgeBase,
    cases: Sequence[Case],
    *,
    depths: Sequence[int] = DEPTHS,
    retrieval_only: bool = False,
    on_case: OnCase = lambda _done: None,
) -> list[Scored]:
    """Run every case and score it; ``on_case`` is told how many are done.

    A case that raises is scored as one without a result, with the reason. Answers and gaps of
    evaluation are not recorded in the home.

    Raises:
        WellreadError: the home cannot be searched at all.
    """
    resolver = Resolver(kb)
    wanted = [resolver.targets(case) for case in cases]
    search(kb, "warm up", Filters(), limit=1)  # opens model and stores: no case's time
    scored = []

    async def run_all() -> None:
        for done, (case, targets) in enumerate(zip(cases, wanted, strict=True), 1):
            run = await _run(kb, case, retrieval_only=retrieval_only)
            scored.append(score(case, targets, run, depths, retrieval_only=retrieval_only))
            on_case(done)

    with unrecorded(kb):
        anyio.run(run_all)
    return scored


def question_of(case: Case) -> Question:
    """The case as it is asked.

    Of several turns the last comes first and the earliest go when they are too long together:
    what is cut off must not be the question itself.
    """
    turns = [turn.strip() for turn in reversed(case.turns)]
    while len(turns) > 1 and len("\n".join(turns)) > LONGEST_QUESTION:
        turns.pop()
    return Question(text="\n".join(turns), filters=case.filters, mode=case.mode, fresh=True)


def in_collections(cases: Sequence[Case], collections: Sequence[str]) -> list[Case]:
    """The same cases, asked of these collections and not of those that they name themselves."""
    return [
        replace(case, filters=replace(case.filters, collections=tuple(collections)))
        for case in cases
    ]


@contextmanager
def unrecorded(kb: KnowledgeBase) -> Iterator[None]:
    """Inside, ``kb`` keeps neither answers nor gaps: nobody asked these questions."""
    kept, settings = kb.catalogue, kb.settings
    silent = _Silent.open(kb.place.where)
    kb.catalogue = silent
    kb.settings = settings.model_copy(update={"cache": CacheSettings(answers=False)})
    try:
        yield
    finally:
        kb.catalogue, kb.settings = kept, settings
        silent.close()


class _Silent(Catalogue):
    def record_answer(self, answer: Answer, read: Iterable[str] = ()) -> None:
        """Keep nothing."""

    def record_gap(self, _question: str, _reason: str, **_known: Unpack[Filing]) -> int:
        """Keep nothing."""
        return 0


async def _run(kb: KnowledgeBase, case: Case, *, retrieval_only: bool) -> Run:
    asked = question_of(case)
    try:
        if retrieval_only:
            return await to_thread.run_sync(_retrieve, kb, asked)
        return await _answer(kb, asked)
    except WellreadError as error:
        return Run(failed=str(error))


async def _answer(kb: KnowledgeBase, asked: Question) -> Run:
    seen: list[tuple[Analysis, Found]] = []
    started = time.perf_counter()
    given = await final(
        answer(kb, asked, explain=lambda analysis, found: seen.append((analysis, found)))
    )
    total = time.perf_counter() - started
    seconds: defaultdict[str, float] = defaultdict(float)
    for step in given.steps:
        seconds[step.name] += step.seconds
    found = together([each for _, each in seen])
    return Run(found=found, type=seen[0][0].type, answer=given, seconds={**seconds, TOTAL: total})


def together(parts: Sequence[Found]) -> Found:
    """What was found for each of the questions in one, the best of each first.

    A result of the catalogue stays one, so that its list counts.
    """
    if len(parts) == 1:
        return parts[0]
    ranks = zip_longest(*(part.hits for part in parts))
    hits = tuple(hit for rank in ranks for hit in rank if hit is not None)
    listing = next((part for part in parts if isinstance(part, AggregateResult)), parts[0])
    return replace(listing, hits=hits)


def _retrieve(kb: KnowledgeBase, asked: Question) -> Run:
    started = time.perf_counter()
    vocabulary = vocabulary_of(kb, asked.filters.collections)
    analysis = analyse(asked, vocabulary, date.today(), kb.embedder)
    analysed = time.perf_counter()
    found = find(kb, analysis)
    ended = time.perf_counter()
    return Run(
        found=found,
        type=analysis.type,
        seconds={
            "analysis": analysed - started,
            "retrieval": ended - analysed,
            TOTAL: ended - started,
        },
    )
