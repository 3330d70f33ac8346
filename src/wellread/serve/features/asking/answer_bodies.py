"""The JSON of an answer and of the events on the way to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from wellread.ask.deliver.cite import relevances
from wellread.serve.features.asking.past_beside import PastQuestionBody
from wellread.serve.features.bodies import Body, SourceBody, SpanBody, view_url
from wellread.types import Mode
from wellread.values.answers import (
    Answer,
    Citation,
    Event,
    Evidence,
    Sentence,
    SentenceEvent,
    StepEvent,
    TokenEvent,
    VerdictName,
)


class CitationBody(SourceBody):
    """Answer span → source span, with the quote and the verdict.

    ``id`` is ``number`` as a string; sentences, views of a conflict and the markers ``[1]`` have
    the number.
    """

    id: str
    number: int
    relevance: str = Field(description="why the source matters, in words")
    score: float = Field(description="of the search that found it")
    answer_span: SpanBody
    verdict: VerdictName


class EvidenceBody(SourceBody):
    """A passage that an answer could rest on."""

    key: str
    score: float


class SentenceBody(Body):
    """A sentence, its verdict, its citations by number; ``marked``: the part that answers."""

    text: str
    start: int
    end: int
    verdict: VerdictName
    method: str
    score: float
    reason: str
    citations: tuple[int, ...]
    marked: bool


class ConfidenceBody(Body):
    """How sure the answer is, and why."""

    score: float
    band: Literal["high", "medium", "low", "none"]
    reasoning: str
    model_claim: float | None


class TokensBody(Body):
    """Tokens of language models."""

    input: int
    output: int


class UsageBody(Body):
    """What the answer cost."""

    clusters_retrieved: int
    tokens_used: TokensBody
    cost: float


class StepBody(Body):
    """A step of answering: how long it took and how many things it found."""

    name: str
    seconds: float
    found: int


class TableBody(Body):
    """An exhaustive result, whole; ``documents`` holds the ids behind each row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    documents: tuple[tuple[str, ...], ...]
    method: str


class ViewBody(Body):
    """One side of a disagreement, with the numbers of the citations that say it."""

    text: str
    citations: tuple[int, ...]


class ConflictBody(Body):
    """Where sources disagree; ``reason``: why they may differ."""

    about: str
    views: tuple[ViewBody, ...]
    reason: str


class RelatedBody(Body):
    """Something to explore next."""

    kind: Literal["document", "entity", "story"]
    title: str
    id: str
    collection: str
    url: str
    reason: str


class AppliedLimitBody(Body):
    """A limit that the answer was looked for within; ``relaxed``: it matched nothing."""

    kind: str
    value: str
    origin: Literal["asker", "question"]
    relaxed: bool


class AskResponse(Body):
    """The answer and its proof. ``answeredBy`` is ``none`` when the material has no answer."""

    id: str
    question: str
    answer: str
    citations: tuple[CitationBody, ...]
    confidence: ConfidenceBody
    data_gaps: tuple[str, ...]
    conflicts: tuple[ConflictBody, ...]
    related: tuple[RelatedBody, ...]
    suggestions: tuple[str, ...] = Field(description="further questions")
    notes: tuple[str, ...]
    limits: tuple[AppliedLimitBody, ...]
    table: TableBody | None
    session_id: str
    standalone: str = Field(description="the question as a follow-up was understood; or empty")
    type: str
    mode: Mode
    cached: bool = Field(description="whether an answer given before was given again")
    answered_by: str = Field(description="a writer; ``catalogue`` counted; ``none`` declined")
    fallback: str
    hallucinated_citations: int
    repaired_citations: int
    dropped_sentences: int
    sentences: tuple[SentenceBody, ...]
    usage: UsageBody
    steps: tuple[StepBody, ...]
    similar: tuple[PastQuestionBody, ...] = Field(
        default=(),
        description="past questions like it, beside a new answer that no model wrote",
    )


class TokenBody(Body):
    """The next piece of a draft. What counts is the final answer."""

    text: str


def answer_body(answer: Answer, similar: Sequence[PastQuestionBody] = ()) -> AskResponse:
    """The whole answer; ``similar``: past questions to show beside it."""
    usage = answer.usage
    tokens = TokensBody(input=usage.input_tokens, output=usage.output_tokens)
    why = relevances(answer)
    return AskResponse.of(
        answer,
        answer=answer.text,
        citations=[citation_body(citation, why[citation.id]) for citation in answer.citations],
        sentences=[sentence_body(sentence) for sentence in answer.sentences],
        usage=UsageBody.of(usage, clusters_retrieved=usage.clusters, tokens_used=tokens),
        similar=tuple(similar),
    )


def citation_body(citation: Citation, relevance: str) -> CitationBody:
    """A citation with both links; ``relevance``: why the source matters, in words."""
    return CitationBody.of(
        citation,
        id=str(citation.id),
        number=citation.id,
        relevance=relevance,
        score=citation.relevance,
        view_url=view_url(citation.document_id, citation.version, citation.source_span),
        locator=citation.locator.label,
        place=citation.locator,
    )


def evidence_body(evidence: Evidence) -> EvidenceBody:
    """A passage that an answer could rest on."""
    document = evidence.hit.document
    return EvidenceBody.at(
        document, evidence.span, evidence.text, evidence.locator, evidence, evidence.hit
    )


def sentence_body(sentence: Sentence) -> SentenceBody:
    """A sentence of the answer with its verdict."""
    verdict = sentence.verdict
    return SentenceBody.of(sentence, sentence.span, verdict, verdict=verdict.name)


def event_body(
    event: Event, similar: Sequence[PastQuestionBody] = ()
) -> tuple[str, StepBody | TokenBody | SentenceBody | AskResponse]:
    """The name and the data of a server-sent event; ``similar`` goes with the final one."""
    match event:
        case StepEvent(step=step):
            return "step", StepBody.of(step)
        case TokenEvent():
            return "token", TokenBody.of(event)
        case SentenceEvent(sentence=sentence):
            return "sentence", sentence_body(sentence)
    return "final", answer_body(event.answer, similar)
