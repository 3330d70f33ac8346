"""A count to be made, and its result: what the modules that count share."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.ask.aggregate.countable_nouns import Noun
from wellread.ask.aggregate.read_request import Request
from wellread.ask.aggregate.relation_words import related
from wellread.ask.aggregate.scope import Scope
from wellread.ask.aggregate.topic_terms import Holding, documents_about
from wellread.ask.retrieve.retrieval import Row
from wellread.store.catalogue.documents.aggregates import Entry
from wellread.store.catalogue.graph.entity_nodes import EntityNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What a question asks to count, and where."""

    request: Request
    scope: Scope
    conditions: tuple[str, ...]

    @property
    def noun(self) -> Noun:
        """What is counted."""
        return self.request.noun


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The rows of a count. ``number`` is set when it is not that of the rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    method: str
    number: int | None = None
    sentence: str = ""


def entries_of(count: Count) -> tuple[list[Entry], Holding | None]:
    """The documents that are meant, and what was found of the topic in them."""
    entries = count.scope.entries()
    if count.request.relation:
        near = {known for node in nodes_near(count) for known in node.documents}
        entries = [entry for entry in entries if entry.id in near]
    if count.request.topic is None:
        return entries, None
    held = documents_about(count.scope, count.request.topic)
    return [entry for entry in entries if entry.id in held.counts], held


def nodes_near(count: Count) -> list[EntityNode]:
    """The entities that the asked relation leads to."""
    asked = count.request.relation
    if asked is None:
        return []
    near = related(count.scope.kb.catalogue.graph, asked)
    found = {(one.node.collection, one.node.id): one.node for one in near if one.node}
    return list(found.values())


def narrowed(count: Count) -> Scope:
    """The scope, without the documents that are not about the topic."""
    if count.request.topic is None and count.request.relation is None:
        return count.scope
    entries, _ = entries_of(count)
    return count.scope.only([entry.id for entry in entries])
