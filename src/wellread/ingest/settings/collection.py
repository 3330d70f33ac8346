"""A collection's settings file: how foreign front matter becomes our fields, ids and edges.

``wellread-collection.yaml`` names the relation types of the collection, and an ordered list of
rules; the first rule whose patterns match a file's path says what becomes of it. The reference is
``docs/collections.md``; ``mapping.py`` carries the rules out.
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

from wellread.errors import SettingsError, SourceError
from wellread.ingest.loaders.front_matter import refuse_readers, scalar
from wellread.types import Kind

SETTINGS_NAME = "wellread-collection.yaml"
GONE = "hierarchies"  # that earlier releases stored
PLACEHOLDER = re.compile(r"\{([^{}\s]+)\}")
FILE_FACTS = ("file.stem", "file.name", "file.path", "file.folder")
DOCUMENT_FACTS = ("document.title", "document.url", "document.uri")
ENTRY_FACTS = ("entry.key",)


def _pattern(given: str) -> str:
    try:
        re.compile(given)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return given


def _template(given: str) -> str:
    known = (*FILE_FACTS, *DOCUMENT_FACTS, *ENTRY_FACTS)
    for name in PLACEHOLDER.findall(given):
        if name.split(".")[0] in ("file", "document", "entry") and name not in known:
            raise ValueError(f"{{{name}}} is not known; there are {', '.join(known)}")
    return given


def _listed(given: object) -> object:
    """One value where several may stand."""
    return given if given is None or isinstance(given, list | tuple) else [given]


Pattern = Annotated[str, AfterValidator(_pattern)]
Template = Annotated[str, AfterValidator(_template)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _Part(BaseModel):
    """A part of the settings: nothing unknown, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Find(_Part):
    """A value that stands in the file's text: the pattern's first group, or all it matches."""

    find: Pattern


class Made(_Part):
    """A value that is made of others: words and ``{placeholders}``."""

    text: Template


def _form(given: object) -> str | None:
    if isinstance(given, Find) or (isinstance(given, dict) and "find" in given):
        return "<find>"
    if isinstance(given, Made) or (isinstance(given, dict) and "text" in given):
        return "<text>"
    return "<field>" if isinstance(given, str) else None


_One = Annotated[
    Annotated[str, Tag("<field>")]
    | Annotated[Find, Tag("<find>")]
    | Annotated[Made, Tag("<text>")],
    Discriminator(
        _form,
        custom_error_type="form",
        custom_error_message="give the name of a field, {find: …} or {text: …}",
    ),
]
Pick = Annotated[tuple[_One, ...], BeforeValidator(_listed)]
"""Where a value comes from; of several, the first that is there (of lists: all together)."""


class RelationType(_Part):
    """A relation type: the name of its other direction, and the words that people use for it."""

    inverse: str = Field(min_length=1)
    words: tuple[str, ...] = ()


