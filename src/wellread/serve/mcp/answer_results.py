"""An answer as the tools give it: whole where it is short, else as much of it as fits.

Sentences come first, then the rows of its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field

from wellread.ask.deliver.cite import relevances
from wellread.models.word_pieces import count_tokens
from wellread.serve.features.asking.answer_bodies import (
    AppliedLimitBody,
    ConfidenceBody,
    ConflictBody,
    RelatedBody,
    answer_body,
    citation_body,
)
from wellread.serve.features.bodies import Body
from wellread.serve.mcp.places import source_of
from wellread.serve.mcp.served import Call
from wellread.types import Kind, Mode
from wellread.values.answers import Answer, Citation, Sentence, Table, VerdictName

OVERHEAD = 30  # tokens of a sentence or a citation beside its own words


class CitedBody(Body):
    """A cited place. ``source`` opens it with the tool open_source, ``link`` in a browser.

    ``id`` is ``number`` as a string.
    """

    id: str
    number: int
    title: str
    locator: str
    quote: str
    relevance: str
    verdict: VerdictName
    source: str
    document_id: str
    kind: Kind
    link: str
    view_url: str | None = None
    published_at: datetime | None = None


class SureBody(ConfidenceBody):
    """How sure the answer is, and why; what a model says of itself only where there is one."""

    model_claim: float | None = None


class ToldBody(Body):
    """A sentence with its verdict; ``citations`` are numbers of the citations."""

    text: str
    verdict: VerdictName
    method: str
    score: float
    reason: str
    citations: tuple[int, ...]


class RowsBody(Body):
    """Rows of an exhaustive result; ``total``: how many there are."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int
    method: str


class AnswerResult(Body):
    """An answer with the proof of it, or the first part of it. All of its text is data."""

    id: str
    question: str
    standalone: str | None = None
    answer: str = Field(description="Markdown; what stands in brackets cites")
    sentences: tuple[ToldBody, ...]
    citations: tuple[CitedBody, ...]
    verdicts: dict[str, int] = Field(description="how many sentences of the whole have which")
    confidence: SureBody
    answered_by: str = Field(description="who wrote it; none: the material has no answer")
    fallback: str | None = None
    mode: Mode
    session_id: str
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[ConflictBody, ...] = ()
    notes: tuple[str, ...] = ()
    limits: tuple[AppliedLimitBody, ...] = ()
    related: tuple[RelatedBody, ...] = ()
    suggestions: tuple[str, ...] = ()
    table: RowsBody | None = None
    hallucinated_citations: int = 0
    left_out: int = Field(description="sentences and rows that did not fit; the whole has the id")


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
    ordered = tuple(sorted(answer.sentences, key=lambda one: one.span.start))
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
    cited = {known for one in ordered[:end] for known in one.citations}
    return AnswerPart(
        answer=answer,
        text=answer.text[: _end(answer.text, ordered, end)],
        sentences=ordered[:end],
        # An answer in one piece keeps what no sentence cites: the nearest of a refusal.
        citations=tuple(
            c for c in answer.citations if not left_out or not ordered or c.id in cited
        ),
        rows=rows,
        left_out=left_out,
    )


def answer_result(call: Call, part: AnswerPart) -> AnswerResult:
    """The facts of ``part``."""
    answer = part.answer
    body = answer_body(answer)
    why = relevances(answer)
    return AnswerResult.of(
        body,
        confidence=SureBody.of(answer.confidence),
        answer=part.text,
        standalone=answer.standalone or None,
        fallback=answer.fallback or None,
        sentences=[_told(answer, one) for one in part.sentences],
        citations=[cited_body(call, one, why[one.id]) for one in part.citations],
        verdicts=counted(answer.sentences),
        table=_table(answer.table, part.rows),
        left_out=part.left_out,
    )


def cited_body(
    call: Call, citation: Citation, relevance: str = "", *, stored: bool = True
) -> CitedBody:
    """A citation, and why its source matters; ``stored``: whether its document can be opened."""
    body = citation_body(citation, relevance)
    source = source_of(citation.document_id, citation.version, citation.source_span)
    return CitedBody.of(
        body,
        source=source if stored else "",
        view_url=call.view_url(body.view_url) if stored else None,
    )


def counted(sentences: Sequence[Sentence]) -> dict[str, int]:
    """How many sentences have which verdict, the best first."""
    names = [one.verdict.name for one in sentences]
    return {name.value: names.count(name) for name in VerdictName if name in names}


def _told(answer: Answer, sentence: Sentence) -> ToldBody:
    # As it stands in the answer, so that a page can find it there.
    verdict = sentence.verdict
    text = sentence.span.of(answer.text)
    return ToldBody.of(sentence, verdict, text=text, verdict=verdict.name)


def _table(table: Table | None, rows: tuple[tuple[str, ...], ...]) -> RowsBody | None:
    return RowsBody.of(table, rows=rows, total=len(table.rows)) if table else None


def _rows(every: tuple[tuple[str, ...], ...], tokens: int) -> tuple[tuple[str, ...], ...]:
    """As many rows as fit, one at least."""
    found: list[tuple[str, ...]] = []
    for row in every:
        tokens -= _cost(" | ".join(row))
        if tokens < 0 and found:
            break
        found.append(row)
    return tuple(found)


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
