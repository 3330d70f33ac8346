"""The tools ``ask`` and ``research``: answers whose every sentence has a verdict.

An answer is given whole where it is short, else as much of it as fits: sentences first, then the
rows of its table.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Annotated, cast

from anyio import to_thread
from mcp.types import CallToolResult
from pydantic import Field

from wellread.ask.answer import answer
from wellread.ask.deliver.cite import relevances
from wellread.ask.retrieve.search import check_collections
from wellread.errors import WellreadError
from wellread.models.word_pieces import count_tokens
from wellread.research.research import research as researched
from wellread.research.research import usual_limits
from wellread.serve.features.answering import Cited, answer_body
from wellread.serve.mcp.reading_tools import source_of
from wellread.serve.mcp.tool_calls import (
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
from wellread.types import Filters, Mode
from wellread.values.answers import (
    Answer,
    Citation,
    Event,
    FinalEvent,
    Question,
    Sentence,
    StepEvent,
    VerdictName,
)
from wellread.values.reports import (
    Limits,
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchEvent,
    ResearchRequest,
)

MOST_READ = 40  # documents that a report's result lists; it says how many there are
OVERHEAD = 30  # tokens of a sentence or a citation beside its own words
QUOTED = 3  # tokens of a passage for each of a checked sentence, at a guess
DEFECT = "report this as a defect"

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

Asked = Annotated[Words, Field(description="the question in plain words")]
Session = Annotated[
    str,
    Field(description="sessionId of an answer, so that this is read as a follow-up to it"),
]
Strict = Annotated[bool | None, Field(description="leave unsupported sentences out")]


@library_tool("Ask the library", work="ask")
async def ask(  # noqa: PLR0913 - the SDK reads the arguments from the signature
    context: ServedContext,
    question: Asked,
    collection: Collection = None,
    kinds: Kinds = (),
    speakers: Speakers = (),
    since: Since = "",
    until: Until = "",
    session_id: Session = "",
    strict: Strict = None,
    mode: Annotated[Mode, Field(description="deep looks further; auto decides")] = "auto",
) -> CallToolResult:
    """Answers a question from the user's own documents: news, papers, pages, notes, meeting and
    video transcripts. Every sentence of the answer was checked against the passage it cites and
    carries its verdict; when you pass the answer on, keep the citations, and say which sentences
    are not supported. It says so when the documents have no answer: do not fill that in from
    general knowledge."""
    call = Call(context)
    filters = call.filters(collection, kinds, speakers, since, until)
    asked = _question(call, question, filters, session_id, strict)
    await to_thread.run_sync(check_collections, call.kb, filters)
    async with aclosing(
        cast(AsyncGenerator[Event], answer(call.kb, replace(asked, mode=mode)))
    ) as events:
        async for event in events:
            if isinstance(event, StepEvent):
                await call.tell(f"{event.step.name}: {event.step.found:,} found")
            elif isinstance(event, FinalEvent):
                return await to_thread.run_sync(_answered, call, event.answer)
    raise WellreadError("the answer ended without a result", hint=DEFECT)


@library_tool("Research the library", work="ask")
async def research(  # noqa: PLR0913 - the SDK reads the arguments from the signature
    context: ServedContext,
    question: Asked,
    collection: Collection = None,
    kinds: Kinds = (),
    speakers: Speakers = (),
    since: Since = "",
    until: Until = "",
    session_id: Session = "",
    strict: Strict = None,
    rounds: Annotated[int | None, Field(ge=1, le=10, description="of searching, at most")] = None,
    searches: Annotated[int | None, Field(ge=1, le=1_000, description="at most")] = None,
    seconds: Annotated[float | None, Field(gt=0, le=3_600, description="at most")] = None,
    dollars: Annotated[float | None, Field(ge=0, description="of language models, at most")] = None,
) -> CallToolResult:
    """Deep research in the user's own documents, in several rounds: a report in sections with one
    bibliography, each sentence checked, what was not found named. For comparisons, causes,
    developments, everything about a subject. Takes up to a minute or what you allow; for a single
    fact use ask."""
    call = Call(context)
    filters = call.filters(collection, kinds, speakers, since, until)
    await to_thread.run_sync(check_collections, call.kb, filters)
    asked = _question(call, question, filters, session_id, strict)
    given = {"rounds": rounds, "searches": searches, "seconds": seconds, "dollars": dollars}
    limits = {name: most for name, most in given.items() if most is not None}
    usual = asdict(usual_limits(call.kb))
    request = ResearchRequest(
        question=replace(asked, mode="deep"),
        limits=Limits(**(usual | limits)),
    )
    async with aclosing(
        cast(AsyncGenerator[ResearchEvent], researched(call.kb, request))
    ) as events:
        async for event in events:
            match event:
                case PlanEvent(plan=plan):
                    parts = "part" if len(plan.facets) == 1 else "parts"
                    titles = "; ".join(facet.title for facet in plan.facets)
                    most = f"at most {plan.searches} searches"
                    await call.tell(f"plan: {len(plan.facets)} {parts}, {most}: {titles}")
                case ProgressEvent():
                    await call.tell(event.text)
                case ReportEvent(report=report):
                    return await to_thread.run_sync(_answered, call, report.answer, report)
    raise WellreadError("the research ended without a report", hint=DEFECT)


def _question(
    call: Call, text: str, filters: Filters, session_id: str, strict: bool | None
) -> Question:
    owner = call.kb.asker.owner
    return Question(text=text, filters=filters, session_id=session_id, strict=strict, owner=owner)


def _answered(call: Call, given: Answer, report: Report | None = None) -> CallToolResult:
    """The answer, with how the research for it went where that made it."""
    facts = {"report": _report_facts(report)} if report else {}
    return fitted(lambda tokens: as_result(_answer_facts(call, part_of(given, tokens)) | facts))


# --- as much of an answer as fits, as facts --------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPart:
    """As much of an answer as fits: the beginning of its text, and of the rows of its table.

    Attributes:
        left_out: how many sentences and rows come after it.
    """

    answer: Answer
    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int


def part_of(answer: Answer, tokens: int) -> AnswerPart:
    """The first part of ``answer``, of about ``tokens``."""
    ordered = tuple(sorted(answer.sentences, key=lambda sentence: sentence.span.start))
    by_id = {citation.id: citation for citation in answer.citations}
    end, seen, left = 0, set[int](), tokens
    while end < len(ordered):
        fresh = [by_id[n] for n in ordered[end].citations if n in by_id and n not in seen]
        cost = _cost(ordered[end].text) + sum(_cost(f"{c.title} {c.quote} {c.link}") for c in fresh)
        if cost > left and end:
            break
        left -= cost
        seen.update(citation.id for citation in fresh)
        end += 1
    every = answer.table.rows if answer.table else ()
    rows = _rows(every, left) if end == len(ordered) else ()
    left_out = len(ordered) - end + len(every) - len(rows)
    return AnswerPart(
        answer=answer,
        text=answer.text[: _end(answer.text, ordered, end)],
        sentences=ordered[:end],
        # An answer in one piece keeps what no sentence cites: the nearest of a refusal.
        citations=tuple(
            citation
            for citation in answer.citations
            if not left_out or not ordered or citation.id in seen
        ),
        rows=rows,
        left_out=left_out,
    )


def _rows(every: tuple[tuple[str, ...], ...], tokens: int) -> tuple[tuple[str, ...], ...]:
    """As many rows as fit, one at least."""
    count = 0
    for row in every:
        tokens -= _cost(" | ".join(row))
        if tokens < 0 and count:
            break
        count += 1
    return every[:count]


def _end(text: str, ordered: Sequence[Sentence], place: int) -> int:
    """Where a part ends that is all before that sentence: headings above it belong to it."""
    if place == len(ordered):
        return len(text)
    at = ordered[place].span.start
    before = ordered[place - 1].span.end
    heading = text.find("\n#", before, at)
    return heading + 1 if heading >= 0 else text.rfind("\n", before, at) + 1 or at


def _cost(text: str) -> int:
    return count_tokens(text) + OVERHEAD


def _answer_facts(call: Call, part: AnswerPart) -> Facts:
    given, why = part.answer, relevances(part.answer)
    facts = picked(FACES.json(answer_body(given)), OF_ANSWER) | {
        "answer": part.text,
        # A sentence as it stands in the answer, so that a page can find it there.
        "sentences": [
            picked(FACES.json(sentence), OF_SENTENCE) | {"text": sentence.span.of(given.text)}
            for sentence in part.sentences
        ],
        "citations": [
            _cited_facts(call, citation, why[citation.id]) for citation in part.citations
        ],
        "verdicts": counted(given.sentences),
        "leftOut": part.left_out,
    }
    if part.left_out:
        facts["whole"] = f"wellread answers show {given.id}"
    if given.table:
        columns, method = given.table.columns, given.table.method
        total = len(given.table.rows)
        facts["table"] = {"columns": columns, "rows": part.rows, "total": total, "method": method}
    return facts


def _cited_facts(call: Call, citation: Citation, why: str) -> Facts:
    """A citation, and why its source matters."""
    facts = FACES.json(Cited(citation=citation, relevance=why))
    opened = {"source": _source(citation), "viewUrl": call.view_url(facts["viewUrl"])}
    return picked(facts, OF_CITATION) | opened


def _source(citation: Citation) -> str:
    return source_of(citation.document_id, citation.version, citation.source_span)


def counted(sentences: Sequence[Sentence]) -> dict[str, int]:
    """How many sentences have which verdict, the best first."""
    names = [sentence.verdict.name for sentence in sentences]
    return {name.value: names.count(name) for name in VerdictName if name in names}


# --- how the research for a report went ------------------------------------------------------


def _report_facts(report: Report) -> Facts:
    """Sections with how many sentences were delivered for each and documents these cite."""
    why = {facet.id: facet.why for facet in report.plan.facets}
    documents = {one.id: one.document_id for one in report.answer.citations}
    sections = []
    for section in report.sections:
        told = [one for one in report.answer.sentences if one.span.overlaps(section.span)]
        cited = {documents[number] for one in told for number in one.citations}
        facts = picked(section, ("title", "found")) | {"why": why.get(section.facet, "")}
        sections.append(facts | {"sentences": len(told), "documents": len(cited)})
    facts = picked(report, ("stopped", "warning", "rounds", "searches", "seconds"))
    read = [picked(one, ("id", "title", "passages", "cited")) for one in report.documents]
    return (
        facts
        | {
            "run": report.id,  # names it to ``wellread research --show``
            "sections": sections,
            "documentsRead": len(report.documents),
            "documents": read[:MOST_READ],
        }
    )
