"""Carries out a collection's rules on one source: the loader's documents, with our fields filled.

Runs where loaders run: in the worker, with nothing but the source, the settings and its edges from
trees of ids (``hierarchies``): these are read before the run, in parser processes too, since a
loader sees one source at a time.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import yaml

from wellread.codec import from_plain, to_plain
from wellread.errors import SourceError
from wellread.identity import tagged_hash
from wellread.ingest.loaders.base import ENTRIES, Loader, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import (
    YAML_LOADER,
    FrontMatter,
    moment,
    refuse_readers,
    scalar,
    split,
)
from wellread.ingest.loaders.plain import Blocks, decode
from wellread.ingest.loaders.text import markdown_files as markdown
from wellread.ingest.settings.collection import (
    DOCUMENT_FACTS,
    MOST_VALUES,
    PLACEHOLDER,
    CollectionSettings,
    Given,
    Hierarchy,
    Rule,
    entries,
    file_facts,
    fill,
    pick,
    pick_all,
    values,
)
from wellread.types import Document, EntityFacts, LineMark, Relation

MARKDOWN = frozenset({"markdown", "markdown-transcript"})
_Match = Callable[[str], re.Match[str] | None]


@dataclass(frozen=True, kw_only=True)
class SourceRules:
    """How one source of a collection is read.

    Attributes:
        relative: the path below the folder that was added.
        edges: what its entity gets from trees of the collection.
    """

    rule: Rule
    relative: str
    edges: tuple[Relation, ...] = ()

    @cached_property
    def identity(self) -> str:
        """Follows the loader's identity in the source record: another one means: read again."""
        said = self.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        edges = json.dumps(to_plain(self.edges)) if self.edges else ""
        return tagged_hash("rul", json.dumps(said, sort_keys=True), edges)

    def loader_name(self, detected: str) -> str:
        """The loader for it, given the one that its content asks for; empty: it is left out."""
        if self.rule.skip:
            return ""
        if self.rule.entries:
            return ENTRIES
        if self.rule.kind is None or detected not in MARKDOWN:
            return detected
        return "markdown-transcript" if self.rule.kind == "transcript" else "markdown"

    def load(
        self, source: Source, limits: LoaderLimits, loader: Loader | None
    ) -> Iterator[Document]:
        """The documents of ``source`` as the rule wants them.

        Args:
            loader: the one that ``loader_name`` names; None for entries of a data file.

        Raises:
            SourceError: as loaders do; an id is made of something that the source does not say;
                a data file is neither YAML nor JSON.
        """
        rule, facts = self.rule, file_facts(self.relative)
        if rule.entries:
            yield from _entries(source, rule, facts)
            return
        if loader is None:
            raise SourceError(source.uri, "unknown kind of file")
        is_markdown = loader in (markdown.load, markdown.load_transcript)
        text = decode(source) if is_markdown else ""
        matter = split(text, source.uri)
        for document in loader(source, limits):
            own = {name: getattr(document, name.partition(".")[2]) for name in DOCUMENT_FACTS}
            given = Given(fields=matter.fields, facts={**facts, **own}, text=text or document.text)
            mapped = _mapped(document, rule, given, _linked(rule, matter, given))
            if self.edges and mapped.entity:
                entity = _with_relations(mapped.entity, self.edges)
                mapped = replace(mapped, entity=entity)
            yield mapped

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        rule = self.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return {"rule": rule, "relative": self.relative, "edges": to_plain(self.edges)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> SourceRules:
        """The rules that ``to_plain`` made ``plain`` of."""
        rule = Rule.model_validate(plain["rule"])
        edges = tuple(from_plain(Relation, edge) for edge in plain["edges"])
        return cls(rule=rule, relative=plain["relative"], edges=edges)


def _entries(source: Source, rule: Rule, facts: Mapping[str, str]) -> Iterator[Document]:
    """One document for each entry of a YAML or JSON file."""
    try:
        tree = yaml.load(decode(source), Loader=YAML_LOADER)  # noqa: S506 a safe loader
    except (yaml.YAMLError, ValueError) as error:  # a date such as 2024-13-45
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise SourceError(
            source.uri, f"neither YAML nor JSON{where}: {getattr(error, 'problem', error)}"
        ) from error
    for key, entry in entries(tree, rule.entries):
        fields = entry if isinstance(entry, dict) else {"value": entry}
        refuse_readers(fields, source.uri, deep=False)
        blocks = Blocks()
        said = [words for name in rule.text if (words := _words(fields, name))]
        for words in dict.fromkeys(said):
            markdown.write(blocks, markdown.parse(markdown.strip_templates(words)), first_line=1)
        here = Given(fields=fields, facts={**facts, "entry.key": key}, text="\n\n".join(said))
        title = markdown.plain_line(pick(rule.title or ("title", "name"), here)) or key
        if blocks.empty:  # a name alone is still a node
            blocks.block(title)
        text, marks = blocks.build()
        given = replace(here, facts={**here.facts, "document.title": title})
        document = Document(
            collection=source.collection,
            uri=f"{source.uri}#{key}",
            kind=rule.kind or "entity",
            title=title,
            text=text,
            # The parser saw the entry alone: its lines are not those of the file.
            marks=tuple(mark for mark in marks if not isinstance(mark, LineMark)),
            source_type=ENTRIES,
        )
        matter = FrontMatter(fields=fields, body="\n\n".join(said))
        yield _mapped(document, rule, given, _linked(rule, matter, given))


def _words(fields: Mapping[str, Any], name: str) -> str:
    """What a field says; paragraphs stay."""
    found = [value for value in values(fields, name) if isinstance(value, str) and value.strip()]
    return "\n\n".join(found)


def _mapped(document: Document, rule: Rule, given: Given, links: Iterable[Relation]) -> Document:
    """The document with everything that the rule says about it."""
    changes: dict[str, Any] = {
        name: words
        for name in ("source_type", "language", "media_url", "title", "summary")
        if (words := pick(getattr(rule, name), given))
    }
    for name in {"title", "summary"} & changes.keys():
        changes[name] = markdown.plain_line(changes[name]) or getattr(document, name)
    if url := fill(rule.url, {}, given):
        changes["url"] = url
    if rule.kind is not None:
        changes["kind"] = rule.kind
    if when := moment(pick(rule.published_at, given)):
        changes["published_at"] = when
    if authors := pick_all(rule.authors, given):
        changes["authors"] = authors
    if rule.taxonomy is not None:
        named = {name: pick_all(one, given) for name, one in rule.taxonomy.items()}
        changes["taxonomy"] = {name: found for name, found in named.items() if found}
    if rule.id:
        changes["entity"] = _entity(document, rule, given, links)
    return replace(document, **changes)


def _entity(document: Document, rule: Rule, given: Given, links: Iterable[Relation]) -> EntityFacts:
    """The node that the document is, with its edges; none leads back to itself."""
    own = fill(rule.id, {}, given)
    if not own:
        raise SourceError(document.uri, f"no id: it says nothing to fill {rule.id} with")
    had = document.entity.relations if document.entity else ()
    entity = EntityFacts(
        entity_id=own,
        entity_type=rule.type or (document.entity.entity_type if document.entity else ""),
        aliases=pick_all(rule.aliases, given)
        or (document.entity.aliases if document.entity else ()),
    )
    return _with_relations(entity, [*had, *_relations(rule, given), *links])


def _with_relations(entity: EntityFacts, relations: Iterable[Relation]) -> EntityFacts:
    edges = dict.fromkeys([*entity.relations, *relations])
    kept = tuple(edge for edge in edges if edge.target != entity.entity_id)
    return replace(entity, relations=kept)


def _relations(rule: Rule, given: Given) -> Iterator[Relation]:
    for made in rule.relations:
        whole: _Match = re.compile(made.pattern or r".+", re.DOTALL).fullmatch
        for value in values(given.fields, made.source):
            yield from _edge(made.type, scalar(value), whole, made.target, given)


def _linked(rule: Rule, matter: FrontMatter, given: Given) -> list[Relation]:
    if not rule.links:
        return []
    tokens = markdown.parse(markdown.strip_templates(matter.body))
    found = markdown.links(tokens) if any(one.href or one.label for one in rule.links) else []
    edges: list[Relation] = []
    for made in rule.links:
        if made.find:
            for place in islice(re.finditer(made.find, matter.body), MOST_VALUES):
                edges += _target(made.type, place, made.target, given)
            continue
        whole: _Match = re.compile(made.href or made.label).fullmatch
        for link in found:
            side = link.href if made.href else link.label
            edges += _edge(made.type, side, whole, made.target, given)
    return edges


def _edge(kind: str, words: str, whole: _Match, target: str, given: Given) -> Iterator[Relation]:
    found = whole(words) if words else None
    if found:
        yield from _target(kind, found, target, given)


def _target(kind: str, found: re.Match[str], target: str, given: Given) -> Iterator[Relation]:
    """The edge to what a match names: a template, its group ``target``, or all of it."""
    groups = {name: words for name, words in found.groupdict().items() if words}
    if target:
        words = fill(target, {**groups, "value": found.group()}, given)
    else:
        words = groups.get("target", "") if "target" in found.re.groupindex else found.group()
    if words.strip():
        yield Relation(type=kind, target=" ".join(words.split()))


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
