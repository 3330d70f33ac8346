"""Turns values into JSON replies with a schema and into values for templates; builds viewer URLs.

A ``View`` is a table of the fields to expose. It refuses values without a line, and exposes only
the fields named in the line, so that a new field (an owner, for example) cannot leak. Fields keep
their own names, in camelCase if the view says so::

    FACES.show(Step)                                    # all fields
    FACES.show(Gap, "* -owner collections=scope")       # all but one, one under another name
    FACES.show(Turn, "* locator=locator.label link", link=(str, link_of))   # and a computed one

A line lists names in order: ``name`` (a field, a property or a computed value), ``name=path`` (the
value at a path of attributes), ``*`` (all fields not named otherwise), ``*path`` (all exposed
fields of the value at the path), ``?name`` (omitted when None), and ``-name`` (excluded).

A reply is a value or a ``Shape`` that combines values. Names are in camelCase, except in a
``PlainShape``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import quote, urlencode

from pydantic import BaseModel, Field, create_model

from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.characters import harmless
from wellread.types import AppliedLimit, Box, DocumentFacts, Filters, ListRank, Locator, Span
from wellread.values.answers import (
    Citation,
    Confidence,
    Conflict,
    Related,
    Sentence,
    Step,
    Table,
    TokenEvent,
    Usage,
)
from wellread.values.answers import View as Side
from wellread.values.locators import link_to

Getter = Callable[[Any], Any]
Computed = tuple[Any, Getter]  # the type, and the function that computes the value
_ATTRIBUTE = re.compile(r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", re.MULTILINE)
_hints: Callable[[Any], Mapping[str, Any]] = cache(get_type_hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedField:
    """An exposed field: its name, its JSON key, its type and its getter."""

    name: str
    key: str
    hint: Any
    get: Getter
    optional: bool = False


class View:
    """The table of the types and fields to expose."""

    def __init__(
        self, *, camel: bool, lines: dict[type, tuple[str, Mapping[str, Computed]]]
    ) -> None:
        self._camel = camel
        self._lines = lines
        self._fields_by_type: dict[type, list[ExposedField]] = {}
        self._models: dict[type, type[BaseModel]] = {}

    def show(self, kind: type, line: str = "*", **computed: Computed) -> None:
        """Expose values of ``kind`` by ``line``, whose syntax the module's docstring explains."""
        if kind in self._lines:
            raise ValueError(f"{kind.__name__} already has a line")
        if unnamed := computed.keys() - set(line.split()):
            raise ValueError(f"the line of {kind.__name__} does not name {', '.join(unnamed)}")
        self._lines[kind] = (line, computed)

    def show_whole(self, *kinds: type) -> None:
        """Expose values of these types with all their fields."""
        for kind in kinds:
            self.show(kind)

    def json(self, value: object) -> Any:
        """Convert ``value`` to dictionaries, lists, strings, numbers, booleans and None.

        Strings lose terminal control characters and bidirectional overrides.
        """
        if is_dataclass(value):
            pairs = ((field, field.get(value)) for field in self._exposed_fields(type(value)))
            return {
                field.key: self.json(content)
                for field, content in pairs
                if not (field.optional and content is None)
            }
        if isinstance(value, Mapping):
            return {_plain(str(key)): self.json(item) for key, item in value.items()}
        if isinstance(value, list | tuple | Set):
            return [self.json(item) for item in value]
        return _plain(value)

    def wrap(self, value: object) -> Any:
        """Wrap ``value`` for a template, which sees the exposed fields, unconverted."""
        if is_dataclass(value):
            return ExposedValue(self, value)
        if isinstance(value, Mapping):
            return {key: self.wrap(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            items = map(self.wrap, value)
            return tuple(items) if isinstance(value, tuple) else list(items)
        return value

    def exposed_value(self, value: object, name: str) -> Any:
        """Return the exposed field ``name`` of ``value``."""
        exposed = self._exposed_fields(type(value))
        field = next((field for field in exposed if field.name == name), None)
        if field is None:
            raise AttributeError(f"{type(value).__name__} does not expose {name}")
        return field.get(value)

    def model(self, kind: type) -> type[BaseModel]:
        """Return a pydantic model of the exposed fields of ``kind``, for its JSON schema."""
        if kind not in self._models:
            descriptions = _descriptions(kind)
            schema = {
                out.key: (
                    self.schema_type(out.hint),
                    Field(None if out.optional else ..., description=descriptions.get(out.name)),
                )
                for out in self._exposed_fields(kind)
            }
            model = create_model(
                kind.__name__, __doc__=kind.__doc__, __module__=kind.__module__, **cast(Any, schema)
            )
            self._models[kind] = model
        return self._models[kind]

    def schema_type(self, hint: Any) -> Any:
        """Replace the dataclasses in a type by their pydantic models."""
        if isinstance(hint, type) and is_dataclass(hint):
            return self.model(hint)
        parameters, origin = get_args(hint), get_origin(hint)
        if not parameters or origin is Literal:
            return hint
        arguments = tuple(
            part if part is Ellipsis else self.schema_type(part) for part in parameters
        )
        if origin is UnionType:
            return Union[arguments]  # noqa: UP007 - the types are known only at run time
        return (dict if origin is Mapping else cast(Any, origin))[arguments]

    def _exposed_fields(self, kind: type) -> list[ExposedField]:
        if kind not in self._fields_by_type:
            self._fields_by_type[kind] = self._parse_line(kind)
        return self._fields_by_type[kind]

    def _parse_line(self, kind: type) -> list[ExposedField]:
        base = next((ancestor for ancestor in kind.__mro__ if ancestor in self._lines), None)
        if base is None:
            raise TypeError(f"{kind.__name__} cannot be shown: the view has no line for it")
        line, computed = self._lines[base]
        pairs = [word.partition("=") for word in line.split()]
        # A star leaves these out, whether they have another name, are computed or are excluded.
        named = {name.lstrip("-?") for name, _, _ in pairs} | {path for _, _, path in pairs}
        exposed: list[ExposedField] = []
        for name, _, path in pairs:
            if name == "*":
                others = (field.name for field in fields(kind) if field.name not in named)
                exposed += [self._field_at(kind, other, other) for other in others]
            elif name.startswith("*"):
                inner = self._fields_at(kind, name[1:])
                exposed += [field for field in inner if field.name not in named]
            elif name in computed:
                exposed.append(self._make_field(name, *computed[name]))
            elif name.startswith("?"):
                exposed.append(replace(self._field_at(kind, name[1:], name[1:]), optional=True))
            elif not name.startswith("-"):
                exposed.append(self._field_at(kind, name, path or name))
        return exposed

    def _fields_at(self, kind: type, path: str) -> list[ExposedField]:
        """Return the exposed fields of the value at ``path``, read from a value of ``kind``."""
        inner_value = attrgetter(path)

        def get_inner(get: Getter) -> Getter:
            return lambda value: get(inner_value(value))

        inner_fields = self._exposed_fields(_hint_at(kind, path))
        return [replace(field, get=get_inner(field.get)) for field in inner_fields]

    def _field_at(self, kind: type, name: str, path: str) -> ExposedField:
        return self._make_field(name, _hint_at(kind, path), attrgetter(path))

    def _make_field(self, name: str, hint: Any, get: Getter) -> ExposedField:
        first, *others = name.split("_")
        key = first + "".join(map(str.capitalize, others)) if self._camel else name
        return ExposedField(name=name, key=key, hint=hint, get=_with_floats(hint, get))


class ExposedValue:
    """A value as templates see it, with only the exposed attributes."""

    __slots__ = ("_value", "_view")

    def __init__(self, view: View, value: object) -> None:
        self._view = view
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return self._view.wrap(self._view.exposed_value(self._value, name))


def _descriptions(kind: type) -> dict[str, str]:
    """Return descriptions of the fields from the ``Attributes:`` section of the docstring."""
    section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:")[2]
    descriptions: dict[str, str] = {}
    for names, text in _ATTRIBUTE.findall(section):
        descriptions |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return descriptions


def _hint_at(kind: type, path: str) -> Any:
    """Return the type at a path of attributes, fields or properties."""
    hint: Any = kind
    for name in path.split("."):
        alternatives = [kind for kind in get_args(hint) if kind is not type(None)]
        holder = alternatives[0] if get_origin(hint) in (Union, UnionType) else hint
        hints = _hints(holder)
        hint = hints[name] if name in hints else _hints(getattr(holder, name).fget)["return"]
    return hint


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return harmless(str(value))
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date | Path):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    raise TypeError(f"a {type(value).__name__} cannot be shown")


def _with_floats(hint: Any, get: Getter) -> Getter:
    """Make ``get`` return a float when the declared type is float."""
    if hint is not float and hint != (float | None):
        return get

    def get_float(value: Any) -> float | None:
        number = get(value)
        return None if number is None else float(number)

    return get_float


# --- replies ----------------------------------------------------------------------------------

_LINES: dict[type, tuple[str, Mapping[str, Computed]]] = {}
# Both expose the same types and fields, and differ in the spelling of JSON keys.
FACES = View(camel=True, lines=_LINES)
PLAIN = View(camel=False, lines=_LINES)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Shape:
    """The base class of replies that combine values; each is a frozen dataclass."""

    def __init_subclass__(cls, *, line: str = "*", **computed: Computed) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)
        FACES.show(cls, line, **computed)

    @classmethod
    def of(cls, *values: object, **overrides: object) -> Self:
        """Build the shape from ``values``.

        Each field is taken from ``overrides``, else from the first value with an attribute of that
        name, else it has its default.
        """
        fields = dict(overrides)
        for name in cls.__dataclass_fields__:
            source = next((value for value in values if hasattr(value, name)), None)
            if name not in fields and source is not None:
                fields[name] = getattr(source, name)
        return cls(**fields)

    __dataclass_fields__: ClassVar[dict[str, Any]]


