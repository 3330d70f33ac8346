"""The JSON of the HTTP interface (camelCase), also written by ``--json`` on the command line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from wellread.answers import VerdictName
from wellread.errors import RequestError
from wellread.serve.timecodes import first_moment, last_moment
from wellread.types import Kind, Mode


class Body(BaseModel):
    """Fields are camelCase in JSON."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True, frozen=True
    )


class _RequestBody(Body):
    # A misspelt option must not be taken for "no limit".
    model_config = ConfigDict(extra="forbid")


def _is_start(text: str) -> str:
    return _readable(text, first_moment)


def _is_end(text: str) -> str:
    return _readable(text, last_moment)


def _readable(text: str, read: Callable[[str], datetime]) -> str:
    try:
        read(text)
    except RequestError as error:
        raise ValueError(str(error)) from error
    return text


# --- requests --------------------------------------------------------------------------------


class TimeWindow(_RequestBody):
    """Limits on the day of publication, both inclusive (``2025``, ``2025-10``, ``2025-10-14``)."""

    from_: Annotated[str, AfterValidator(_is_start)] | None = Field(default=None, alias="from")
    to: Annotated[str, AfterValidator(_is_end)] | None = None


class AskOptions(_RequestBody):
    """What limits a question, beside its topic."""

    time_window: TimeWindow | None = None
    max_clusters: int | None = Field(
        default=None,
        ge=1,
        description="most stories that news is told from",
    )
    kinds: tuple[Kind, ...] = ()
    speakers: tuple[str, ...] = ()
    strict: bool | None = Field(default=None, description="drop unsupported sentences")
    fresh: bool = Field(default=False, description="write anew, whatever answer is kept")
    explain: bool = Field(default=False, description="also how the answer was found, and why so")


class AskRequest(_RequestBody):
    """A question, the collection it is asked of, and how."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    topic_id: str | None = Field(default=None, min_length=1, description="name of a collection")
    options: AskOptions = AskOptions()
    mode: Mode = "auto"
    session_id: str | None = None
    stream: bool = Field(default=False, description="answer with server-sent events")


# --- answers ---------------------------------------------------------------------------------


class SpanBody(Body):
    """Half-open range of characters (Unicode code points)."""

    start: int
    end: int


class BoxBody(Body):
    """A rectangle on a page as shares of its width and height, origin at the top left."""

    left: float
    top: float
    right: float
    bottom: float


class PlaceBody(Body):
    """The facts behind a locator, where known (``begin`` in seconds)."""

    page: int | None = None
    box: BoxBody | None = None
    begin: float | None = None
    speaker: str | None = None
    heading: tuple[str, ...] = ()
    line: int | None = None


class SourceBody(Body):
    """A quoted place of a document. ``link`` opens the source, ``viewUrl`` the built-in viewer."""

    document_id: str
    title: str
    url: str
    link: str
    view_url: str
    kind: Kind
    source_type: str
    published_at: datetime | None
    locator: str
    place: PlaceBody
    quote: str
    source_span: SpanBody


class CitationBody(SourceBody):
    """Answer span → source span, with the quote and the verdict."""

    id: int
    relevance: float
    answer_span: SpanBody
    verdict: VerdictName


class EvidenceBody(SourceBody):
    """A passage that an answer could rest on."""

    key: str
    score: float


class RankBody(Body):
    """Where a passage stood in one ranked list (counted from 1)."""

    name: str
    rank: int
    score: float


class SentenceBody(Body):
    """A sentence of the answer and its verdict; ``citations`` are ids of the citations."""

    text: str
    start: int
    end: int
    verdict: VerdictName
    method: str
    score: float
    reason: str
    citations: tuple[int, ...]


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
    """One side of a disagreement, with the ids of the citations that say it."""

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


class AskResponse(Body):
    """The answer and its proof. ``answeredBy`` is ``none`` when the material has no answer."""

    id: str
    question: str
    answer: str
    citations: tuple[CitationBody, ...]
    confidence: ConfidenceBody
    data_gaps: tuple[str, ...]
    conflicts: tuple[ConflictBody, ...]
    premises: tuple[str, ...] = Field(description="what the question wrongly takes for granted")
    related: tuple[RelatedBody, ...]
    suggestions: tuple[str, ...] = Field(description="further questions")
    notes: tuple[str, ...]
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


class TokenBody(Body):
    """The next piece of a draft. What counts is the final answer."""

    text: str


class HealthBody(Body):
    """Whether the server answers, and what it answers from."""

    status: Literal["ok"]
    documents: int
    passages: int
    version: str


class ErrorBody(Body):
    """Every error looks like this."""

    error: str
    detail: str
    hint: str
