"""The MCP tool ``ask``: an answer or a research report, with a verdict for each sentence.

An answer that is too long is cut to its first sentences with their citations and the first rows of
its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Annotated

from anyio import to_thread
from mcp.types import CallToolResult
from pydantic import Field

from wellread.ask.deliver.cite import relevances
from wellread.ask.retrieve.search import check_collections
from wellread.asking import answer_in_mode, with_mode_read
from wellread.errors import WellreadError
from wellread.serve.features.answering import Cited, answer_body
from wellread.serve.mcp.reading_tools import source_of
from wellread.serve.mcp.tool_calls import (
    BUDGETS,
    Call,
    Collection,
    Facts,
    Kinds,
    NonEmptyText,
    ServedContext,
    Since,
    Speakers,
    Until,
    as_result,
    cleaned,
    fit_result,
    library_tool,
    pick_fields,
)
from wellread.serve.views import FACES
from wellread.types import Mode
from wellread.values.answer_text import markers_after
from wellread.values.answers import Answer, Citation, FinalEvent, Question, StepEvent, VerdictName
from wellread.values.reports import Report

# Fields of an answer that ``_facts`` writes as much of as fits, or that no model has a use for.
LEFT_OUT = (
    *("answer", "citations", "sentences", "table", "extracts"),
    *("type", "cached", "repairedCitations", "droppedSentences", "usage", "steps", "similar"),
)
SENTENCE_FIELDS = ("text", "verdict", "method", "score", "reason", "citations")
CITATION_FIELDS = (
    *("id", "number", "title", "locator", "quote", "relevance", "verdict", "documentId", "kind"),
    *("link", "publishedAt"),
)
REPORT_FIELDS = ("stopped", "warning", "rounds", "searches", "seconds")


@library_tool("Ask the library")
async def ask(  # noqa: PLR0913 - the SDK reads the arguments from the signature
    context: ServedContext,
    question: Annotated[NonEmptyText, Field(description="the question in plain words")],
    collection: Collection = None,
    kinds: Kinds = (),
    speakers: Speakers = (),
    since: Since = "",
    until: Until = "",
    session_id: Annotated[
        str, Field(description="sessionId of an answer, so that this is read as a follow-up to it")
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
    query = Question(text=question, filters=filters, session_id=session_id, owner=owner, mode=mode)
    query, reports = await with_mode_read(call.kb, query), list[Report]()
    events = answer_in_mode(call.kb, query, on_report=reports.append)
    reply: Answer | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, StepEvent):
                await call.report_progress(f"{event.step.name}: {event.step.found:,} found")
            elif isinstance(event, FinalEvent):
                reply = event.answer
    if reply is None:
        raise WellreadError("the answer ended without a result", hint="report this as a defect")
    return await to_thread.run_sync(_result_of, call, reply, reports)


def _result_of(call: Call, reply: Answer, reports: Sequence[Report]) -> CallToolResult:
    """Return the answer, with the facts of the research report if there is one."""
    report_facts: Facts = {}
    for report in reports:
        sections = [pick_fields(section, ("title", "found")) for section in report.sections]
        # ``run`` is the id for ``wellread research --show``.
        facts = pick_fields(report, REPORT_FIELDS) | {"run": report.id, "sections": sections}
        report_facts = {"report": facts}
    return fit_result(lambda tokens: as_result(_answer_facts(call, reply, tokens) | report_facts))


def _answer_facts(call: Call, reply: Answer, tokens: int) -> Facts:
    """Return the first part of an answer, in proportion to the token budget."""
    share = tokens / BUDGETS[0]
    ordered = sorted(reply.sentences, key=lambda sentence: sentence.span.start)
    sentences = ordered[: max(1, round(len(ordered) * share))]
    all_rows = reply.table.rows if reply.table else ()
    rows = all_rows[: max(1, round(len(all_rows) * share))]
    left_out = len(ordered) - len(sentences) + len(all_rows) - len(rows)
    is_cut = len(sentences) < len(ordered)
    numbers = {number for sentence in sentences for number in sentence.citations}
    # An uncut answer keeps uncited sources too, such as the nearest ones of a refusal.
    cited = [citation for citation in reply.citations if not is_cut or citation.id in numbers]
    reasons = relevances(reply)
    names = [sentence.verdict.name for sentence in reply.sentences]
    text = reply.text[: markers_after(reply.text, sentences[-1]).end] if is_cut else reply.text
    body = cleaned(FACES.json(answer_body(reply)))
    facts = {name: fact for name, fact in body.items() if name not in LEFT_OUT} | {
        "answer": text,
        # The exact text from the answer, so that a page can find it there.
        "sentences": [
            pick_fields(FACES.json(item), SENTENCE_FIELDS) | {"text": item.span.of(reply.text)}
            for item in sentences
        ],
        "citations": [_citation_facts(call, citation, reasons[citation.id]) for citation in cited],
        "verdicts": {name.value: names.count(name) for name in VerdictName if name in names},
        "leftOut": left_out,
    }
    if left_out:
        facts["whole"] = f"wellread answers show {reply.id}"
    if reply.table:
        columns, method = reply.table.columns, reply.table.method
        total = len(all_rows)
        facts["table"] = {"columns": columns, "rows": rows, "total": total, "method": method}
    return facts


def _citation_facts(call: Call, citation: Citation, relevance: str) -> Facts:
    facts = FACES.json(Cited(citation=citation, relevance=relevance))
    source = source_of(citation.document_id, citation.version, citation.source_span)
    links = {"source": source, "viewUrl": call.view_url(facts["viewUrl"])}
    return pick_fields(facts, CITATION_FIELDS) | links