class PlainShape(Shape):
    """A reply of the archive's contract, whose JSON keys equal its field names."""


def view_of(kind: Any) -> View:
    """Return the view that serialises this type of reply."""
    return PLAIN if isinstance(kind, type) and issubclass(kind, PlainShape) else FACES


def json_of(value: object) -> Any:
    """Convert a reply to JSON values."""
    return view_of(type(value)).json(value)


def template_view(value: object) -> Any:
    """Wrap a reply for a template."""
    return FACES.wrap(value)


# --- URLs of documents and places ------------------------------------------------------------


def view_url(document_id: str, version: str, span: Span) -> str:
    """The viewer URL of ``span`` in this version of the document."""
    query = urlencode({"start": span.start, "end": span.end, "version": version})
    return f"{document_view(document_id)}?{query}#cited"


def document_view(document_id: str) -> str:
    """The viewer URL of the document."""
    return f"/view/{quote(document_id, safe='')}"


def view_url_of_span(document: DocumentFacts, span: Span) -> str:
    """The viewer URL of ``span`` in the current version of the document."""
    return view_url(document.id, document.version, span)


def view_url_of_citation(citation: Citation) -> str:
    """The viewer URL of the cited place; empty when it is not in a stored document."""
    if not citation.document_id:
        return ""
    return view_url(citation.document_id, citation.version, citation.source_span)


