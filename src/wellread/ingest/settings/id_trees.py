"""Trees of ids in a collection, read ahead of the run: the edges that each file gets from them.

Loaders see one source at a time, in a process of their own. So the trees are read before, in such
processes too, and each source gets the edges of its own id.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from wellread.errors import SourceError
from wellread.ingest.loaders.front_matter import YAML_LOADER, split
from wellread.ingest.settings.collection import (
    PLACEHOLDER,
    CollectionSettings,
    Hierarchy,
    Rule,
)
from wellread.ingest.settings.picking import Given, file_facts, fill
from wellread.types import Relation

logger = logging.getLogger(__name__)

MOST_BYTES = 16 << 20  # of a file that is read ahead
MOST_NODES = 20_000  # of a tree of ids: YAML can fold one of any size into a few lines


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEdges:
    """Path (relative to the added folder) to the edges that file's entity gets from trees.

    Attributes:
        failed: path to why nothing can be read of that file for the others.
    """

    edges: Mapping[str, tuple[Relation, ...]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadRequest:
    """One file that is read ahead: a tree with its settings, or a file for the id its rule says."""

    relative: str
    path: Path
    rule: Rule | None = None
    tree: Hierarchy | None = None

    def to_plain(self) -> dict[str, Any]:
        """JSON values, without the path."""
        said = self.rule or self.tree
        plain = {} if said is None else said.model_dump(mode="json", by_alias=True)
        name = "tree" if self.rule is None else "rule"
        return {"relative": self.relative, name: plain}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What was read of a file: its id, or the edges of a tree by id; or why it ``failed``."""

    id: str = ""
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
    given = Given(fields=_fields(text), facts=file_facts(asked["relative"]))
    return Ahead(id=fill(Rule.model_validate(asked["rule"]).id, {}, given))


def _read_here(requests: Sequence[AheadRequest]) -> list[Ahead]:
    return [read_ahead(request.path, request.to_plain()) for request in requests]


def tree_edges(
    settings: CollectionSettings, files: Sequence[tuple[str, Path]], read: ReadAhead = _read_here
) -> TreeEdges:
    """The edges that files get from the trees of their collection.

    Args:
        files: every found file, with its path relative to the added folder.
        read: has files read (``read_ahead``) where they can do no harm.
    """
    paths = dict(files)
    failed: dict[str, str] = {}

    def ask(those: Sequence[AheadRequest]) -> Iterator[tuple[AheadRequest, Ahead]]:
        asked = [request for request in those if request.relative not in failed]
        for request, found in zip(asked, read(asked), strict=True):
            if found.failed:
                failed[request.relative] = found.failed
            else:
                yield request, found

    edges: dict[str, list[Relation]] = defaultdict(list)
    trees = [
        AheadRequest(relative=tree.file, path=paths[tree.file], tree=tree)
        for tree in settings.hierarchies
        if tree.file in paths
    ]
    for _, found in ask(trees):
        for node, made in found.edges.items():
            edges[node] += made
    ids: dict[str, str] = {}
    unknown: list[AheadRequest] = []
    for relative, path in files if edges else ():
        rule = settings.rule_for(relative)
        if rule is None or rule.skip or rule.entries or not rule.id:
            continue
        facts = file_facts(relative)
        # A file is opened only when its name does not say its id.
        if set(PLACEHOLDER.findall(rule.id)) <= set(facts):
            ids[relative] = fill(rule.id, {}, Given(facts=facts))
        else:
            unknown.append(AheadRequest(relative=relative, path=path, rule=rule))
    ids |= {request.relative: found.id for request, found in ask(unknown)}
    return TreeEdges(
        edges={relative: tuple(edges[own]) for relative, own in ids.items() if own in edges},
        failed=failed,
    )


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
