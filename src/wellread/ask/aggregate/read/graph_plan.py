"""Reads a question about the graph: from which entities, over which relations, to what.

A question is read from the entity that it names outwards. Words to the left of what is known so
far are asked from the other side ("who uses X"), words to the right from its own ("what X uses").
What was read becomes one thing with the noun before it ("the topics that X is related to"), and
the reading goes on around that; so a question may have any number of hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.ask.aggregate.queries.query import Hop, Sense
from wellread.ask.aggregate.read.question_pieces import (
    Lexicon,
    Unit,
    Word,
    groups_of,
    kept_groups,
    noun_of,
    units_of,
)
from wellread.ask.aggregate.read.relation_senses import Said
from wellread.questions import NamedEntity
from wellread.text.english import STOP_WORDS
from wellread.text.english_catalogue import AROUND_A_WALK, AUXILIARIES, IN_COMMON, OF_CONNECTION
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a question asks of the graph, as its words were understood.

    Attributes:
        starts: for each name in the question the entities that it may mean.
        hops: to be made from the starts, in order; of a path, from the first one.
        path: whether the ways between the starts are asked for, not what the hops lead to.
        all_of: whether an answer must be reached from every start.
        understood: whether the question's words for the relation are known; else any relation
            is followed.
        complete: whether every word of the question that says something has a part in it.
        type_spans: where the question's nouns for entity types stand.
        read_as: which entities were meant by parts of their names, in words.
    """

    starts: tuple[tuple[NamedEntity, ...], ...]
    hops: tuple[Hop, ...] = ()
    path: bool = False
    all_of: bool = False
    understood: bool = True
    complete: bool = True
    type_spans: tuple[Span, ...] = ()
    read_as: tuple[str, ...] = ()


def plan_of(
    words: Sequence[Word], entities: Sequence[NamedEntity], lexicon: Lexicon
) -> Plan | None:
    """What the question asks of the graph; None when it names no entity."""
    groups = kept_groups(groups_of(entities), words, lexicon)
    if not groups:
        return None
    units = units_of(words, groups, lexicon)
    named = [unit for unit in units if unit.kind == "entity"]
    flat = [group for unit in named for group in unit.entities]
    plain = [word.plain for word in words]
    relations = [unit for unit in units if unit.kind == "relation"]
    spans = tuple(
        Span(start=words[unit.first].span.start, end=words[unit.last - 1].span.end)
        for unit in units
        if unit.kind == "type"
    )
    plan = None
    if len(flat) > 1:
        inside = {at for unit in named for at in range(unit.first, unit.last)}
        outside = [word for at, word in enumerate(plain) if at not in inside]
        plan = _of_several(outside, units, flat, relations)
    if plan is None:
        plan = _best_chain(units, named, lexicon)
    complete = plan.complete and not _unread(words, units)
    return replace(plan, complete=complete, type_spans=spans)


def _unread(words: Sequence[Word], units: Sequence[Unit]) -> list[str]:
    """The words that say something and are no part of the reading."""
    read = {at for unit in units for at in range(unit.first, unit.last)}
    return [
        word.plain
        for at, word in enumerate(words)
        if at not in read
        and word.plain not in STOP_WORDS | OF_CONNECTION | IN_COMMON | AROUND_A_WALK
    ]


def _of_several(
    plain: Sequence[str],
    units: Sequence[Unit],
    flat: Sequence[tuple[NamedEntity, ...]],
    relations: Sequence[Unit],
) -> Plan | None:
    """A question about several names together; ``plain`` are the words that are not in a name."""
    starts = tuple(flat)
    said = next((unit for unit in relations if unit.said), None)
    first_word = plain[0] if plain else ""
    shared = bool(IN_COMMON & set(plain))
    yes_or_no = first_word in AUXILIARIES and plain[1:2] != ["there"] and not shared
    if yes_or_no and len(starts) == 2 and said is not None and said.said is not None:
        hop = Hop(senses=said.said.senses, words=said.words)
        return Plan(starts=starts, hops=(hop,), path=True)
    asks_how = first_word == "how" or bool(OF_CONNECTION & set(plain)) or "connects" in plain
    if not shared and (asks_how or ("connect" in plain and first_word in ("what", "who"))):
        return Plan(starts=starts, path=True)
    if shared:
        first = next(unit.first for unit in units if unit.kind == "entity")
        types = next((unit.types for unit in units if unit.kind == "type"), frozenset())
        if said is None or said.said is None:
            hop = Hop(types=types)
        else:
            before = said.first < first and not _attributive(units, said)
            senses = _flipped(said.said) if before else said.said.senses
            hop = Hop(senses=senses, types=types, words=said.words)
        return Plan(starts=starts, hops=(hop,), all_of=True)
    return None


