"""Carries out a collection's rules on one source: the loader's documents, with our fields filled.

Runs where loaders run: in the worker, with nothing but the source and the settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import yaml

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
    Given,
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
    """How one source of a collection is read."""

    rule: Rule
    relative: str

    @cached_property
    def identity(self) -> str:
        """Follows the loader's identity in the source record: another one means: read again."""
        said = self.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return tagged_hash("rul", json.dumps(said, sort_keys=True), "")

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
        """The documents of ``source`` as the rule wants them."""
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
            yield _mapped(document, rule, given, _linked(rule, matter, given))

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        rule = self.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return {"rule": rule, "relative": self.relative}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> SourceRules:
        """The rules that ``to_plain`` made ``plain`` of."""
        return cls(rule=Rule.model_validate(plain["rule"]), relative=plain["relative"])


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
    edges = dict.fromkeys([*had, *_relations(rule, given), *links])
    return EntityFacts(
        entity_id=own,
        entity_type=rule.type or (document.entity.entity_type if document.entity else ""),
        aliases=pick_all(rule.aliases, given)
        or (document.entity.aliases if document.entity else ()),
        relations=tuple(edge for edge in edges if edge.target != own),
    )


def _relations(rule: Rule, given: Given) -> Iterator[Relation]:
    for made in rule.relations:
        whole: _Match = re.compile(made.pattern or r".+", re.DOTALL).fullmatch
        if made.source:
            for value in values(given.fields, made.source):
                yield from _edge(made.type, scalar(value), whole, made.target, given)
        elif words := fill(made.target, {}, given):
            yield Relation(type=made.type, target=words)


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
