"""The JSON of entities (camelCase), also written by ``--json`` on the command line."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from wellread.serve.api.schemas import SourceBody, SpanBody


class _Body(BaseModel):
    model_config = SpanBody.model_config


class EntityRefBody(_Body):
    """An entity in a line. ``viewUrl`` opens the document that describes it."""

    collection: str
    id: str
    type: str
    title: str
    document_id: str
    view_url: str


class RelationBody(_Body):
    """What the entity is related to, read from the entity.

    ``relation`` is the type or, for an edge that points to the entity (``direction`` is ``in``),
    its inverse. ``entity`` is null when ``name`` is not there yet.
    """

    relation: str
    direction: Literal["out", "in"]
    known: bool
    name: str
    entity: EntityRefBody | None


class MentionBody(SourceBody):
    """A document that names the entity; its first mention, at ``nameSpan``, in its sentence."""

    mentions: int
    name: str
    name_span: SpanBody


class MentionTotalBody(_Body):
    """How many documents name the entity, and how often altogether."""

    documents: int
    mentions: int


class EntityBody(EntityRefBody):
    """An entity with its facts, relations and mentions. ``others`` are called the same."""

    aliases: tuple[str, ...]
    url: str
    summary: str
    taxonomy: dict[str, tuple[str, ...]]
    relations: tuple[RelationBody, ...]
    mention_total: MentionTotalBody
    mentions: tuple[MentionBody, ...]
    others: tuple[EntityRefBody, ...]


class EntityLineBody(EntityRefBody):
    """An entity in a list: how many relations it has, how many documents name it, how often."""

    relations: int
    mentioned_in: int
    mentions: int


class EntityTypeBody(_Body):
    """Entities of one type, the most often named first; ``count`` is of all of them."""

    type: str
    count: int
    entities: tuple[EntityLineBody, ...]


class EntityListBody(_Body):
    """Every type of entity with its count."""

    count: int
    types: tuple[EntityTypeBody, ...]
