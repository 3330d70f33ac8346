"""What a model is told of the sources beside their text: type, taxonomy values, relations.

A passage of an entity rarely says what kind of thing it is and what it is linked to; the catalogue
and the graph know. It stands with the first passage of each document, so that it is read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wellread.answers import Evidence
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.types import DocumentFacts

SourceFacts = Mapping[str, tuple[tuple[str, str], ...]]
"""Evidence key to names and values, in order."""

MOST_RELATED = 12  # names of one entity; a hub has hundreds
MOST_VALUES = 12  # of one dimension of the taxonomy
INCOMING = "← "  # before the name of a relation that has no inverse


def source_facts(kb: KnowledgeBase, evidence: Sequence[Evidence]) -> SourceFacts:
    """What the catalogue and the graph know of the documents of ``evidence``.

    ``context.include_metadata`` and ``context.include_relationships`` say what of it is told.
    """
    wanted = kb.settings.context
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    seen: set[str] = set()
    for piece in evidence:
        document = piece.hit.document
        if document.id in seen:
            continue
        seen.add(document.id)
        node = _node(kb, document)
        facts: list[tuple[str, str]] = []
        if wanted.include_metadata:
            facts += [("type", node.type)] if node and node.type else []
            facts += _taxonomy(kb, document.id, node)
        if wanted.include_relationships and node:
            facts += _relations(kb, node)
        if facts:
            found[piece.key] = tuple(facts)
    return found


def _node(kb: KnowledgeBase, document: DocumentFacts) -> EntityNode | None:
    """The entity that the document describes."""
    named = kb.catalogue.graph.resolve([document.collection], document.title)
    return next((node for node in named if document.id in node.documents), None)


def _taxonomy(
    kb: KnowledgeBase, document_id: str, node: EntityNode | None
) -> list[tuple[str, str]]:
    listed = kb.catalogue.listings.listed(document_id)
    if listed is None:
        return []
    return [
        (dimension, _some(values, MOST_VALUES))
        for dimension, values in sorted(listed.taxonomy.items())
        if values and not (node and values == (node.type,))  # the type stands there already
    ]


def _relations(kb: KnowledgeBase, node: EntityNode) -> list[tuple[str, str]]:
    """The entity's relations, each with the names that it leads to, in one line."""
    named: dict[str, list[str]] = {}
    for one in kb.catalogue.graph.neighbours([node.collection], node.id):
        named.setdefault(one.relation, []).append(one.name)
    said = []
    for relation, names in sorted(named.items(), key=lambda item: len(item[1])):
        words, told = relation.replace("_", " "), _some(names, MOST_RELATED)
        incoming = words.startswith(INCOMING)
        said.append(
            f"{told} {words.removeprefix(INCOMING)} this" if incoming else f"{words} {told}"
        )
    return [("relations", "; ".join(said))] if said else []


def _some(names: Sequence[str], most: int) -> str:
    told = list(dict.fromkeys(names))
    more = f" and {len(told) - most} more" if len(told) > most else ""
    return f"{', '.join(told[:most])}{more}"
