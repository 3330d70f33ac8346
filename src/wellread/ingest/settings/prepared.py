"""What one file of a collection needs of others, read ahead of the run: times and places in a tree.

Loaders see one source at a time, in a process of their own. So the files that say something about
others are read before, and each source gets its own share of it (``Share``, plain JSON).
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from wellread.errors import SourceError
from wellread.identity import tagged_hash
from wellread.ingest.loaders.front_matter import YAML_LOADER, FrontMatter, split
from wellread.ingest.settings.collection import CollectionSettings, Hierarchy, Rule, TimesRule
from wellread.ingest.settings.picking import Given, file_facts, fill
from wellread.ingest.settings.segments import LEAD_CHARACTERS, TimedTitle, normal
from wellread.types import Relation

logger = logging.getLogger(__name__)

MOST_BYTES = 16 << 20  # of a file that is read ahead
MOST_NODES = 20_000  # of a tree of ids: YAML can fold one of any size into a few lines
MOST_TITLES = 6

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a file gets from others.

    Attributes:
        times: of its parts.
        relations: of its entity, from trees.
    """

    times: tuple[TimedTitle, ...] = ()
    relations: tuple[Relation, ...] = ()

    @property
    def digest(self) -> str:
        """Changes with anything in it; empty for an empty share."""
        return tagged_hash("shr", json.dumps(self.to_plain())) if self != Share() else ""

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "times": [[one.begin, list(one.titles)] for one in self.times],
            "relations": [[one.type, one.target] for one in self.relations],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Share:
        """The share that ``to_plain`` made ``plain`` of."""
        return cls(
            times=tuple(
                TimedTitle(begin=begin, titles=tuple(titles))
                for begin, titles in plain.get("times", ())
            ),
            relations=tuple(
                Relation(type=kind, target=target) for kind, target in plain.get("relations", ())
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Path (relative to the added folder) to what that file gets from others."""

    shares: Mapping[str, Share] = field(default_factory=dict)

    def share(self, relative: str) -> Share:
        """What the file gets; an empty share for most."""
        return self.shares.get(relative, Share())


def prepare(settings: CollectionSettings, files: Sequence[tuple[str, Path]]) -> Prepared:
    """Read ahead what files need of each other.

    Files that cannot be read are left out here: their own turn says what is wrong with them.

    Args:
        files: every found file, with its path relative to the added folder.
    """
    rules = [(relative, path, settings.rule_for(relative)) for relative, path in files]
    ruled = [(relative, path, rule) for relative, path, rule in rules if rule and not rule.skip]
    times: dict[str, list[TimedTitle]] = defaultdict(list)
    if any(rule.takes_times for _, _, rule in ruled):
        for relative, path, rule in ruled:
            if rule.gives_times:
                _gather_times(times, relative, path, rule)
    edges = _tree_edges(settings.hierarchies, dict(files))
    shares: dict[str, Share] = {}
    for relative, path, rule in ruled:
        if (times and rule.takes_times) or (edges and rule.id and not rule.entries):
            shares[relative] = _share(rule, _given(relative, path, rule), times, edges)
    return Prepared(shares={name: share for name, share in shares.items() if share != Share()})


def marked_titles(text: str, rule: TimesRule) -> list[TimedTitle]:
    """Every time in ``text`` that the rule finds, with the titles it may belong to."""
    lines = text.split("\n")
    found: list[TimedTitle] = []
    line, place, before = 0, 0, -1
    for mark in re.finditer(rule.find, text, re.DOTALL):
        begin = _seconds(mark["time"])
        if begin is None:
            continue
        line += text.count("\n", place, mark.start())
        place = mark.start()
        title = mark.groupdict().get("title")
        titles = [title] if title else _titles_over(lines, line, before)
        before = line
        found.append(TimedTitle(begin=begin, titles=tuple(map(normal, titles))))
    return found


def _gather_times(
    times: dict[str, list[TimedTitle]], relative: str, path: Path, rule: Rule
) -> None:
    text = _read(path)
    if text is None:
        return
    given = Given(fields=_matter(text).fields, facts=file_facts(relative))
    for giving in rule.gives_times:
        key = fill(giving.key, {}, given)
        if key:
            times[key] += marked_titles(text, giving)


def _titles_over(lines: Sequence[str], number: int, before: int) -> list[str]:
    """Beginnings of the list items, paragraphs and sections around a line, the likeliest first.

    That is the innermost; but of nested list items the outermost to which no earlier time (on
    line ``before``) belongs: a time at the end of its last part is the time of the whole.
    """
    items: list[tuple[int, str]] = []
    paragraphs: list[str] = []
    headings: list[str] = []
    indent, level = len(lines[number]) + 1, 7
    for place in range(number, -1, -1):
        line = lines[place]
        item, heading = _ITEM.match(line), _HEADING.match(line)
        if heading and len(heading[1]) < level:
            level, indent = len(heading[1]), 0
            headings.append(heading[2])
        elif item and len(item[1]) < indent:
            indent = len(item[1])
            items.append((place, _lead(lines, place, item[2])))
        elif level == 7 and line.strip() and not (place and lines[place - 1].strip()):
            paragraphs.append(_lead(lines, place, line))
        if level == 1 or len(items) + len(headings) == MOST_TITLES:
            break
    whole = [lead for place, lead in items if place > before][-1:]
    return [*whole, *(lead for _, lead in items), *paragraphs[:MOST_TITLES], *headings]


def _lead(lines: Sequence[str], place: int, first: str) -> str:
    """The beginning of a list item, over as many lines as its title may take."""
    words = first
    for line in lines[place + 1 :]:
        if not line.strip() or _ITEM.match(line) or len(words) >= LEAD_CHARACTERS:
            break
        words += " " + line.strip()
    return words[: 2 * LEAD_CHARACTERS]


def _tree_edges(trees: Sequence[Hierarchy], files: Mapping[str, Path]) -> dict[str, list[Relation]]:
    """Entity id to its edges in the trees."""
    edges: dict[str, list[Relation]] = defaultdict(list)
    for tree in trees:
        path = files.get(tree.file)
        text = _read(path) if path else None
        if text is None:
            continue
        try:
            loaded = yaml.load(text, Loader=YAML_LOADER)  # noqa: S506 a safe loader
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            logger.warning("%s: no tree of ids can be read from it: %s", path, error)
            continue
        for node, relation in _edges(tree, loaded):
            edges[node].append(relation)
    return edges


def _edges(tree: Hierarchy, root: object) -> Iterator[tuple[str, Relation]]:
    """Each id with its edges, of the first ``MOST_NODES`` nodes."""
    waiting: list[tuple[object, str]] = [(root, "")]
    for _ in range(MOST_NODES):
        if not waiting:
            return
        node, above = waiting.pop()
        below = node.get(tree.children) if isinstance(node, dict) else None
        if not isinstance(below, list):
            continue
        names = [_name(tree, child) for child in below]
        for place, name in enumerate(names):
            if name and above:
                yield name, Relation(type=tree.relation, target=above)
                if tree.next and place + 1 < len(names) and names[place + 1]:
                    yield name, Relation(type=tree.next, target=names[place + 1])
        waiting += zip(below, names, strict=True)


def _name(tree: Hierarchy, node: object) -> str:
    found = node.get(tree.id) if isinstance(node, dict) else node
    return str(found) if isinstance(found, str | int) else ""


def _share(
    rule: Rule,
    given: Given,
    times: Mapping[str, Sequence[TimedTitle]],
    edges: Mapping[str, Sequence[Relation]],
) -> Share:
    keys = [fill(template, {}, given) for template in rule.takes_times]
    return Share(
        times=tuple(one for key in dict.fromkeys(keys) if key for one in times.get(key, ())),
        relations=tuple(edges.get(fill(rule.id, {}, given), ())),
    )


def _given(relative: str, path: Path, rule: Rule) -> Given:
    """The facts that the rule's id and keys are made of; the file is opened only when needed."""
    facts = file_facts(relative)
    wanted = (rule.id, *rule.takes_times)
    names = {name for template in wanted for name in re.findall(r"\{([^{}]+)\}", template)}
    text = _read(path) if names - set(facts) else None
    return Given(fields=_matter(text).fields if text else {}, facts=facts)


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        logger.info("%s is not read ahead: %s", path, error)
        return None


def _matter(text: str) -> FrontMatter:
    try:
        return split(text, "")
    except SourceError:
        return FrontMatter(body=text)


def _seconds(stamp: str) -> float | None:
    parts = stamp.strip().split(":")
    if not 2 <= len(parts) <= 3 or not all(
        re.fullmatch(r"\d{1,3}(?:\.\d+)?", one) for one in parts
    ):
        return None
    total = 0.0
    for part in parts:
        total = total * 60 + float(part)
    return total
