"""The tool ``ask``: an answer, or the report of a research run, each sentence with its verdict.

An answer is given whole where it is short, else as much of it as fits: its first sentences with
what they cite, and the first rows of its table.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, cast

from anyio import to_thread
from mcp.types import CallToolResult
from pydantic import Field

from wellread.ask.answer import answer
from wellread.ask.deliver.cite import relevances
from wellread.ask.plan import reading
from wellread.ask.retrieve.search import check_collections
from wellread.errors import WellreadError
from wellread.research.research import research, usual_limits
from wellread.serve.features.answering import Cited, answer_body
from wellread.serve.mcp.reading_tools import source_of
from wellread.serve.mcp.tool_calls import (
    BUDGETS,
    Call,
    Collection,
    Facts,
    Kinds,
    ServedContext,
    Since,
    Speakers,
    Until,
    Words,
    as_result,
    fitted,
    library_tool,
    picked,
)
from wellread.serve.views import FACES
from wellread.types import Mode
from wellread.values.answer_text import markers_after
from wellread.values.answers import (
    Answer,
    Citation,
    Event,
    FinalEvent,
    Question,
    StepEvent,
    VerdictName,
)
from wellread.values.reports import (
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchEvent,
    ResearchRequest,
)

OF_ANSWER = (
    *("id", "question", "standalone", "confidence", "answeredBy", "fallback", "mode", "sessionId"),
    *("dataGaps", "conflicts", "notes", "limits", "related", "suggestions"),
    "hallucinatedCitations",
)
OF_SENTENCE = ("text", "verdict", "method", "score", "reason", "citations")
OF_CITATION = (
    *("id", "number", "title", "locator", "quote", "relevance", "verdict", "documentId", "kind"),
    *("link", "publishedAt"),
)
OF_REPORT = ("stopped", "warning", "rounds", "searches", "seconds")


@library_tool("Ask the library", queued=True)
async def ask(  # noqa: PLR0913 - the SDK reads the arguments from the signature
    context: ServedContext,
    question: Annotated[Words, Field(description="the question in plain words")],
    collection: Collection = None,
    kinds: Kinds = (),
    speakers: Speakers = (),
    since: Since = "",
    until: Until = "",
    session_id: Annotated[
        str,
        Field(description="sessionId of an answer, so that this is read as a follow-up to it"),
    ] = "",
    mode: Annotated[
        Mode,
        Field(
            description="deep: a report after several rounds of searching, for comparisons, "
            "causes, developments, everything about a subject; takes up to a minute"
        ),
    ] = "quick",
) -> CallToolResult:
    """Answers a question from the user's own documents: news, papers, pages, notes, meeting and
    video transcripts. Every sentence of the answer was checked against the passage it cites and
    carries its verdict; when you pass the answer on, keep the citations, and say which sentences
    are not supported. It says so when the documents have no answer: do not fill that in from
    general knowledge."""
    call = Call(context)
    filters = call.filters(collection, kinds, speakers, since, until)
    await to_thread.run_sync(check_collections, call.kb, filters)
    owner = call.kb.asker.owner
    asked = Question(text=question, filters=filters, session_id=session_id, owner=owner, mode=mode)
    if mode == "auto":
        asked = replace(asked, mode=(await to_thread.run_sync(reading, call.kb, asked)).mode)
    done = await (_researched(call, asked) if asked.mode == "deep" else _answered(call, asked))
    if done is None:
        raise WellreadError("the answer ended without a result", hint="report this as a defect")
    return await to_thread.run_sync(_told, call, done)


async def _answered(call: Call, asked: Question) -> Answer | None:
    async with aclosing(cast(AsyncGenerator[Event], answer(call.kb, asked))) as events:
        async for event in events:
            if isinstance(event, StepEvent):
                await call.tell(f"{event.step.name}: {event.step.found:,} found")
            elif isinstance(event, FinalEvent):
                return event.answer
    return None


async def _researched(call: Call, asked: Question) -> Report | None:
    wanted = ResearchRequest(question=asked, limits=usual_limits(call.kb))
    async with aclosing(cast(AsyncGenerator[ResearchEvent], research(call.kb, wanted))) as events:
        async for event in events:
            match event:
                case PlanEvent(plan=plan):
                    await call.tell(f"plan: {'; '.join(facet.title for facet in plan.facets)}")
                case ProgressEvent():
                    await call.tell(event.text)
                case ReportEvent(report=report):
                    return report
    return None


def _told(call: Call, done: Answer | Report) -> CallToolResult:
    """The answer; with how the research for it went where that made it."""
    if isinstance(done, Answer):
        return fitted(lambda tokens: as_result(_facts(call, done, tokens)))
    sections = [picked(section, ("title", "found")) for section in done.sections]
    # ``run`` names it to ``wellread research --show``.
    report = picked(done, OF_REPORT) | {"run": done.id, "sections": sections}
    given = done.answer
    return fitted(lambda tokens: as_result(_facts(call, given, tokens) | {"report": report}))


def _facts(call: Call, given: Answer, tokens: int) -> Facts:
    """The first part of an answer: all of it with the largest budget, and less with less."""
    share = tokens / BUDGETS[0]
    ordered = sorted(given.sentences, key=lambda sentence: sentence.span.start)
    sentences = ordered[: max(1, round(len(ordered) * share))]
    every = given.table.rows if given.table else ()
    rows = every[: max(1, round(len(every) * share))]
    left_out = len(ordered) - len(sentences) + len(every) - len(rows)
    cut = len(sentences) < len(ordered)
    numbers = {number for sentence in sentences for number in sentence.citations}
    # An answer in one piece keeps what no sentence cites: the nearest of a refusal.
    cited = [one for one in given.citations if not cut or one.id in numbers]
    why = relevances(given)
    names = [sentence.verdict.name for sentence in given.sentences]
    facts = picked(FACES.json(answer_body(given)), OF_ANSWER) | {
        "answer": given.text[: markers_after(given.text, sentences[-1]).end] if cut else given.text,
        # A sentence as it stands in the answer, so that a page can find it there.
        "sentences": [
            picked(FACES.json(one), OF_SENTENCE) | {"text": one.span.of(given.text)}
            for one in sentences
        ],
        "citations": [_cited(call, one, why[one.id]) for one in cited],
        "verdicts": {name.value: names.count(name) for name in VerdictName if name in names},
        "leftOut": left_out,
    }
    if left_out:
        facts["whole"] = f"wellread answers show {given.id}"
    if given.table:
        columns, method = given.table.columns, given.table.method
        facts["table"] = {"columns": columns, "rows": rows, "total": len(every), "method": method}
    return facts


def _cited(call: Call, citation: Citation, why: str) -> Facts:
    facts = FACES.json(Cited(citation=citation, relevance=why))
    source = source_of(citation.document_id, citation.version, citation.source_span)
    opened = {"source": source, "viewUrl": call.view_url(facts["viewUrl"])}
    return picked(facts, OF_CITATION) | opened
