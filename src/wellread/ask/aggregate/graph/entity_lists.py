"""Shows a list of entities: in groups, each entity with a line about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wellread.ask.aggregate.graph.verbalize import listing
from wellread.ask.retrieve.retrieval import AggregateResult, Row
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.text.names import plural
from wellread.text.sentences import sentence_spans
from wellread.types import Hit

ABOUT_LENGTH = 160  # characters of the line about an entity

Pair = tuple[str, str]  # dimension and value
Key = tuple[str, str]  # collection and entity id


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An entity with what speaks for it.

    Attributes:
        hit: the best passage of its document.
        strong: whether search alone is reason enough to list it.
    """

    node: EntityNode
    score: float
    hit: Hit | None
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the question says about the entities it looks for.

    Attributes:
        types: entity types; empty when all will do.
        values: pairs of dimension and value.
        telling: the words that are left, by which the entities have to be ranked.
    """

    types: frozenset[str]
    values: tuple[Pair, ...]
    telling: tuple[str, ...]

    @property
    def exhaustive(self) -> bool:
        """Whether everything that has the type or the values is an answer."""
        return bool(self.values) or bool(self.types and not self.telling)


def key_of_node(node: EntityNode) -> Key:
    """What tells the entity from those of other collections too."""
    return (node.collection, node.id)


def grouped_by(
    listed: Sequence[Candidate], assigned: Mapping[Key, list[Pair]], wanted: Wanted
) -> dict[str, list[Candidate]]:
    """By type when there are several; else by the dimension that divides them best."""
    types = {one.node.type for one in listed}
    if len(types) > 1:
        return _by(listed, lambda one: [one.node.type or "without a type"])
    asked = {dimension for dimension, _ in wanted.values}
    counts: dict[str, set[str]] = {}
    for one in listed:
        for dimension, value in assigned.get((one.node.collection, one.node.id), ()):
            counts.setdefault(dimension, set()).add(value)
    useful = [
        (abs(len(values) - len(listed) ** 0.5), dimension)
        for dimension, values in counts.items()
        if dimension not in asked and 1 < len(values) < max(3, len(listed))
    ]
    if not useful:
        return {next(iter(types)) or "entities": list(listed)}
    chosen = min(useful)[1]

    def values_of(one: Candidate) -> list[str]:
        pairs = assigned.get((one.node.collection, one.node.id), ())
        return [value for dimension, value in pairs if dimension == chosen] or ["other"]

    return _by(listed, values_of)


def _by(
    listed: Sequence[Candidate], groups_of: Callable[[Candidate], list[str]]
) -> dict[str, list[Candidate]]:
    """Group to its entities; the group of the best entity first. An entity is in one group."""
    found: dict[str, list[Candidate]] = {}
    for one in listed:
        found.setdefault(groups_of(one)[0], []).append(one)
    return found


def tally_of(
    kb: KnowledgeBase, grouped: Mapping[str, Sequence[Candidate]], wanted: Wanted
) -> AggregateResult:
    """The list with a line about each entity, and how it was made."""
    nodes = [one.node for those in grouped.values() for one in those]
    about = _about(kb, nodes)
    scope = tuple(dict.fromkeys(node.collection for node in nodes))
    totals = kb.catalogue.graph.mention_totals(scope)
    rows = tuple(
        Row(
            cells=(
                group,
                one.node.title,
                about.get(one.node.document_id, ""),
                str(total.documents) if (total := totals.get(key_of_node(one.node))) else "0",
            ),
            document_ids=one.node.documents,
        )
        for group, those in grouped.items()
        for one in those
    )
    parts = [
        f"{group}: {listing([one.node.title for one in those])}" for group, those in grouped.items()
    ]
    if len(grouped) == 1:
        parts = [listing([node.title for node in nodes])]
    dash = " – " if len(grouped) > 1 else ": "
    types = {node.type for node in nodes}
    noun = (types.pop() if len(types) == 1 else "") or "entity"
    noun = noun if len(nodes) == 1 else plural(noun)
    return AggregateResult(
        kind="list",
        sentence=f"{len(nodes):,} {noun} {_are(len(nodes))} relevant{dash}{'; '.join(parts)}.",
        number=len(nodes),
        columns=("group", "name", "about", "named in documents"),
        rows=rows,
        method=_method(wanted),
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _method(wanted: Wanted) -> str:
    limits = [f"of the type {' or '.join(sorted(wanted.types))}"] if wanted.types else []
    limits += [f"{dimension}: {value}" for dimension, value in wanted.values]
    asked = f"entities {', '.join(limits)}" if limits else "entities"
    if wanted.exhaustive:
        return f"all {asked}"
    return f"{asked}, ranked by search in their own texts and by the passages that name them"


def _about(kb: KnowledgeBase, nodes: Sequence[EntityNode]) -> dict[str, str]:
    """Document id to one line about the entity: its first sentence, not counting headings."""
    found: dict[str, str] = {}
    for passage in kb.catalogue.passages_of([node.document_id for node in nodes]):
        if passage.document_id not in found:
            line = _first_sentence(passage.text)
            if line:
                found[passage.document_id] = line
    return found


def _first_sentence(text: str) -> str:
    for span in sentence_spans(text):
        line = " ".join(span.of(text).split())
        if line.startswith("#") or line[-1:] not in ".!?:;”\"')":
            continue
        if len(line) <= ABOUT_LENGTH:
            return line
        return line[:ABOUT_LENGTH].rsplit(" ", 1)[0].rstrip(",;:") + " …"
    return ""
