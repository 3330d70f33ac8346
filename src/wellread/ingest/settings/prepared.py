"""What one file of a collection needs of others, read ahead of the run: times and places in a tree.

Loaders see one source at a time, in a process of their own. So the files that say something about
others are read before, in such processes too, and each source gets its own share of what they say
(``Share``, plain JSON).
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from wellread.errors import SourceError
from wellread.identity import tagged_hash
from wellread.ingest.loaders.front_matter import YAML_LOADER, FrontMatter, split
from wellread.ingest.settings.collection import (
    PLACEHOLDER,
    CollectionSettings,
    Hierarchy,
    Rule,
)
from wellread.ingest.settings.picking import Given, file_facts, fill
from wellread.ingest.settings.segments import TimedTitle, marked_titles
from wellread.types import Relation

logger = logging.getLogger(__name__)

MOST_BYTES = 16 << 20  # of a file that is read ahead
MOST_NODES = 20_000  # of a tree of ids: YAML can fold one of any size into a few lines


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
            "times": _plain(self.times),
            "relations": [[one.type, one.target] for one in self.relations],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Share:
        """The share that ``to_plain`` made ``plain`` of."""
        return cls(
            times=tuple(_titles(plain.get("times", ()))),
            relations=tuple(
                Relation(type=kind, target=target) for kind, target in plain.get("relations", ())
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Path (relative to the added folder) to what that file gets from others.

    Attributes:
        failed: path to why nothing can be read of that file for the others.
    """

    shares: Mapping[str, Share] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def share(self, relative: str) -> Share:
        """What the file gets; an empty share for most."""
        return self.shares.get(relative, Share())


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadRequest:
    """One file that something is read of for others, with a rule or a tree's settings for it.

    Attributes:
        times: whether the times that it gives are wanted, or the id and the keys of its own.
    """

    relative: str
    path: Path
    rule: Rule | None = None
    tree: Hierarchy | None = None
    times: bool = False

    def to_plain(self) -> dict[str, Any]:
        """JSON values, without the path."""
        said = self.rule or self.tree
        plain = {} if said is None else said.model_dump(mode="json", by_alias=True)
        name = "tree" if self.rule is None else "rule"
        return {"relative": self.relative, "times": self.times, name: plain}


Ahead = Mapping[str, Any]
"""What was read of a file: ``times``, ``id`` and ``keys``, or ``edges``; or why it ``failed``."""
ReadAhead = Callable[[Sequence[AheadRequest]], Sequence[Ahead]]


def read_ahead(path: Path, asked: Mapping[str, Any]) -> Ahead:
    """Read one file for others; runs where loaders run, as it is a stranger's file.

    A file that is no text, or whose front matter is malformed, yields nothing here: its own turn
    says what is wrong with it.

    Args:
        asked: ``AheadRequest.to_plain``.
    """
    if "tree" in asked:
        edges = _tree_edges(Hierarchy.model_validate(asked["tree"]), path)
        return {"edges": [[node, one.type, one.target] for node, one in edges]}
    rule = Rule.model_validate(asked["rule"])
    if asked["times"]:
        return {"times": _times(rule, asked["relative"], path)}
    text = _read(path)
    return _own(rule, asked["relative"], _matter(text).fields if text else {})


