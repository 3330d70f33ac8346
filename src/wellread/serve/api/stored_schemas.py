"""The JSON of sessions and stored answers, and of ``POST /api/query`` (snake_case)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from wellread.answers import VerdictName
from wellread.ask.deliver.cite import Style
from wellread.library.bibliography.export import Format
from wellread.library.recheck import Standing
from wellread.serve.api.schemas import AskResponse, Body
from wellread.types import Mode

MOST_LISTED = 1_000


class PageQuery(BaseModel):
    """Which part of a list."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=50, ge=1, le=MOST_LISTED)
    offset: int = Field(default=0, ge=0)


class ExportQuery(BaseModel):
    """How an answer is written out."""

    model_config = ConfigDict(extra="forbid")

    format: Format = "markdown"
    style: Style | None = Field(default=None, description="of citations; else the setting")
    verdicts: bool = Field(default=False, description="a footnote for each sentence (Markdown)")


# --- sessions --------------------------------------------------------------------------------


class SessionBody(Body):
    """A conversation; ``title`` is its first question, shortened."""

    id: str
    title: str
    turns: int
    created_at: datetime
    seen_at: datetime


class SessionsBody(Body):
    """Conversations, the one used last first."""

    sessions: tuple[SessionBody, ...]


class SessionDetailBody(SessionBody):
    """A conversation with its answers, oldest first."""

    answers: tuple[AskResponse, ...]


class RemovedBody(Body):
    """What was removed with a session."""

    id: str
    answers: int


# --- stored answers --------------------------------------------------------------------------


class StoredAnswerBody(Body):
    """Facts about an answer; ``stale``: a source of it has changed or gone since."""

    id: str
    question: str
    session_id: str
    answered_by: str
    confidence: float
    created_at: datetime
    stale: bool


class StoredAnswersBody(Body):
    """Answers, newest first."""

    answers: tuple[StoredAnswerBody, ...]


class WholeAnswerBody(AskResponse):
    """An answer as it is kept."""

    created_at: datetime
    stale: bool


class CitationCheckBody(Body):
    """What became of a cited source."""

    id: int
    title: str
    standing: Standing
    reason: str


class SentenceCheckBody(Body):
    """A sentence with the verdict it had, and the one it has now."""

    text: str
    before: VerdictName
    verdict: VerdictName
    method: str
    reason: str


class RecheckBody(Body):
    """A stored answer checked against the sources as they are now."""

    id: str
    stale: bool
    citations: tuple[CitationCheckBody, ...]
    sentences: tuple[SentenceCheckBody, ...]
    notes: tuple[str, ...]


# --- POST /api/query -------------------------------------------------------------------------


class QueryRequest(BaseModel):
    """A question over recordings and everything else, in a conversation or not."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    session_id: str | None = None
    mode: Mode = "auto"


class QuerySource(BaseModel):
    """A cited place; ``timestamp`` in seconds where the source is a recording."""

    video_id: str
    video_title: str
    timestamp: float | None
    timestamp_formatted: str
    excerpt: str
    speaker: str | None


class QueryCitation(BaseModel):
    """A cited place, in short."""

    video: str
    timestamp: str


class QueryResponse(BaseModel):
    """The answer in the older form; ``POST /api/ask`` gives the proof of it."""

    answer: str
    session_id: str
    sources: tuple[QuerySource, ...]
    citations: tuple[QueryCitation, ...]
    mode: Literal["quick", "deep", "auto"]
    iterations: int | None = None
    warning: str | None = None
