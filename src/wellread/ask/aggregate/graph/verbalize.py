"""Says what a walk through the graph found: ways, rows, one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.aggregate.graph.walk import Reached, Walked
from wellread.ask.aggregate.query import Hop, Walk
from wellread.ask.aggregate.read.relation_families import BOTH_WAYS
from wellread.ask.aggregate.read.relation_phrases import PREPOSITIONS, is_participle
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.store.catalogue.graph.relation_network import Neighbour, Path
from wellread.text.names import plural

MOST_NAMED = 12  # of the answers in the sentence; the rows hold all
MOST_WAYS = 3  # told for one answer
_STATES = frozenset("part member component home".split())


def path_text(path: Path) -> str:
    """The way in one line: ``X —uses→ Y ←part of— Z``."""
    return path.start.title + "".join(f" {_arrow(step)} {step.name}" for step in path.steps)


def _arrow(step: Neighbour) -> str:
    if step.relation.startswith("← "):
        return f"←{_plain(step.edge.type)}—"
    return f"—{_plain(step.relation)}→"


def how_text(one: Reached) -> str:
    """The ways to an answer, the first few in words."""
    ways = list(dict.fromkeys(map(path_text, one.paths)))
    more = f"; and {len(ways) - MOST_WAYS} more ways" if len(ways) > MOST_WAYS else ""
    return "; ".join(ways[:MOST_WAYS]) + more


def hops_sentence(
    asked: Walk, starts: Sequence[Sequence[EntityNode]], reached: Sequence[Reached]
) -> str:
    """What was asked for and what it is, in one sentence."""
    names = [_names(group) for group in starts]
    found = listing([one.name for one in reached])
    count = _counted(reached)
    if asked.all_of:
        return f"{listing(names)} have {count} in common{_over(asked)}: {found}."
    if len(asked.hops) == 1 and reached:
        hop, step = asked.hops[0], reached[0].paths[0].steps[-1]
        relations = {one.relation for r in reached for p in r.paths for one in p.steps}
        if hop.attribute:
            return f"{listing(names)} shares {_plain(hop.attribute)} with {count}: {found}."
        if len(relations) == 1 and len(names) == 1:
            return _one_relation(names[0], step, count, found)
        return f"{listing(names)} is related to {count}: {found}."
    return f"{count[:1].upper()}{count[1:]} reached from {listing(names)}{_over(asked)}: {found}."


def _one_relation(subject: str, step: Neighbour, count: str, found: str) -> str:
    if step.relation.startswith("← "):
        verb = _verb(_plain(step.edge.type))
        return f"What {verb} {subject}: {found}."
    return f"{subject} {_verb(_plain(step.relation))} {count}: {found}."


def _verb(relation: str) -> str:
    """The relation as a verb of a sentence, as far as its name lets one tell."""
    words = relation.split()
    if relation in BOTH_WAYS:
        return "is related to"
    if is_participle(words[0]) or words[0] in _STATES:
        return f"is {relation}"
    if words[0].endswith("s") and (len(words) == 1 or words[-1] in PREPOSITIONS):
        return relation
    return f"has the relation “{relation}” to"


def _over(asked: Walk) -> str:
    """Which words of the question led there, in the order of the walk."""
    said = [f"“{hop.words}”" for hop in asked.hops if hop.words]
    return f" over {', then '.join(said)}" if said else ""


def existence_sentence(asked: Walk, walked: Walked) -> str:
    """Yes with the edge, or no with the nearest way."""
    one, other = (_names(group) for group in walked.starts[:2])
    hop = asked.hops[0]
    said = hop.words or " or ".join(sense.type for sense in hop.senses) or "a relation"
    if walked.direct:
        return f"Yes: {path_text(walked.paths[0])}."
    no = f"No direct relation “{said}” from {one} to {other} is in the knowledge graph"
    if walked.paths:
        return f"{no}; the nearest way is {path_text(walked.paths[0])}."
    return f"{no}, and no way of four steps or less connects them."


def connection_sentence(walked: Walked) -> str:
    """How far apart the names are, and the shortest way."""
    names = listing([_names(group) for group in walked.starts])
    if not walked.paths:
        return f"No way of four steps or less connects {names} in the knowledge graph."
    steps = len(walked.paths[0].steps)
    far = "directly" if steps == 1 else f"in {steps} steps"
    others = len(walked.paths) - 1
    more = f" ({others} more of that length)" if others else ""
    return f"{names} are connected {far}: {path_text(walked.paths[0])}{more}."


def listing(names: Sequence[str]) -> str:
    """``A, B and C``; of many the first ones and how many more."""
    shown = list(names[:MOST_NAMED])
    left = len(names) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _counted(reached: Sequence[Reached]) -> str:
    types = {one.node.type for one in reached if one.node}
    noun = types.pop() if len(types) == 1 and all(one.node for one in reached) else ""
    noun = _plain(noun) or "entity"
    return f"{len(reached):,} {noun if len(reached) == 1 else plural(noun)}"


def _names(group: Sequence[EntityNode]) -> str:
    return " / ".join(dict.fromkeys(node.title for node in group))


def _plain(name: str) -> str:
    return name.replace("_", " ")


def hop_words(hops: Sequence[Hop]) -> str:
    """The relations that the hops follow, for the method of a result."""
    said = [
        hop.attribute
        or ", ".join(f"{_plain(sense.type)} ({_SIDE_WORDS[sense.side]})" for sense in hop.senses)
        or "any relation"
        for hop in hops
    ]
    return " → ".join(said)


_SIDE_WORDS = {"out": "from it", "in": "to it", "both": "both ways"}
