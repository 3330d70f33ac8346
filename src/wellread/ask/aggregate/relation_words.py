"""Relations that a question asks for in words: "funded by X", "what X depends on"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wellread.ask.aggregate.question_pieces import Item, place_of
from wellread.questions import NamedEntity
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.store.catalogue.graph.relation_network import Neighbour, Side
from wellread.text.stems import stem
from wellread.text.tokens import tokens_of

RelationWords = Mapping[tuple[str, ...], frozenset[str]]  # stems to relation types
_ANY = (("related", "to"), ("linked", "to"), ("connected", "to"), ("connected", "with"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which relation is asked for, of which entity.

    Attributes:
        types: relation types or names of inverses; None: any.
        side: how the relation runs, seen from the entity; None: either way.
        words: the relation as the question says it.
    """

    entities: tuple[NamedEntity, ...]
    types: tuple[str, ...] | None
    side: Side | None
    words: str


def relation_words(graph: Graph, collections: Sequence[str]) -> RelationWords:
    """The stems under which each relation of the collections is asked for."""
    found: dict[tuple[str, ...], set[str]] = {}
    for kind in graph.relation_kinds(collections) if collections else ():
        for said in (kind.type, *kind.words):
            found.setdefault(_stems(said), set()).add(kind.type)
        if not kind.inverse.startswith("←"):
            found.setdefault(_stems(kind.inverse), set()).add(kind.inverse)
    found.pop((), None)
    return {stems: frozenset(types) for stems, types in found.items()}


def asked_relation(
    items: Sequence[Item], relations: RelationWords
) -> tuple[Asked | None, list[Item]]:
    """The relation that the words ask for, and the words that are left."""
    named = next((place for place, item in enumerate(items) if item.entities), None)
    if named is None:
        return None, list(items)
    for stems in sorted(relations, key=len, reverse=True):
        place = place_of(items, stems)
        if place is not None:
            side: Side = "in" if place < named else "out"
            return _taken(items, place, len(stems), tuple(sorted(relations[stems])), side)
    for said in _ANY:
        place = place_of(items, [stem(word) for word in said])
        if place is not None:
            return _taken(items, place, len(said), None, None)
    return None, list(items)


def related(graph: Graph, asked: Asked) -> list[Neighbour]:
    """What the asked entities are related to."""
    return [
        neighbour
        for entity in asked.entities
        for neighbour in graph.neighbours(
            [entity.collection], entity.entity_id, asked.types, asked.side or "both"
        )
    ]


def _taken(
    items: Sequence[Item], place: int, size: int, types: tuple[str, ...] | None, side: Side | None
) -> tuple[Asked, list[Item]]:
    said = items[place : place + size]
    entity = next(item for item in items if item.entities)
    left = [item for item in items if item not in said and item is not entity]
    asked = Asked(
        entities=entity.entities,
        types=types,
        side=side,
        words=" ".join(item.plain for item in said),
    )
    return asked, left


def _stems(said: str) -> tuple[str, ...]:
    return tuple(stem(token.plain) for token in tokens_of(said.replace("_", " ")))
