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
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from wellread.codec import to_plain
from wellread.errors import SourceError
from wellread.identity import tagged_hash
from wellread.ingest.loaders.front_matter import YAML_LOADER, split
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
        return tagged_hash("shr", json.dumps(to_plain(self))) if self != Share() else ""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What was read of a file: its id and keys, times by key, edges by id; or why it ``failed``."""

    id: str = ""
    keys: tuple[str, ...] = ()
    times: Mapping[str, tuple[TimedTitle, ...]] = field(default_factory=dict)
    edges: Mapping[str, tuple[Relation, ...]] = field(default_factory=dict)
    failed: str = ""


ReadAhead = Callable[[Sequence[AheadRequest]], Sequence[Ahead]]


def read_ahead(path: Path, asked: Mapping[str, Any]) -> Ahead:
    """Read one file for others; runs where loaders run, as it is a stranger's file.

    A file that is no text, or whose front matter is malformed, yields nothing here: its own turn
    says what is wrong with it.

    Args:
        asked: ``AheadRequest.to_plain``.
    """
    text = _read(path)
    if "tree" in asked:
        return Ahead(edges=_edges(Hierarchy.model_validate(asked["tree"]), _loaded(path, text)))
    rule = Rule.model_validate(asked["rule"])
    fields = _fields(text)
    if not asked["times"]:
        return _own(rule, asked["relative"], fields)
    given = Given(fields=fields, facts=file_facts(asked["relative"]))
    times: dict[str, tuple[TimedTitle, ...]] = {}
    for giving in rule.gives_times:
        if text and (key := fill(giving.key, {}, given)):
            times[key] = (*times.get(key, ()), *marked_titles(text, giving))
    return Ahead(times=times)


def _read_here(requests: Sequence[AheadRequest]) -> list[Ahead]:
    return [read_ahead(request.path, request.to_plain()) for request in requests]


def prepare(
    settings: CollectionSettings, files: Sequence[tuple[str, Path]], read: ReadAhead = _read_here
) -> Prepared:
    """Find out what files need of each other.

    Args:
        files: every found file, with its path relative to the added folder.
        read: has files read (``read_ahead``) where they can do no harm.
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
    failed: dict[str, str] = {}

    def ask(those: Sequence[AheadRequest]) -> Iterator[tuple[AheadRequest, Ahead]]:
        asked = [request for request in those if request.relative not in failed]
        for request, found in zip(asked, read(asked), strict=True):
            if found.failed:
                failed[request.relative] = found.failed
            else:
                yield request, found

    times: dict[str, list[TimedTitle]] = defaultdict(list)
    edges: dict[str, list[Relation]] = defaultdict(list)
    for _, found in ask(requests):
        for key, titles in found.times.items():
            times[key] += titles
        for node, made in found.edges.items():
            edges[node] += made
    takers = [
        AheadRequest(relative=relative, path=path, rule=rule)
        for relative, path, rule in ruled
        if (times and rule.takes_times) or (edges and rule.id and not rule.entries)
    ]
    named = [(request, _by_name(request)) for request in takers]
    owns = [(request, own) for request, own in named if own]
    # A file is opened only when its name does not say its id and keys.
    owns += ask([request for request, own in named if own is None])
    shares = {
        request.relative: Share(
            times=tuple(one for key in own.keys for one in times.get(key, ())),
            relations=tuple(edges.get(own.id, ())),
        )
        for request, own in owns
    }
    filled = {name: share for name, share in shares.items() if share != Share()}
    return Prepared(shares=filled, failed=failed)


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
    return Ahead(id=fill(rule.id, {}, given), keys=tuple(filter(None, dict.fromkeys(keys))))


def _loaded(path: Path, text: str) -> object:
    try:
        return yaml.load(text, Loader=YAML_LOADER)  # noqa: S506 a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        logger.warning("%s: no tree of ids can be read from it: %s", path, error)
        return None


def _edges(tree: Hierarchy, root: object) -> dict[str, tuple[Relation, ...]]:
    """Each id with its edges, of the first ``MOST_NODES`` nodes."""
    edges: dict[str, list[Relation]] = defaultdict(list)
    waiting: list[tuple[object, str]] = [(root, "")]
    for _ in range(MOST_NODES):
        if not waiting:
            break
        node, above = waiting.pop()
        below = node.get(tree.children) if isinstance(node, dict) else None
        if not isinstance(below, list):
            continue
        names = [_name(tree, child) for child in below]
        for name, following in zip_longest(names, names[1:], fillvalue=""):
            if name and above:
                edges[name].append(Relation(type=tree.relation, target=above))
                if tree.next and following:
                    edges[name].append(Relation(type=tree.next, target=following))
        waiting += zip(below, names, strict=True)
    return {name: tuple(made) for name, made in edges.items()}


def _name(tree: Hierarchy, node: object) -> str:
    found = node.get(tree.id) if isinstance(node, dict) else node
    return str(found) if isinstance(found, str | int) else ""


def _read(path: Path) -> str:
    """The text of a file; nothing when it is too large or no text."""
    try:
        return path.read_text(encoding="utf-8-sig") if path.stat().st_size <= MOST_BYTES else ""
    except (OSError, UnicodeDecodeError) as error:
        logger.info("%s is not read ahead: %s", path, error)
        return ""


def _fields(text: str) -> Mapping[str, Any]:
    try:
        return split(text, "").fields
    except SourceError:
        return {}