def prepare(
    settings: CollectionSettings, files: Sequence[tuple[str, Path]], read: ReadAhead | None = None
) -> Prepared:
    """Find out what files need of each other.

    Args:
        files: every found file, with its path relative to the added folder.
        read: has files read (``read_ahead``) where they can do no harm; None: right here.
    """
    rules = [(relative, path, settings.rule_for(relative)) for relative, path in files]
    ruled = [(relative, path, rule) for relative, path, rule in rules if rule and not rule.skip]
    taken = any(rule.takes_times for _, _, rule in ruled)
    paths = dict(files)
    requests = [
        AheadRequest(relative=relative, path=path, rule=rule, times=True)
        for relative, path, rule in ruled
        if taken and rule.gives_times
    ]
    requests += [
        AheadRequest(relative=tree.file, path=paths[tree.file], tree=tree)
        for tree in settings.hierarchies
        if tree.file in paths
    ]
    reader = _Reader(read or _read_here)
    times: dict[str, list[TimedTitle]] = defaultdict(list)
    edges: dict[str, list[Relation]] = defaultdict(list)
    for _, found in reader.ask(requests):
        for key, titles in found.get("times", ()):
            times[key] += _titles(titles)
        for node, kind, target in found.get("edges", ()):
            edges[node].append(Relation(type=kind, target=target))
    takers = [
        AheadRequest(relative=relative, path=path, rule=rule)
        for relative, path, rule in ruled
        if (times and rule.takes_times) or (edges and rule.id and not rule.entries)
    ]
    shares = {
        request.relative: Share(
            times=tuple(one for key in own["keys"] for one in times.get(key, ())),
            relations=tuple(edges.get(own["id"], ())),
        )
        for request, own in reader.own(takers)
    }
    filled = {name: share for name, share in shares.items() if share != Share()}
    return Prepared(shares=filled, failed=reader.failed)


class _Reader:
    """Has files read, and keeps apart those that failed."""

    def __init__(self, read: ReadAhead) -> None:
        self._read = read
        self.failed: dict[str, str] = {}

    def ask(self, requests: Sequence[AheadRequest]) -> Iterator[tuple[AheadRequest, Ahead]]:
        asked = [request for request in requests if request.relative not in self.failed]
        for request, found in zip(asked, self._read(asked), strict=True):
            if reason := found.get("failed", ""):
                self.failed[request.relative] = reason
            else:
                yield request, found

    def own(self, requests: Sequence[AheadRequest]) -> Iterator[tuple[AheadRequest, Ahead]]:
        """Id and keys of each; a file is opened only when its name does not say them."""
        named = [_by_name(request) for request in requests]
        yield from ((one, own) for one, own in zip(requests, named, strict=True) if own)
        yield from self.ask([one for one, own in zip(requests, named, strict=True) if own is None])


def _read_here(requests: Sequence[AheadRequest]) -> list[Ahead]:
    return [read_ahead(request.path, request.to_plain()) for request in requests]


def _by_name(request: AheadRequest) -> Ahead | None:
    """Id and keys of a file by its path alone; None when they are made of what stands in it."""
    rule = request.rule
    if rule is None:
        return None
    wanted = (rule.id, *rule.takes_times)
    names = {name for template in wanted for name in PLACEHOLDER.findall(template)}
    known = names <= set(file_facts(request.relative))
    return _own(rule, request.relative, {}) if known else None


def _own(rule: Rule, relative: str, fields: Mapping[str, Any]) -> Ahead:
    given = Given(fields=fields, facts=file_facts(relative))
    keys = (fill(template, {}, given) for template in rule.takes_times)
    return {"id": fill(rule.id, {}, given), "keys": [key for key in dict.fromkeys(keys) if key]}


def _times(rule: Rule, relative: str, path: Path) -> list[tuple[str, list[Any]]]:
    """The times that a file gives, by the key of the document that they belong to."""
    text = _read(path)
    if text is None:
        return []
    given = Given(fields=_matter(text).fields, facts=file_facts(relative))
    keys = [(fill(giving.key, {}, given), giving) for giving in rule.gives_times]
    return [(key, _plain(marked_titles(text, giving))) for key, giving in keys if key]


def _tree_edges(tree: Hierarchy, path: Path) -> list[tuple[str, Relation]]:
    """Entity ids with their edges in a tree."""
    text = _read(path)
    if text is None:
        return []
    try:
        loaded = yaml.load(text, Loader=YAML_LOADER)  # noqa: S506 a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        logger.warning("%s: no tree of ids can be read from it: %s", path, error)
        return []
    return list(_edges(tree, loaded))


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


def _plain(titles: Sequence[TimedTitle]) -> list[Any]:
    return [[one.begin, list(one.titles)] for one in titles]


def _titles(plain: Sequence[Any]) -> list[TimedTitle]:
    return [TimedTitle(begin=begin, titles=tuple(titles)) for begin, titles in plain]


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
