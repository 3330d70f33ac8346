"""The JSON of what is looked up (camelCase), also written by ``--json`` on the command line."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel

from wellread.serve.api.entity_schemas import EntityRefBody
from wellread.serve.api.schemas import PlaceBody, RankBody, SourceBody, SpanBody
from wellread.types import Kind


class _Body(BaseModel):
    model_config = SpanBody.model_config


# --- passages --------------------------------------------------------------------------------


class ResultBody(SourceBody):
    """A passage; ``quote`` is all of it, or what the speaker asked for says in it.

    ``score``, ``similarity`` and ``ranks`` are of a search; a list has none.
    """

    passage_id: str
    collection: str
    authors: tuple[str, ...]
    speakers: tuple[str, ...]
    score: float | None
    similarity: float | None
    ranks: tuple[RankBody, ...]


class LimitsBody(_Body):
    """What a search was limited to, names as the documents have them."""

    collections: tuple[str, ...]
    kinds: tuple[Kind, ...]
    speakers: tuple[str, ...]
    authors: tuple[str, ...]
    languages: tuple[str, ...]
    source_types: tuple[str, ...]
    taxonomy: tuple[str, ...]
    published_from: datetime | None
    published_to: datetime | None


class ResultsBody(_Body):
    """What was found, best first; without a query, what is there, newest first.

    ``total`` is the length of a whole list; null for a search, which ranks and does not count.
    """

    query: str
    mode: Literal["hybrid", "text", "vector"] | None
    limits: LimitsBody
    total: int | None
    results: tuple[ResultBody, ...]


class SurroundingsBody(_Body):
    """A passage among those around it; it is number ``ordinal`` (from 0) of ``passages``."""

    document_id: str
    title: str
    passage_id: str
    ordinal: int
    passages: int
    before: tuple[ResultBody, ...]
    passage: ResultBody
    after: tuple[ResultBody, ...]


# --- documents -------------------------------------------------------------------------------


class DocumentBody(_Body):
    """A document on a list."""

    document_id: str
    collection: str
    uri: str
    kind: Kind
    title: str
    url: str
    view_url: str
    source_type: str
    language: str
    authors: tuple[str, ...]
    published_at: datetime | None
    added_at: datetime
    media_url: str
    summary: str
    taxonomy: dict[str, tuple[str, ...]]
    characters: int
    passages: int


class DocumentsBody(_Body):
    """A page of a list, and how long the whole of it is."""

    total: int
    offset: int
    documents: tuple[DocumentBody, ...]


class NamedEntityBody(EntityRefBody):
    """An entity, and how often the document names it."""

    mentions: int


class WholeDocumentBody(DocumentBody):
    """A document with its ``text`` (null when it was not asked for) and whom it names."""

    version: str
    speakers: tuple[str, ...]
    entities: tuple[NamedEntityBody, ...]
    text: str | None


# --- recordings ------------------------------------------------------------------------------


class RecordingBody(_Body):
    """A transcript, or another document with a recording; ``duration`` in seconds."""

    document_id: str
    collection: str
    kind: Kind
    title: str
    url: str
    view_url: str
    media_url: str
    language: str
    published_at: datetime | None
    duration: float | None
    speakers: tuple[str, ...]
    segments: int


class RecordingsBody(_Body):
    """A page of a list, and how long the whole of it is."""

    total: int
    offset: int
    videos: tuple[RecordingBody, ...]


class CueBody(_Body):
    """A part of a turn with its own time, in seconds."""

    source_span: SpanBody
    begin: float
    finish: float | None


class TurnBody(_Body):
    """What one speaker says without a break; ``begin`` and ``finish`` in seconds."""

    speaker: str
    begin: float | None
    finish: float | None
    text: str
    locator: str
    place: PlaceBody
    link: str
    view_url: str
    source_span: SpanBody
    passage_id: str
    cues: tuple[CueBody, ...]


class TranscriptBody(RecordingBody):
    """A recording with its turns: all of them (``total``), or those that were asked for."""

    total: int
    turns: tuple[TurnBody, ...]


# --- topics ----------------------------------------------------------------------------------


class OftenNamedBody(EntityRefBody):
    """An entity, in how many documents it is named, and how often altogether."""

    mentioned_in: int
    mentions: int


class TopicBody(_Body):
    """A collection; ``first`` and ``last`` are the dates of its oldest and newest document."""

    name: str
    documents: int
    passages: int
    kinds: dict[Kind, int]
    first: datetime | None
    last: datetime | None
    stories: int
    entity_count: int
    entities: tuple[OftenNamedBody, ...]


class TopicsBody(_Body):
    """Every collection."""

    topics: tuple[TopicBody, ...]


class PeriodBody(_Body):
    """A day, week, month or year, and how many dates are in it."""

    label: str
    start: date
    count: int


class EntryBody(_Body):
    """Something dated. The fields of its place are null when a story has no summary just now."""

    kind: Literal["story", "news", "document", "mention"]
    at: datetime
    last: datetime
    title: str
    count: int
    story_id: str | None
    repeats: bool
    source: SourceBody | None
    passage_id: str | None


class TimelineBody(_Body):
    """How a topic went on, oldest first.

    ``taken`` says what the name was taken for, ``others`` what else is called so; ``counted``
    says what the periods count.
    """

    name: str
    taken: Literal["collection", "entity", "story"]
    id: str
    title: str
    collections: tuple[str, ...]
    others: tuple[Literal["collection", "entity", "story"], ...]
    counted: str
    unit: Literal["day", "week", "month", "year"]
    periods: tuple[PeriodBody, ...]
    total: int
    undated: int
    entries: tuple[EntryBody, ...]
