"""A collection's settings file: maps fields of the sources to document fields, ids and edges.

``wellread-collection.yaml`` declares the relation types of the collection and an ordered list of
rules; the first rule whose patterns match a file's path applies to it. ``docs/collections.md`` is
the reference; ``mapping.py`` applies the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

import yaml
from pathspec import GitIgnoreSpec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
    model_validator,
)

from wellread.errors import SettingsError, SourceError, invalid_value
from wellread.ingest.loaders.base import SETTINGS_NAME
from wellread.ingest.loaders.front_matter import refuse_readers, scalar
from wellread.types import Kind

LEGACY_KEY = "hierarchies"  # a key that earlier releases stored
PLACEHOLDER = re.compile(r"\{([^{}\s]+)\}")
FILE_FACTS = ("file.stem", "file.name", "file.path", "file.folder")
DOCUMENT_FACTS = ("document.title", "document.url", "document.uri")
ENTRY_FACTS = ("entry.key",)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


def _template(text: str) -> str:
    names = (*FILE_FACTS, *DOCUMENT_FACTS, *ENTRY_FACTS)
    for name in PLACEHOLDER.findall(text):
        if name.split(".")[0] in ("file", "document", "entry") and name not in names:
            raise ValueError(f"{{{name}}} is not known; possible are {', '.join(names)}")
    return text


def _as_list(value: object) -> object:
    return value if value is None or isinstance(value, list | tuple) else [value]


Pattern = Annotated[str, AfterValidator(_pattern)]
Template = Annotated[str, AfterValidator(_template)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _Part(BaseModel):
    """Base of all parts of the settings: immutable, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class PatternValue(_Part):
    """A value found in the file's text: the pattern's first group, or the whole match."""

    find: Pattern


class TemplateValue(_Part):
    """A value built from a template: words and ``{placeholders}``."""

    text: Template


def _value_form(value: object) -> str | None:
    if isinstance(value, PatternValue) or (isinstance(value, dict) and "find" in value):
        return "<find>"
    if isinstance(value, TemplateValue) or (isinstance(value, dict) and "text" in value):
        return "<text>"
    return "<field>" if isinstance(value, str) else None


_Value = Annotated[
    Annotated[str, Tag("<field>")]
    | Annotated[PatternValue, Tag("<find>")]
    | Annotated[TemplateValue, Tag("<text>")],
    Discriminator(
        _value_form,
        custom_error_type="form",
        custom_error_message="give the name of a field, {find: …} or {text: …}",
    ),
]
Pick = Annotated[tuple[_Value, ...], BeforeValidator(_as_list)]
"""Where a value comes from; of several, the first that exists (for lists: all of them)."""


class RelationType(_Part):
    """A relation type: the name of its inverse, and the words that people use for it."""

    inverse: str = Field(min_length=1)
    words: tuple[str, ...] = ()


class RelationRule(_Part):
    """Edges from a field: one for each of its values that the pattern matches as a whole.

    Without a field there is one edge, to the filled target (``{file.folder}``).
    """

    type: str = Field(min_length=1)
    source: str = Field(default="", alias="from")
    pattern: Pattern = ""
    target: Template = ""

    @model_validator(mode="after")
    def _from_somewhere(self) -> Self:
        if not (self.source or self.target):
            raise ValueError("give from, target or both")
        return self


class LinkRule(_Part):
    """Edges from links in the body: by address, by reference label, or by a pattern of text."""

    type: str = Field(min_length=1)
    href: Pattern = ""
    label: Pattern = ""
    find: Pattern = ""
    target: Template = ""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(map(bool, (self.href, self.label, self.find))) != 1:
            raise ValueError("give one of href, label and find")
        return self


class Rule(_Part):
    """How files with matching paths are read."""

    match: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = Field(min_length=1)
    skip: bool = False
    kind: Kind | None = None
    id: Template = ""
    type: str = ""
    url: Template = ""
    title: Pick = ()
    summary: Pick = ()
    published_at: Pick = ()
    language: Pick = ()
    source_type: Pick = ()
    media_url: Pick = ()
    authors: Pick = ()
    aliases: Pick = ()
    taxonomy: dict[str, Pick] | None = None
    relations: tuple[RelationRule, ...] = ()
    links: tuple[LinkRule, ...] = ()
    entries: str = ""
    text: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.id and (self.relations or self.links or self.type or self.aliases):
            raise ValueError("relations, links, type and aliases need an id to belong to")
        if bool(self.entries) != bool(self.text):
            raise ValueError("entries and text go together: which entries, and their text fields")
        if self.entries and not self.id:
            raise ValueError("entries need an id, such as {entry.key}")
        _spec(self.match)
        return self


