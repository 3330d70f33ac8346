"""Answers a question in its mode: by one search, or by a research run for ``deep``.

Every interface asks through ``answer_in_mode``, so that ``deep`` means the same in all of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from anyio import to_thread

from wellread.ask.answer import Explain, answer
from wellread.ask.deliver.related import small_talk_reply
from wellread.ask.plan import analyse_alone
from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.values.answers import Event, FinalEvent, Question, SentenceEvent, Step, StepEvent
from wellread.values.reports import (
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchEvent,
    ResearchRequest,
)

OnReport = Callable[[Report], object]


async def with_mode_read(kb: KnowledgeBase, question: Question) -> Question:
    """Return ``question`` with the mode ``deep`` when it is ``auto`` and one search is too few."""
    if question.mode != "auto":
        return question
    analysis = await to_thread.run_sync(analyse_alone, kb, question)
    return replace(question, mode="deep") if analysis.mode == "deep" else question


async def answer_in_mode(
    kb: KnowledgeBase,
    question: Question,
    *,
    explain: Explain | None = None,
    on_report: OnReport | None = None,
) -> AsyncGenerator[Event]:
    """Answer ``question``, in the mode ``deep`` by research; the last event holds the answer.

    Args:
        explain: as for ``answer``; research does not call it.
        on_report: called with the report of the research.

    Raises:
        RequestError, UnknownNameError, FingerprintError, StoreError, ModelError: as ``answer``.
    """
    if question.mode == "deep" and small_talk_reply(question) is None:
        events = _research_events(kb, question, on_report)
    else:
        events = cast(AsyncGenerator[Event], answer(kb, question, explain=explain))
    async with aclosing(events):
        async for event in events:
            yield event


async def _research_events(
    kb: KnowledgeBase, question: Question, on_report: OnReport | None
) -> AsyncGenerator[Event]:
    """Yield a step for each search, and the sentences and the answer of the report.

    A run that is interrupted is deleted: whoever asked does not wait for it any more.
    """
    from wellread.research.research import begin, default_limits, research  # noqa: PLC0415 - slow

    request = ResearchRequest(question=question, limits=default_limits(kb))
    run_id, began, report = await begin(kb, request), time.perf_counter(), None
    events = cast(AsyncGenerator[ResearchEvent], research(kb, request, run_id=run_id))
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, ProgressEvent):
                    now = time.perf_counter()
                    step = Step(name=event.text, seconds=round(now - began, 4), found=event.found)
                    began = now
                    yield StepEvent(step=step)
                elif isinstance(event, ReportEvent):
                    report = event.report
    except (GeneratorExit, asyncio.CancelledError, KeyboardInterrupt):
        kb.catalogue.research.remove(run_id)
        raise
    if report is None:
        raise WellreadError(
            "the research ended without a report", hint="please report this as a bug"
        )
    if on_report is not None:
        on_report(report)
    for sentence in report.answer.sentences:
        yield SentenceEvent(sentence=sentence)
    yield FinalEvent(answer=report.answer)
