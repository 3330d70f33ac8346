"""The parts of a question about the graph: names, relations, types, and the words between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from wellread.ask.aggregate.read.relation_senses import RelationWords, Said
from wellread.questions import NamedEntity
from wellread.text.english_catalogue import (
    AUXILIARIES,
    BEFORE_NOUNS,
    COMMANDS,
    DETERMINERS,
    GENERIC_NOUNS,
    PREPOSITIONS,
    RELATIVES,
    SHARING,
)
from wellread.text.words import stem
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of the question with its place; ``named`` when a capital says that it is a name."""

    plain: str
    span: Span
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """What the words of a question may mean: stems of type names, of dimensions, relations."""

    types: Mapping[str, frozenset[str]]
    dimensions: Mapping[str, str]
    relations: RelationWords


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part of the question that matters for its reading."""

    kind: Literal["entity", "relation", "type", "auxiliary", "relative", "same"]
    first: int
    last: int
    words: str = ""
    said: Said | None = None
    types: frozenset[str] = frozenset()
    plural: bool = False
    entities: tuple[tuple[NamedEntity, ...], ...] = ()


def lexicon_of(
    types: Sequence[str], dimensions: Sequence[str], relations: RelationWords
) -> Lexicon:
    """The lexicon for some entity types, dimensions and relations."""
    by_stem: dict[str, set[str]] = {}
    for name in types:
        for word in name.replace("_", " ").replace("-", " ").split()[-1:]:
            by_stem.setdefault(noun_of(word), set()).add(name)
    return Lexicon(
        types={word: frozenset(names) for word, names in by_stem.items()},
        dimensions={noun_of(name): name for name in dimensions},
        relations=relations,
    )


def groups_of(entities: Sequence[NamedEntity]) -> list[tuple[NamedEntity, ...]]:
    """Entities by their place in the question; those of one place are its possible meanings."""
    ordered = sorted(entities, key=_where)
    return [tuple(group) for _, group in groupby(ordered, key=_where)]


def _where(entity: NamedEntity) -> tuple[int, int]:
    return entity.span.start, entity.span.end


def kept_groups(
    groups: Sequence[tuple[NamedEntity, ...]], words: Sequence[Word], lexicon: Lexicon
) -> list[tuple[NamedEntity, ...]]:
    """The groups without words that name a type or a relation, as long as others are left."""

    def plays_another_part(group: tuple[NamedEntity, ...]) -> bool:
        inside = [at for at, word in enumerate(words) if word.span.overlaps(group[0].span)]
        plain = [words[at].plain for at in inside]
        if len(plain) != 1 or words[inside[0]].named:
            return False
        if noun_of(plain[0]) in lexicon.types or noun_of(plain[0]) in lexicon.dimensions:
            # "the term pattern": a type's name stands before it
            return not inside[0] or noun_of(words[inside[0] - 1].plain) not in lexicon.types
        found = lexicon.relations.find([word.plain for word in words], [False] * len(words))
        return any(said.first <= inside[0] < said.last for said in found)

    others = [group for group in groups if not plays_another_part(group)]
    return others or list(groups)


def units_of(
    words: Sequence[Word], groups: Sequence[tuple[NamedEntity, ...]], lexicon: Lexicon
) -> list[Unit]:
    """The parts of the question in order; words that are none of them are left out."""
    plain = [word.plain for word in words]
    inside = [
        next((at for at, group in enumerate(groups) if group[0].span.overlaps(word.span)), -1)
        for word in words
    ]
    blocked = [at >= 0 for at in inside]
    found = {said.first: said for said in lexicon.relations.find(plain, blocked)}
    units: list[Unit] = []
    place = 0
    while place < len(words):
        if blocked[place]:
            last = len(words) - inside[::-1].index(inside[place])
            units.append(
                Unit(kind="entity", first=place, last=last, entities=(groups[inside[place]],))
            )
            place = last
            continue
        said = found.get(place)
        unit = _plain_unit(plain, place, lexicon)
        if said is not None and not _is_noun(plain, said, unit, found):
            units.append(
                Unit(kind="relation", first=place, last=said.last, words=said.words, said=said)
            )
            place = said.last
            continue
        if unit is not None:
            units.append(unit)
        place += 1
    return _joined(units, plain)


def _plain_unit(plain: Sequence[str], place: int, lexicon: Lexicon) -> Unit | None:
    word = plain[place]
    if word == "same" or (word in SHARING and "with" in plain[place:]):
        return Unit(kind="same", first=place, last=place + 1)
    if word in AUXILIARIES or word in RELATIVES:
        return Unit(
            kind="auxiliary" if word in AUXILIARIES else "relative", first=place, last=place + 1
        )
    noun = noun_of(word)
    before = [other for other in plain[:place] if other not in DETERMINERS]
    after_same = bool(before) and before[-1] in {"same"} | SHARING and word not in DETERMINERS
    if noun in lexicon.types or word in GENERIC_NOUNS or after_same:
        return Unit(
            kind="type",
            first=place,
            last=place + 1,
            words=word,
            types=lexicon.types.get(noun, frozenset()),
            plural=word.endswith("s"),
        )
    article = place > 0 and plain[place - 1] in ("the", "a", "an")
    if article and plain[place + 1 : place + 2] in (["that"], ["which"], ["who"]):
        return Unit(kind="type", first=place, last=place + 1, words=word)
    return None


def _is_noun(plain: Sequence[str], said: Said, unit: Unit | None, starts: Collection[int]) -> bool:
    """Whether what looks like a relation is none: "which plays", "the fund that", "name all".

    Args:
        starts: where words for relations begin.
    """
    if said.first == 0 and plain[0] in COMMANDS:
        return True
    if unit is None or unit.kind != "type" or said.last > said.first + 1:
        return False
    before = plain[said.first - 1] if said.first else ""
    after = plain[said.last] if said.last < len(plain) else ""
    return before in BEFORE_NOUNS or said.last in starts or after in AUXILIARIES


def _joined(units: Sequence[Unit], plain: Sequence[str]) -> list[Unit]:
    """Names that stand side by side ("X and Y") as one unit."""
    joined: list[Unit] = []
    for unit in units:
        last = joined[-1] if joined else None
        if last is not None and last.kind == unit.kind == "entity":
            between = set(plain[last.last : unit.first])
            if between <= DETERMINERS | PREPOSITIONS | {"and", "or", "nor", "both"}:
                joined[-1] = replace(last, last=unit.last, entities=last.entities + unit.entities)
                continue
        joined.append(unit)
    return joined


def noun_of(word: str) -> str:
    """The stem of a noun, British and American spellings alike."""
    return stem(word.lower().replace("isation", "ization").replace("isations", "izations"))