class RelationRule(_Part):
    """Edges from a field: each of its values that the whole pattern matches is one.

    Without a field there is one edge, to what the target says (``{file.folder}``).
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
    """What becomes of the files that match."""

    match: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(min_length=1)
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
    text: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.id and (self.relations or self.links or self.type or self.aliases):
            raise ValueError("relations, links, type and aliases need an id to belong to")
        if bool(self.entries) != bool(self.text):
            raise ValueError("entries and text go together: which entries, and what they say")
        if self.entries and not self.id:
            raise ValueError("entries need an id, such as {entry.key}")
        _spec(self.match)
        return self


class CellTarget(_Part):
    """How many documents cells are to have that lie in these values of the dimensions."""

    where: dict[Word, Word] = Field(min_length=1)
    documents: int = Field(ge=0)


class CoverageTargets(_Part):
    """How many documents each cell is to have.

    Attributes:
        by: the two dimensions that are shown where none are asked for.
        target: of each cell; None takes the setting ``coverage.target``.
        cells: other targets of some cells; the last that fits counts.
    """

    by: tuple[Word, ...] = Field(default=(), max_length=2)
    target: int | None = Field(default=None, ge=0)
    values: dict[Word, tuple[Word, ...]] = {}
    cells: tuple[CellTarget, ...] = ()

    def of(self, cell: Mapping[str, str], usual: int) -> int:
        """The target of a cell, given as dimension to value."""
        found = usual if self.target is None else self.target
        for one in self.cells:
            if all(cell.get(name) == value for name, value in one.where.items()):
                found = one.documents
        return found


class CollectionSettings(_Part):
    """Everything that a settings file says."""

    relations: dict[str, RelationType] = {}
    rules: tuple[Rule, ...] = ()
    coverage: CoverageTargets = CoverageTargets()

    @model_validator(mode="before")
    @classmethod
    def _names_no_readers(cls, given: object) -> object:
        try:
            refuse_readers(given, SETTINGS_NAME, deep=False)
        except SourceError as error:
            raise ValueError(error.reason) from error
        return given

    @classmethod
    def parse(cls, text: str, where: str) -> CollectionSettings:
        """The settings in a YAML text."""
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
                _told(where, lines, error),
                hint="docs/collections.md lists what a settings file may say",
            ) from error

    @classmethod
    def read(cls, path: Path) -> CollectionSettings:
        """The settings in a file."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} cannot be read: {error}") from error
        return cls.parse(text, str(path))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> CollectionSettings:
        """The settings that ``to_plain`` made ``plain`` of."""
        try:
            return cls.model_validate({name: plain[name] for name in plain if name != GONE})
        except ValidationError as error:
            raise SettingsError(
                _told("stored settings", None, error), hint="give the settings file again"
            ) from error

    def to_plain(self) -> dict[str, Any]:
        """JSON values, without what was not given."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def rule_for(self, relative: str) -> Rule | None:
        """The first rule that matches the path (relative to the added folder), or None."""
        return next((rule for rule in self.rules if _spec(rule.match).match_file(relative)), None)

    @model_validator(mode="after")
    def _declared(self) -> Self:
        known = {*self.relations, *(one.inverse for one in self.relations.values())}
        used = [made.type for rule in self.rules for made in rule.relations]
        used += [made.type for rule in self.rules for made in rule.links]
        unknown = sorted(set(used) - known)
        if unknown:
            raise ValueError(f"relations does not declare {', '.join(unknown)}")
        return self


@lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(patterns)


def _told(where: str, tree: yaml.Node | None, error: ValidationError) -> str:
    """Every problem as ``file, line 3: rules.0.kind: why``."""
    told = []
    for problem in error.errors():
        place = [step for step in problem["loc"] if not str(step).startswith("<")]
        line, name = _line_of(tree, place), ".".join(map(str, place))
        why = problem["msg"].removeprefix("Value error, ")
        told.append(
            f"{where}{f', line {line}' if line else ''}: {f'{name}: ' if name else ''}{why}"
        )
    return "; ".join(told)


def _line_of(tree: yaml.Node | None, place: Sequence[str | int]) -> int:
    """The line (from 1) of the innermost node on the way to ``place``; 0 when there is none."""
    line = tree.start_mark.line + 1 if tree else 0
    for step in place:
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


MOST_VALUES = 100_000  # of one field: YAML can fold a tree of any size into a few lines
EACH = "*"
_NOTHING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a value can be taken from."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def file_facts(relative: str) -> dict[str, str]:
    """``file.*`` of a path relative to the added folder."""
    path = PurePosixPath(relative)
    return {
        "file.stem": path.stem,
        "file.name": path.name,
        "file.path": path.with_suffix("").as_posix() if path.name else "",
        "file.folder": path.parent.name,
    }


def values(fields: Mapping[str, Any], path: str) -> list[object]:
    """Everything at ``path``: names joined by dots, ``*`` for each; lists are gone through."""
    if path in fields:  # a field whose own name holds a dot
        return list(islice(_items(fields[path]), MOST_VALUES))
    found: list[object] = [fields]
    for step in path.split("."):
        found = list(islice(_below(found, step), MOST_VALUES))
    return [item for value in found for item in _items(value)][:MOST_VALUES]


def entries(tree: object, path: str) -> list[tuple[str, object]]:
    """The entries at ``path`` with their keys; of a list, the places (from 1) are the keys."""
    found: list[tuple[str, object]] = [("", tree)]
    for step in path.split("."):
        found = list(islice(_keyed(found, step), MOST_VALUES))
    return found


def fill(template: str, given: Mapping[str, str], more: Given) -> str:
    """``template`` with its placeholders filled; empty when a value for one is not there."""
    missing = False

    def value(found: re.Match[str]) -> str:
        nonlocal missing
        name = found.group(1)
        words = given.get(name) or more.facts.get(name) or first(more, name)
        missing = missing or not words
        return words

    filled = PLACEHOLDER.sub(value, template)
    return "" if missing else filled


def first(given: Given, path: str) -> str:
    """The first word, number or date at ``path``; empty when there is none."""
    return next((words for value in values(given.fields, path) if (words := scalar(value))), "")


def pick(wanted: Pick, given: Given) -> str:
    """The first value that is there."""
    return next(iter(_picked(wanted, given)), "")


def pick_all(wanted: Pick, given: Given) -> tuple[str, ...]:
    """All values, without repeats."""
    return tuple(dict.fromkeys(islice(_picked(wanted, given), MOST_VALUES)))


def _picked(wanted: Pick, given: Given) -> Iterator[str]:
    for one in wanted:
        if isinstance(one, Find):
            for found in re.finditer(one.find, given.text, re.DOTALL):
                words = found.group(1) if found.re.groups else found.group()
                if words and words.strip():
                    yield " ".join(words.split())
        elif isinstance(one, Made):
            words = fill(one.text, {}, given)
            if words:
                yield words
        else:
            yield from (words for value in values(given.fields, one) if (words := scalar(value)))


def _items(value: object) -> Iterator[object]:
    """What the nested lists of ``value`` hold; it looks at ``MOST_VALUES`` things at most."""
    waiting = [iter([value])]
    for _ in range(MOST_VALUES):
        item = next(waiting[-1], _NOTHING)
        if item is _NOTHING:
            waiting.pop()
            if not waiting:
                return
        elif isinstance(item, list | tuple):
            waiting.append(iter(item))
        else:
            yield item


def _below(trees: list[object], step: str) -> Iterator[object]:
    for tree in trees:
        for item in _items(tree):
            if isinstance(item, Mapping):
                if step == EACH:
                    yield from item.values()
                elif step in item:
                    yield item[step]


def _keyed(found: list[tuple[str, object]], step: str) -> Iterator[tuple[str, object]]:
    for _, tree in found:
        if isinstance(tree, Mapping):
            if step == EACH:
                yield from ((str(key), value) for key, value in tree.items())
            elif step in tree:
                yield step, tree[step]
        elif isinstance(tree, list) and step == EACH:
            yield from ((str(number), value) for number, value in enumerate(tree, 1))