class CellTarget(_Part):
    """The target number of documents of cells with these values of the dimensions."""

    where: dict[Word, Word] = Field(min_length=1)
    documents: int = Field(ge=0)


class CoverageTargets(_Part):
    """The target number of documents of each cell.

    Attributes:
        by: the two dimensions that are shown by default.
        target: for each cell; None takes the setting ``coverage.target``.
        cells: different targets for some cells; the last one that matches counts.
    """

    by: tuple[Word, ...] = Field(default=(), max_length=2)
    target: int | None = Field(default=None, ge=0)
    values: dict[Word, tuple[Word, ...]] = {}
    cells: tuple[CellTarget, ...] = ()


class CollectionSettings(_Part):
    """The content of a settings file."""

    relations: dict[str, RelationType] = {}
    rules: tuple[Rule, ...] = ()
    coverage: CoverageTargets = CoverageTargets()

    @model_validator(mode="before")
    @classmethod
    def _names_no_readers(cls, data: object) -> object:
        try:
            refuse_readers(data, SETTINGS_NAME, deep=False)
        except SourceError as error:
            raise ValueError(error.reason) from error
        return data

    @classmethod
    def parse(cls, text: str, where: str) -> CollectionSettings:
        """Parse settings from YAML; ``where`` is the file's name in error messages."""
        try:
            loaded = yaml.safe_load(text)
            lines = yaml.compose(text, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            line = f", line {mark.line + 1}" if mark else ""
            problem = getattr(error, "problem", None) or error
            raise SettingsError(f"{where}{line}: not YAML: {problem}") from error
        try:
            return cls.model_validate({} if loaded is None else loaded)
        except ValidationError as error:
            raise SettingsError(
                _explain(where, lines, error),
                hint="docs/collections.md lists what a settings file may contain",
            ) from error

    @classmethod
    def read(cls, path: Path) -> CollectionSettings:
        """Read settings from a file."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} cannot be read: {error}") from error
        return cls.parse(text, str(path))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> CollectionSettings:
        """Rebuild settings from the result of ``to_plain``."""
        try:
            return cls.model_validate({name: plain[name] for name in plain if name != LEGACY_KEY})
        except ValidationError as error:
            raise SettingsError(
                _explain("stored settings", None, error), hint="give the settings file again"
            ) from error

    def to_plain(self) -> dict[str, Any]:
        """Return the settings as JSON values, without defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def rule_for(self, relative: str) -> Rule | None:
        """Return the first rule that matches the path (relative to the added folder), or None."""
        return next((rule for rule in self.rules if _spec(rule.match).match_file(relative)), None)

    @model_validator(mode="after")
    def _declared(self) -> Self:
        declared = {*self.relations, *(relation.inverse for relation in self.relations.values())}
        used_types = [edge_rule.type for rule in self.rules for edge_rule in rule.relations]
        used_types += [edge_rule.type for rule in self.rules for edge_rule in rule.links]
        unknown = sorted(set(used_types) - declared)
        if unknown:
            raise ValueError(f"relations does not declare {', '.join(unknown)}")
        return self


@lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(patterns)


def _explain(where: str, tree: yaml.Node | None, error: ValidationError) -> str:
    """Describe every problem as ``file, line 3: rules.0.kind: why``."""
    messages = []
    for problem in error.errors():
        path = [step for step in problem["loc"] if not str(step).startswith("<")]
        line, name = _line_of(tree, path), ".".join(map(str, path))
        why = invalid_value(problem, name)
        messages.append(f"{where}{f', line {line}' if line else ''}: {why}")
    return "; ".join(messages)


def _line_of(tree: yaml.Node | None, path: Sequence[str | int]) -> int:
    """Return the line (from 1) of the innermost existing node on the path ``path``, or 0."""
    line = tree.start_mark.line + 1 if tree else 0
    for step in path:
        if isinstance(tree, yaml.MappingNode):
            pairs = {key.value: (key, value) for key, value in tree.value}
            if step not in pairs:
                break
            key, tree = pairs[step]
            line = key.start_mark.line + 1
        elif isinstance(tree, yaml.SequenceNode) and isinstance(step, int):
            if step >= len(tree.value):
                break
            tree = tree.value[step]
            line = tree.start_mark.line + 1
        else:
            break
    return line


MAX_VALUES = 100_000  # values of one field: a few lines of YAML can expand to a tree of any size
WILDCARD = "*"
_NOTHING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSources:
    """The sources of values: fields, facts about file and document, and the text."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def file_facts(relative: str) -> dict[str, str]:
    """Return the ``file.*`` placeholders for a path relative to the added folder."""
    path = PurePosixPath(relative)
    return {
        "file.stem": path.stem,
        "file.name": path.name,
        "file.path": path.with_suffix("").as_posix() if path.name else "",
        "file.folder": path.parent.name,
    }


def values(fields: Mapping[str, Any], path: str) -> list[object]:
    """Return all values at ``path``: names joined by dots, ``*`` for every key; lists are flat."""
    if path in fields:  # a field whose own name holds a dot
        return list(islice(_items(fields[path]), MAX_VALUES))
    level: list[object] = [fields]
    for step in path.split("."):
        level = list(islice(_children(level, step), MAX_VALUES))
    return [item for value in level for item in _items(value)][:MAX_VALUES]


def entries(tree: object, path: str) -> list[tuple[str, object]]:
    """Return the entries at ``path`` with their keys; the keys of a list are positions from 1."""
    pairs: list[tuple[str, object]] = [("", tree)]
    for step in path.split("."):
        pairs = list(islice(_keyed_children(pairs, step), MAX_VALUES))
    return pairs


def fill(template: str, substitutions: Mapping[str, str], sources: ValueSources) -> str:
    """Fill the placeholders of ``template``; empty if the value of any placeholder is missing."""
    missing = False

    def value(match: re.Match[str]) -> str:
        nonlocal missing
        name = match.group(1)
        words = substitutions.get(name) or sources.facts.get(name) or first(sources, name)
        missing = missing or not words
        return words

    filled = PLACEHOLDER.sub(value, template)
    return "" if missing else filled


def first(sources: ValueSources, path: str) -> str:
    """Return the first text, number or date at ``path``; empty if there is none."""
    return next((words for value in values(sources.fields, path) if (words := scalar(value))), "")


def pick(choices: Pick, sources: ValueSources) -> str:
    """Return the first value that exists; empty if none does."""
    return next(iter(_pick_values(choices, sources)), "")


def pick_all(choices: Pick, sources: ValueSources) -> tuple[str, ...]:
    """Return all values, without repeats."""
    return tuple(dict.fromkeys(islice(_pick_values(choices, sources), MAX_VALUES)))


def _pick_values(choices: Pick, sources: ValueSources) -> Iterator[str]:
    for item in choices:
        if isinstance(item, PatternValue):
            for match in re.finditer(item.find, sources.text, re.DOTALL):
                words = match.group(1) if match.re.groups else match.group()
                if words and words.strip():
                    yield " ".join(words.split())
        elif isinstance(item, TemplateValue):
            words = fill(item.text, {}, sources)
            if words:
                yield words
        else:
            yield from (words for value in values(sources.fields, item) if (words := scalar(value)))


def _items(value: object) -> Iterator[object]:
    """Yield the items of nested lists in ``value``, in at most ``MAX_VALUES`` steps."""
    waiting = [iter([value])]
    for _ in range(MAX_VALUES):
        item = next(waiting[-1], _NOTHING)
        if item is _NOTHING:
            waiting.pop()
            if not waiting:
                return
        elif isinstance(item, list | tuple):
            waiting.append(iter(item))
        else:
            yield item


def _children(trees: list[object], step: str) -> Iterator[object]:
    for tree in trees:
        for item in _items(tree):
            if isinstance(item, Mapping):
                if step == WILDCARD:
                    yield from item.values()
                elif step in item:
                    yield item[step]


def _keyed_children(pairs: list[tuple[str, object]], step: str) -> Iterator[tuple[str, object]]:
    for _, tree in pairs:
        if isinstance(tree, Mapping):
            if step == WILDCARD:
                yield from ((str(key), value) for key, value in tree.items())
            elif step in tree:
                yield step, tree[step]
        elif isinstance(tree, list) and step == WILDCARD:
            yield from ((str(number), value) for number, value in enumerate(tree, 1))
