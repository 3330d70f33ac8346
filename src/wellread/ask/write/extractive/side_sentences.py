"""The sentences about each side of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.write.extractive.candidate_sentences import Option
from wellread.text.parsed import parse

OF_A_SIDE = 2  # sentences at most


@dataclass(frozen=True, slots=True, kw_only=True)
class SidePlaces:
    """Numbers of the options that are about one side; those about several are apart."""

    name: str
    places: tuple[int, ...]


def sides_of(
    names: Sequence[str], evidence: Sequence[Evidence], options: Sequence[Option]
) -> tuple[tuple[SidePlaces, ...], tuple[int, ...]]:
    """For each side the options about it alone, and the options that name more than one.

    A sentence that names no side is about the one that its title or heading names.
    """
    stems = [parse(name).stem_set for name in names]
    titles = [piece.heading.stem_set for piece in evidence]
    alone: list[list[int]] = [[] for _ in names]
    several: list[int] = []
    for place, option in enumerate(options):
        if not option.readable:
            continue
        named = [number for number, side in enumerate(stems) if side and side <= option.stems]
        if len(named) > 1:
            several.append(place)
            continue
        if not named:
            above = titles[option.evidence]
            named = [number for number, side in enumerate(stems) if side and side <= above]
        if len(named) == 1:
            alone[named[0]].append(place)
    return (
        tuple(
            SidePlaces(name=name, places=tuple(places))
            for name, places in zip(names, alone, strict=True)
        ),
        tuple(several),
    )
