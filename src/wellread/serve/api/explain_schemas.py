"""The JSON of an explanation: how a question was read, and what was found and why."""

from __future__ import annotations

from wellread.questions import ConstraintKind, QuestionType
from wellread.serve.api.schemas import AskResponse, Body, RankBody
from wellread.types import Mode


class ConstraintBody(Body):
    """A limit that the question's words set: the words, and what they were read as."""

    kind: ConstraintKind
    words: str
    value: str


class NamedBody(Body):
    """An entity that the question names."""

    words: str
    title: str
    entity_id: str
    collection: str
    type: str


class AnalysisBody(Body):
    """What the question was read as."""

    type: QuestionType
    mode: Mode
    reasons: tuple[str, ...]
    subject: str
    terms: tuple[str, ...]
    entities: tuple[NamedBody, ...]
    constraints: tuple[ConstraintBody, ...]
    sides: tuple[str, ...]


class CandidateBody(Body):
    """A passage's place in one list of a search."""

    passage_id: str
    title: str
    rank: int
    score: float


class SearchBody(Body):
    """A search that was made: within which filters, what each list gave, and how it was joined."""

    purpose: str
    query: str
    filters: dict[str, str]
    lists: dict[str, tuple[CandidateBody, ...]]
    fused: str


class UsedBody(Body):
    """A passage that was used, with its place in every list."""

    passage_id: str
    title: str
    score: float
    ranks: tuple[RankBody, ...]


class DroppedBody(Body):
    """A passage that was found and not used, and why."""

    passage_id: str
    title: str
    why: str


class ExplanationBody(Body):
    """How an answer came to what it rests on."""

    analysis: AnalysisBody
    strategy: str
    method: str
    searches: tuple[SearchBody, ...]
    used: tuple[UsedBody, ...]
    dropped: tuple[DroppedBody, ...]
    paths: tuple[str, ...]
    notes: tuple[str, ...]


class ExplainedResponse(AskResponse):
    """The answer and its explanation, where the request asked for one."""

    explanation: ExplanationBody
