"""From a program's request to an answer or a report, with what is done on the way, in words."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import Request

from wellread.ask.answer import answer
from wellread.ask.deliver.related import to_no_question
from wellread.errors import WellreadError
from wellread.identity import random_id
from wellread.kb import KnowledgeBase
from wellread.research.research import research, usual_limits
from wellread.serve.features.asking.answer_bodies import answer_body
from wellread.serve.openai.answer_markdown import AnswerMarkdown, Shown, answer_markdown
from wellread.serve.openai.conversation_input import Conversation
from wellread.serve.openai.model_names import NamedModel
from wellread.types import EarlierTurn, Filters
from wellread.values.answers import Answer, FinalEvent, Question, SentenceEvent, Step, StepEvent
from wellread.values.reports import (
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchPlan,
    ResearchRequest,
)

T = TypeVar("T")
STEPS = {
    "cache": "answered before",
    "analysis": "read the question",
    "retrieval": "found {found} passages",
    "evidence": "chose {found} of them",
    "planning": "had a model read the question",
    "extracts": "quoted {found} places",
    "draft": "wrote {found} sentences",
    "verification": "checked {found} sentences",
    "citation": "cited {found} places",
}


class ClientGoneError(Exception):
    """Whoever asked has hung up; nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with how it was asked.

    Attributes:
        base: the address of this server, as the program calls it.
        kept: whether the answer may be kept when it has been given.
        ignored: fields and messages that were sent without effect.
    """

    question: Question
    model: NamedModel
    base: str
    kept: bool = True
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Something was done; in words, for a person."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The answer, as Markdown and as it is."""

    asked: Asked
    answer: Answer
    markdown: AnswerMarkdown
    report: Report | None = None


async def asked_of(
    kb: KnowledgeBase,
    request: Request,
    model: NamedModel,
    said: Conversation,
    *,
    store: bool | None,
) -> Asked:
    """What ``said`` asks. Goes on in the session of the last answer that is still known.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    kept = store is not False
    session = await to_thread.run_sync(_session_of, kb, said.history) if kept else ""
    question = Question(
        text=said.question,
        filters=Filters(collections=model.collections),
        mode="deep" if model.deep else "auto",
        session_id=session,
        history=said.history,
    )
    base = str(request.base_url).rstrip("/")
    return Asked(question=question, model=model, base=base, kept=kept, ignored=said.ignored)


async def delivering(kb: KnowledgeBase, asked: Asked) -> AsyncIterator[Progress | Delivered]:
    """What is done for the answer, then the answer; always the last, and there is one.

    An answer that may not be kept is removed again before it is given.

    Raises:
        RequestError: the question is empty or too long, or its collection is unknown.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    nothing = to_no_question(asked.question, programs=True)
    if nothing is not None:  # not even the marks of an answer stand beside it
        said = nothing.text
        text = AnswerMarkdown(text=said, markers=(), sentences=(), pieces=(said,))
        nothing = replace(nothing, id=random_id("ans"))
        yield Delivered(asked=replace(asked, kept=False), answer=nothing, markdown=text)
        return
    if asked.model.deep:
        wanted = ResearchRequest(question=asked.question, limits=usual_limits(kb))
        async for done in research(kb, wanted):
            if isinstance(done, ReportEvent):
                yield await _delivered(kb, asked, done.report.answer, done.report)
            else:
                yield Progress(text=_researched(done))
        return
    async for event in answer(kb, asked.question):
        if isinstance(event, FinalEvent):
            yield await _delivered(kb, asked, event.answer, None)
        elif isinstance(event, StepEvent):
            yield Progress(text=_done(event.step))
        elif isinstance(event, SentenceEvent):
            pass  # no sentence is sent before all of them are final


async def last_delivered(events: AsyncIterator[Progress | Delivered]) -> Delivered:
    """The answer at the end of ``events``."""
    async for event in events:
        if isinstance(event, Delivered):
            return event
    raise WellreadError("the answer ended without a result", hint="report this as a defect")


async def resumed(first: T, events: AsyncIterator[T]) -> AsyncIterator[T]:
    """``events`` from their ``first`` on, which was taken already."""
    yield first
    async for event in events:
        yield event


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """What ``work`` comes to; it is stopped when whoever asked hangs up.

    Raises:
        ClientGoneError: nobody waits any more.
    """
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGoneError
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.wait((working, gone))


def wellread_fields(done: Delivered) -> dict[str, Any]:
    """The answer with its proof: the fields of ``POST /api/ask`` in snake_case.

    Offsets of sentences are into the text that was sent, addresses are whole.
    """
    answer, base = done.answer, done.asked.base
    fields = answer_body(answer).model_dump(mode="json", by_alias=False)
    fields = {"answer_id": fields.pop("id"), **fields}
    del fields["answer"]  # the text that was sent
    spans = done.markdown.sentences
    for sentence, span in zip(fields["sentences"], spans, strict=True):
        sentence |= {"start": span.start, "end": span.end}
    for citation, known in zip(fields["citations"], answer.citations, strict=True):
        both = zip(answer.sentences, spans, strict=True)
        said = [span for one, span in both if one.span.overlaps(known.answer_span)]
        at = {"start": said[0].start, "end": said[-1].end} if said else None
        citation["answer_span"] = at
        citation["view_url"] = base + citation["view_url"]
    counts = Counter(one.verdict.name.value for one in answer.sentences)
    fields["verdicts"] = dict(counts)
    fields["research"] = _research_fields(done.report) if done.report else None
    fields["kept"] = done.asked.kept
    fields["ignored"] = list(done.asked.ignored)
    return fields


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _delivered(
    kb: KnowledgeBase, asked: Asked, answer: Answer, report: Report | None
) -> Delivered:
    if not asked.kept:
        await to_thread.run_sync(kb.catalogue.sessions.remove, answer.session_id, kb.asker.owner)
        if report is not None:
            await to_thread.run_sync(kb.catalogue.research.remove, report.id)
    shown = Shown(
        base=asked.base,
        kept=asked.kept,
        report=report is not None,
        warning=report.warning if report else "",
    )
    markdown = answer_markdown(answer, shown)
    return Delivered(asked=asked, answer=answer, markdown=markdown, report=report)


def _session_of(kb: KnowledgeBase, history: tuple[EarlierTurn, ...]) -> str:
    """The session in which the last of our answers was given; empty when none is known."""
    ids = [one.answer_id for one in history if one.answer_id]
    found = kb.catalogue.sessions.answer(ids[-1], kb.asker.owner) if ids else None
    return found[1].session_id if found else ""


def _done(step: Step) -> str:
    return STEPS.get(step.name, step.name).format(found=f"{step.found:,}")


def _researched(event: PlanEvent | ProgressEvent) -> str:
    return _planned(event.plan) if isinstance(event, PlanEvent) else event.text


def _planned(plan: ResearchPlan) -> str:
    facets = "; ".join(facet.title for facet in plan.facets)
    return f"looking for: {facets} ({plan.searches} searches at most)"


def _research_fields(report: Report) -> dict[str, Any]:
    return {
        "run_id": report.id,
        "stopped": report.stopped,
        "warning": report.warning,
        "rounds": report.rounds,
        "searches": report.searches,
        "seconds": round(report.seconds, 3),
        "facets": [{"id": one.id, "title": one.title} for one in report.plan.facets],
    }
