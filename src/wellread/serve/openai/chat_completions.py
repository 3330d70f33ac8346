"""``/v1/models`` and ``/v1/chat/completions``: what programs for OpenAI's models speak.

Nothing is streamed that a check could still change: the text is sent when all of its sentences
have their verdicts. Until then the stream holds what is being done (``docs/decisions/042``). Work
for a client that has gone is stopped by the guard of work (``work_limits``).
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.answer import answer
from wellread.ask.deliver.related import to_no_question
from wellread.errors import WellreadError
from wellread.identity import random_id, tagged_hash
from wellread.kb import KnowledgeBase
from wellread.research.research import research, usual_limits
from wellread.serve.error_shapes import INTERNAL, openai_error, problem_of
from wellread.serve.features.answering import answer_body
from wellread.serve.features.feature import may_ask
from wellread.serve.guards.route_rules import Kb
from wellread.serve.openai.answer_markdown import (
    AnswerMarkdown,
    Shown,
    address,
    answer_markdown,
    sources_in_order,
)
from wellread.serve.openai.conversation_input import (
    CompletionRequest,
    Conversation,
    NamedModel,
    chat_conversation,
    model_names,
    named_model,
)
from wellread.serve.views import PLAIN
from wellread.text.words import harmless
from wellread.types import EarlierTurn, Filters
from wellread.values.answers import (
    Answer,
    FinalEvent,
    Question,
    SentenceEvent,
    Step,
    StepEvent,
    Usage,
)
from wellread.values.reports import (
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchPlan,
    ResearchRequest,
)

T = TypeVar("T")
router = APIRouter()
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


def wellread_fields(done: Delivered) -> dict[str, Any]:
    """The answer with its proof: the fields of ``POST /api/ask`` in snake_case.

    Offsets of sentences are into the text that was sent, addresses are whole.
    """
    answer, base = done.answer, done.asked.base
    fields = PLAIN.json(answer_body(answer))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What every chunk of one completion says."""

    id: str
    created: int
    model: str

    def chunk(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """A chunk of the completion."""
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }

    def delta(
        self, delta: dict[str, Any], finish: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """A chunk with the next part of the message."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self.chunk([choice], **more)


def completion_body(done: Delivered, heading: Heading) -> dict[str, Any]:
    """The whole completion, with citations and proof beside it."""
    message = {
        "role": "assistant",
        "content": done.markdown.text,
        "refusal": None,
        "annotations": annotations_of(done.markdown),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    whole = heading.chunk([choice], usage=usage_body(done.answer.usage), **_proof(done))
    return whole | {"object": "chat.completion"}


def completion_chunks(
    done: Delivered, heading: Heading, *, usage: bool
) -> Iterator[dict[str, Any]]:
    """The chunks of a completion after the first: its text, then its proof, then its usage."""
    for piece in done.markdown.pieces:
        yield heading.delta({"content": piece})
    marked = annotations_of(done.markdown)
    yield heading.delta({"annotations": marked} if marked else {}, "stop", **_proof(done))
    if usage:
        yield heading.chunk([], usage=usage_body(done.answer.usage))


def annotations_of(markdown: AnswerMarkdown) -> list[dict[str, Any]]:
    """One annotation for each marker: where it stands, in characters, and what it links to."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": marker.span.start,
                "end_index": marker.span.end,
                "url": marker.url,
                "title": harmless(marker.citation.title or marker.citation.url),
            },
        }
        for marker in markdown.markers
    ]


def _proof(done: Delivered) -> dict[str, Any]:
    """What each citation quotes, by number, as Perplexity has it, and the fields of our own."""
    cited = sources_in_order(done.answer)
    urls = [address(citation, done.asked.base) for citation in cited]
    results = [
        {
            "title": harmless(citation.title or citation.url),
            "url": url,
            "date": f"{citation.published_at:%Y-%m-%d}" if citation.published_at else None,
            "snippet": harmless(citation.quote),
        }
        for citation, url in zip(cited, urls, strict=True)
    ]
    return {"citations": urls, "search_results": results, "wellread": wellread_fields(done)}


def usage_body(usage: Usage) -> dict[str, int]:
    """What language models read and wrote; nothing where none wrote."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _model(name: str) -> dict[str, Any]:
    """A model. ``created`` says nothing here: the material is as it is when it is asked."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "wellread"}


@router.get("/v1/models")
def models(kb: Kb) -> dict[str, Any]:
    """What can be asked: all material or one collection, with an answer or a report."""
    return {"object": "list", "data": [_model(harmless(name)) for name in model_names(kb)]}


@router.get("/v1/models/{name:path}")
def model(kb: Kb, name: str) -> dict[str, Any]:
    """One of them."""
    return _model(harmless(named_model(kb, name).name))


logger = logging.getLogger(__name__)

LINE = "\n"  # as OpenAI ends the lines of a stream


@router.post("/v1/chat/completions", response_model=None, dependencies=[Depends(may_ask)])
async def chat_completions(
    kb: Kb, http: Request, request: CompletionRequest
) -> Response | dict[str, Any]:
    """Answer the last message of the user after the turns before it, with citations and proof."""
    said = chat_conversation(request)
    model = await to_thread.run_sync(named_model, kb, request.model)
    asked = await asked_of(kb, http, model, said, store=request.store)
    now = time.time()
    heading = Heading(
        id=tagged_hash("chatcmpl", asked.question.text, str(now), str(time.perf_counter_ns())),
        created=int(now),
        model=model.name,
    )
    events = delivering(kb, asked)
    if not request.stream:
        return completion_body(await last_delivered(events), heading)
    # The first event comes before the response starts: what is wrong with the question
    # itself still ends in an HTTP status.
    first = await anext(events)
    options = request.stream_options
    chunks = _stream(
        resumed(first, events),
        heading,
        told=model.deep or kb.model is not None,
        usage=bool(options and options.include_usage),
    )
    return EventSourceResponse(chunks, sep=LINE)


async def _stream(
    events: AsyncIterator[Progress | Delivered], heading: Heading, *, told: bool, usage: bool
) -> AsyncIterator[ServerSentEvent]:
    """The chunks as server-sent events; an error on the way is the last of them.

    Args:
        told: whether progress is sent as reasoning, which is worth it where it takes a while.
        usage: whether a last chunk has the tokens.
    """
    try:
        yield _sent(heading.delta({"role": "assistant", "content": ""}))
        async for event in events:
            if isinstance(event, Delivered):
                for chunk in completion_chunks(event, heading, usage=usage):
                    yield _sent(chunk)
            elif told:
                yield _sent(heading.delta({"reasoning_content": f"{event.text}\n"}))
        yield ServerSentEvent(data="[DONE]", sep=LINE)
    except WellreadError as error:
        yield _sent(openai_error(problem_of(error)))
    except Exception:
        # The status has gone out already, so the client is told in the stream.
        logger.exception("answering failed in the middle of a stream")
        yield _sent(openai_error(INTERNAL))


def _sent(chunk: Mapping[str, Any]) -> ServerSentEvent:
    # Letters outside of ASCII are escaped: some clients break lines at U+2028.
    return ServerSentEvent(data=json.dumps(chunk), sep=LINE)