def source_link(document: DocumentFacts, locator: Locator, text: str) -> str:
    """The URL of the source itself, at ``locator``."""
    return link_to(address_of(document), locator, text, media_url=document.media_url)


def address_of(document: DocumentFacts) -> str:
    """The URL or file address at which a reader opens the document."""
    return document.url or document.uri


QUOTED = """document_id={0}.id title={0}.title url link view_url kind={0}.kind
    source_type={0}.source_type published_at={0}.published_at locator=locator.label place=locator
    quote=text source_span=span"""


def show_quoted(kind: type, path: str, more_fields: str = "", **computed: Computed) -> None:
    """Register values that quote ``text`` at ``span`` of the document at attribute ``path``."""
    document = attrgetter(path)
    FACES.show(
        kind,
        f"{QUOTED.format(path)} {more_fields}",
        url=(str, lambda value: address_of(document(value))),
        link=(str, lambda value: source_link(document(value), value.locator, value.text)),
        view_url=(str, lambda value: view_url_of_span(document(value), value.span)),
        **computed,
    )


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A quoted place in a document. ``link`` opens the source, ``viewUrl`` the built-in viewer."""

    document: DocumentFacts
    span: Span
    text: str
    locator: Locator


show_quoted(Quoted, "document")


# --- the values of an answer -----------------------------------------------------------------


FACES.show_whole(
    AppliedLimit, Box, Confidence, Conflict, ListRank, Related, Side, Span, Step, Table, TokenEvent
)
FACES.show(Locator, "* -label")
FACES.show(
    Filters,
    """collections kinds speakers authors languages source_types taxonomy published_from
    published_to""",
    taxonomy=(
        tuple[str, ...],
        lambda limits: [f"{name}={value}" for name, value in limits.taxonomy],
    ),
)
FACES.show(
    Usage,
    "clusters_retrieved=clusters tokens_used cost",
    tokens_used=(
        dict[str, int],
        lambda usage: {"input": usage.input_tokens, "output": usage.output_tokens},
    ),
)
FACES.show(
    Sentence,
    """text start=span.start end=span.end verdict=verdict.name method=verdict.method
    score=verdict.score reason=verdict.reason citations marked""",
)
FACES.show(
    Citation,
    """document_id title url link view_url kind source_type published_at locator=locator.label
    place=locator quote source_span""",
    view_url=(str, view_url_of_citation),
)


FACES.show(
    EntityNode,
    "collection id type title document_id view_url",
    view_url=(str, lambda node: document_view(node.document_id)),
)
