"""Applies a collection's rules to one source: fills the fields of the loader's documents.

Runs in the parser process, with nothing but the source and the settings.
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
    parse_moment,
    refuse_readers,
    scalar,
    split,
)
from wellread.ingest.loaders.plain import Blocks, decode
from wellread.ingest.loaders.text import markdown_files as markdown
from wellread.ingest.settings.collection import (
    DOCUMENT_FACTS,
    MAX_VALUES,
    Rule,
    ValueSources,
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
    """The rule that applies to one source of a collection."""

    rule: Rule
    relative: str

    @cached_property
    def identity(self) -> str:
        """A hash of the rule in the source record; if it changes, the source is read again."""
        return tagged_hash("rul", json.dumps(self.to_plain()["rule"], sort_keys=True), "")

    def loader_name(self, detected: str) -> str:
        """Return the loader to use instead of the ``detected`` one; empty to leave it out."""
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
        """Load the documents of ``source`` and apply the rule to them."""
        rule, facts = self.rule, file_facts(self.relative)
        if rule.entries:
            yield from _entries(source, rule, facts)
            return
        if loader is None:
            raise SourceError(source.uri, "unsupported file type")
        is_markdown = loader in (markdown.load, markdown.load_transcript)
        text = decode(source) if is_markdown else ""
        matter = split(text, source)
        for document in loader(source, limits):
            document_facts = {
                name: getattr(document, name.partition(".")[2]) for name in DOCUMENT_FACTS
            }
            data = ValueSources(
                fields=matter.fields, facts={**facts, **document_facts}, text=text or document.text
            )
            yield _apply(document, rule, data, _link_relations(rule, matter, data))

    def to_plain(self) -> dict[str, Any]:
        """Return the rule and the path as JSON values."""
        rule = self.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return {"rule": rule, "relative": self.relative}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> SourceRules:
        """Rebuild the rules from the result of ``to_plain``."""
        return cls(rule=Rule.model_validate(plain["rule"]), relative=plain["relative"])


def _entries(source: Source, rule: Rule, facts: Mapping[str, str]) -> Iterator[Document]:
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
        texts = [words for name in rule.text if (words := _field_text(fields, name))]
        for words in dict.fromkeys(texts):
            markdown.write(blocks, markdown.parse(markdown.strip_templates(words)), first_line=1)
        entry_data = ValueSources(
            fields=fields, facts={**facts, "entry.key": key}, text="\n\n".join(texts)
        )
        title = markdown.plain_line(pick(rule.title or ("title", "name"), entry_data)) or key
        if blocks.empty:  # an entity without a description is its name
            blocks.block(title)
        text, marks = blocks.build()
        data = replace(entry_data, facts={**entry_data.facts, "document.title": title})
        document = Document(
            collection=source.collection,
            uri=f"{source.uri}#{key}",
            kind=rule.kind or "entity",
            title=title,
            text=text,
            # The parser saw only the entry, so its line numbers do not fit the file.
            marks=tuple(mark for mark in marks if not isinstance(mark, LineMark)),
            source_type=ENTRIES,
        )
        matter = FrontMatter(fields=fields, body="\n\n".join(texts))
        yield _apply(document, rule, data, _link_relations(rule, matter, data))


def _field_text(fields: Mapping[str, Any], name: str) -> str:
    texts = [value for value in values(fields, name) if isinstance(value, str) and value.strip()]
    return "\n\n".join(texts)


def _apply(
    document: Document, rule: Rule, data: ValueSources, links: Iterable[Relation]
) -> Document:
    changes: dict[str, Any] = {
        name: words
        for name in ("source_type", "language", "media_url", "title", "summary")
        if (words := pick(getattr(rule, name), data))
    }
    for name in {"title", "summary"} & changes.keys():
        changes[name] = markdown.plain_line(changes[name]) or getattr(document, name)
    if url := fill(rule.url, {}, data):
        changes["url"] = url
    if rule.kind is not None:
        changes["kind"] = rule.kind
    if when := parse_moment(pick(rule.published_at, data)):
        changes["published_at"] = when
    if authors := pick_all(rule.authors, data):
        changes["authors"] = authors
    if rule.taxonomy is not None:
        taxonomy = {name: pick_all(choices, data) for name, choices in rule.taxonomy.items()}
        changes["taxonomy"] = {name: picked for name, picked in taxonomy.items() if picked}
    if rule.id:
        changes["entity"] = _entity(document, rule, data, links)
    return replace(document, **changes)


def _entity(
    document: Document, rule: Rule, data: ValueSources, links: Iterable[Relation]
) -> EntityFacts:
    own_id = fill(rule.id, {}, data)
    if not own_id:
        raise SourceError(document.uri, f"no id: it has no value to fill {rule.id} with")
    before = document.entity or EntityFacts(entity_id=own_id)
    edges = dict.fromkeys([*before.relations, *_relations(rule, data), *links])
    return EntityFacts(
        entity_id=own_id,
        entity_type=rule.type or before.entity_type,
        aliases=pick_all(rule.aliases, data) or before.aliases,
        relations=tuple(edge for edge in edges if edge.target != own_id),
    )


def _relations(rule: Rule, data: ValueSources) -> Iterator[Relation]:
    for edge_rule in rule.relations:
        full_match: _Match = re.compile(edge_rule.pattern or r".+", re.DOTALL).fullmatch
        if edge_rule.source:
            for value in values(data.fields, edge_rule.source):
                yield from _edge(edge_rule.type, scalar(value), full_match, edge_rule.target, data)
        elif words := fill(edge_rule.target, {}, data):
            yield Relation(type=edge_rule.type, target=words)


def _link_relations(rule: Rule, matter: FrontMatter, data: ValueSources) -> list[Relation]:
    if not rule.links:
        return []
    tokens = markdown.parse(markdown.strip_templates(matter.body))
    links = markdown.links(tokens) if any(item.href or item.label for item in rule.links) else []
    edges: list[Relation] = []
    for link_rule in rule.links:
        if link_rule.find:
            for match in islice(re.finditer(link_rule.find, matter.body), MAX_VALUES):
                edges += _target(link_rule.type, match, link_rule.target, data)
            continue
        full_match: _Match = re.compile(link_rule.href or link_rule.label).fullmatch
        for link in links:
            side = link.href if link_rule.href else link.label
            edges += _edge(link_rule.type, side, full_match, link_rule.target, data)
    return edges


def _edge(
    kind: str, words: str, full_match: _Match, target: str, data: ValueSources
) -> Iterator[Relation]:
    match = full_match(words) if words else None
    if match:
        yield from _target(kind, match, target, data)


def _target(kind: str, match: re.Match[str], target: str, data: ValueSources) -> Iterator[Relation]:
    """Yield an edge to the filled template, else to the group ``target`` or the whole match."""
    groups = {name: words for name, words in match.groupdict().items() if words}
    if target:
        words = fill(target, {**groups, "value": match.group()}, data)
    else:
        words = groups.get("target", "") if "target" in match.re.groupindex else match.group()
    if words.strip():
        yield Relation(type=kind, target=" ".join(words.split()))