def _attributive(units: Sequence[Unit], said: Unit) -> bool:
    """Whether the relation's word stands before a noun ("which related topics")."""
    place = units.index(said)
    return place + 1 < len(units) and units[place + 1].kind == "type"


def _best_chain(units: Sequence[Unit], named: Sequence[Unit], lexicon: Lexicon) -> Plan:
    plans = [_chain(units, units.index(unit), lexicon) for unit in named]
    return max(plans, key=lambda plan: (plan.understood, len(plan.hops)))


def _chain(units: Sequence[Unit], place: int, lexicon: Lexicon) -> Plan:
    """The hops around one entity, read outwards."""
    start = units[place]
    starts = start.entities
    left, right = place - 1, place + 1
    if _is_apposition(units, left):
        narrowed = tuple(_of_types(group, units[left].types) for group in starts)
        starts = narrowed if units[left].types else starts
        left -= 1
    hops: list[Hop] = []
    while True:
        while right < len(units) and units[right].kind in ("auxiliary", "relative"):
            right += 1
        if left >= 1 and units[left].kind == "type" and units[left - 1].kind == "same":
            made, left = _same(units, left, lexicon)
            hops += made
            left, hops[-1] = _labelled(units, left, right, hops[-1])
            continue
        said = units[left].said if left >= 0 else None
        if said is not None:
            hop = Hop(senses=_flipped(said), words=units[left].words)
            left -= 1
        elif right < len(units) and (said := units[right].said) is not None:
            hop = Hop(senses=said.senses, words=units[right].words)
            right += 1
        else:
            break
        left, hop = _labelled(units, left, right, hop)
        hops.append(hop)
    understood = bool(hops)
    if not hops:
        hop = _nearest(units, place) or _labelled(units, left, right, Hop())[1]
        understood = bool(hop.words)
        hops = [hop]
    around = (*units[: left + 1], *units[right:])
    return Plan(
        starts=starts,
        hops=tuple(hops),
        understood=understood,
        complete=all(unit.kind not in ("entity", "relation") for unit in around),
    )


def _nearest(units: Sequence[Unit], place: int) -> Hop | None:
    """A hop by a relation that stands apart from the name, the last one before it or the next."""
    for unit in (*reversed(units[:place]), *units[place + 1 :]):
        if unit.said is not None:
            senses = _flipped(unit.said) if unit.first < units[place].first else unit.said.senses
            return Hop(senses=senses, words=unit.words)
    return None


def _is_apposition(units: Sequence[Unit], place: int) -> bool:
    """Whether the noun there says what the name after it is ("the term waste")."""
    if place < 0 or units[place].kind != "type" or units[place].plural:
        return False
    return place == 0 or units[place - 1].kind != "same"


def _same(units: Sequence[Unit], place: int, lexicon: Lexicon) -> tuple[list[Hop], int]:
    """The hops of "in the same NOUN as X"; ``place`` is the noun's."""
    noun, before = units[place], place - 2
    said = units[before].said if before >= 0 else None
    dimension = lexicon.dimensions.get(noun_of(noun.words), "")
    if said is None:
        if dimension:
            return [Hop(attribute=dimension, words=f"same {noun.words}")], before
        return [Hop(types=noun.types), Hop()], before
    words = units[before].words
    if dimension and not noun.types:
        return [Hop(attribute=dimension, words=f"same {noun.words}")], before - 1
    there = Hop(senses=said.senses, types=noun.types, words=words)
    return [there, Hop(senses=_flipped(said), words=words)], before - 1


def _labelled(units: Sequence[Unit], left: int, right: int, hop: Hop) -> tuple[int, Hop]:
    """The hop with the noun for its end, when there is one to the left; and what is left then.

    In "which groups do the patterns that link to X belong to" the groups wait for the last hop:
    an auxiliary stands between.
    """
    place, crossed = left, False
    while place >= 0 and units[place].kind in ("relative", "auxiliary"):
        crossed = crossed or units[place].kind == "auxiliary"
        place -= 1
    if place < 0:
        return left, hop
    unit = units[place]
    if unit.kind == "type" and not (place >= 1 and units[place - 1].kind == "same"):
        waits = crossed and any(later.kind == "relation" for later in units[right:])
        return (left, hop) if waits else (place - 1, replace(hop, types=unit.types))
    if unit.kind == "relation" and not crossed:
        return place, hop
    return left, hop


def _of_types(group: tuple[NamedEntity, ...], types: frozenset[str]) -> tuple[NamedEntity, ...]:
    fitting = tuple(entity for entity in group if entity.type in types)
    return fitting or group


def _flipped(said: Said) -> tuple[Sense, ...]:
    return tuple(sense.flipped() for sense in said.senses)
