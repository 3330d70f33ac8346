"""Converts values to JSON with a schema, as declared by a table of the fields to expose.

A ``View`` is such a table. It refuses values without a line, and exposes only the fields named in
the line, so that a new field (an owner, for example) cannot leak. Fields keep their own names, in
camelCase if the view says so::

    FACES.show(Step)                                    # all fields
    FACES.show(Gap, "* -owner collections=scope")       # all but one, one under another name
    FACES.show(Turn, "* locator=locator.label link", link=(str, link_of))   # and a computed one

A line lists names in order: ``name`` (a field, a property or a computed value), ``name=path`` (the
value at a path of attributes), ``*`` (all fields not named otherwise), ``*path`` (all exposed
fields of the value at the path), ``?name`` (omitted when None), and ``-name`` (excluded).
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
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from wellread.text.words import harmless

Get = Callable[[Any], Any]
Computed = tuple[Any, Get]  # the type, and the function that computes the value
_ATTRIBUTE = re.compile(r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", re.MULTILINE)
_hints: Callable[[Any], Mapping[str, Any]] = cache(get_type_hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """An exposed field: its name, its JSON key, its type and its getter."""

    name: str
    key: str
    hint: Any
    get: Get
    optional: bool = False


class View:
    """The table of the types and fields to expose."""

    def __init__(
        self, *, camel: bool, lines: dict[type, tuple[str, Mapping[str, Computed]]]
    ) -> None:
        self._camel = camel
        self._lines = lines
        self._outgoing: dict[type, list[Outgoing]] = {}
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
            exposed = ((each, each.get(value)) for each in self._of(type(value)))
            return {
                each.key: self.json(inside)
                for each, inside in exposed
                if not (each.optional and inside is None)
            }
        if isinstance(value, Mapping):
            return {_plain(str(key)): self.json(each) for key, each in value.items()}
        if isinstance(value, list | tuple | Set):
            return [self.json(each) for each in value]
        return _plain(value)

    def look(self, value: object) -> Any:
        """Wrap ``value`` for a template, which sees the exposed fields, unconverted."""
        if is_dataclass(value):
            return ExposedValue(self, value)
        if isinstance(value, Mapping):
            return {key: self.look(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            looks = map(self.look, value)
            return tuple(looks) if isinstance(value, tuple) else list(looks)
        return value

    def outgoing(self, value: object, name: str) -> Any:
        """Return the exposed field ``name`` of ``value``."""
        field = next((each for each in self._of(type(value)) if each.name == name), None)
        if field is None:
            raise AttributeError(f"{type(value).__name__} does not expose {name}")
        return field.get(value)

    def model(self, kind: type) -> type[BaseModel]:
        """Return a pydantic model of the exposed fields of ``kind``, for its JSON schema."""
        if kind not in self._models:
            descriptions = _descriptions(kind)
            schema = {
                each.key: (
                    self.described(each.hint),
                    Field(None if each.optional else ..., description=descriptions.get(each.name)),
                )
                for each in self._of(kind)
            }
            model = create_model(
                kind.__name__, __doc__=kind.__doc__, __module__=kind.__module__, **cast(Any, schema)
            )
            self._models[kind] = model
        return self._models[kind]

    def described(self, hint: Any) -> Any:
        """Replace the dataclasses in a type by their pydantic models."""
        if isinstance(hint, type) and is_dataclass(hint):
            return self.model(hint)
        parameters, origin = get_args(hint), get_origin(hint)
        if not parameters or origin is Literal:
            return hint
        arguments = tuple(each if each is Ellipsis else self.described(each) for each in parameters)
        if origin is UnionType:
            return Union[arguments]  # noqa: UP007 - of types known only at run time
        return (dict if origin is Mapping else cast(Any, origin))[arguments]

    def _of(self, kind: type) -> list[Outgoing]:
        if kind not in self._outgoing:
            self._outgoing[kind] = self._parsed(kind)
        return self._outgoing[kind]

    def _parsed(self, kind: type) -> list[Outgoing]:
        base = next((each for each in kind.__mro__ if each in self._lines), None)
        if base is None:
            raise TypeError(f"{kind.__name__} cannot be shown: the view has no line for it")
        line, computed = self._lines[base]
        pairs = [word.partition("=") for word in line.split()]
        named = {name.lstrip("-?") for name, _, _ in pairs} | {path for _, _, path in pairs}
        exposed: list[Outgoing] = []
        for name, _, path in pairs:
            if name == "*":
                plain = (each.name for each in fields(kind) if each.name not in named)
                exposed += [self._read(kind, each, each) for each in plain]
            elif name.startswith("*"):
                exposed += [each for each in self._inside(kind, name[1:]) if each.name not in named]
            elif name in computed:
                exposed.append(self._outgoing_as(name, *computed[name]))
            elif name.startswith("?"):
                exposed.append(replace(self._read(kind, name[1:], name[1:]), optional=True))
            elif not name.startswith("-"):
                exposed.append(self._read(kind, name, path or name))
        return exposed

    def _inside(self, kind: type, path: str) -> list[Outgoing]:
        """Return the exposed fields of the value at a path of ``kind``."""
        at = attrgetter(path)

        def through(get: Get) -> Get:
            return lambda value: get(at(value))

        return [replace(each, get=through(each.get)) for each in self._of(_hint_at(kind, path))]

    def _read(self, kind: type, name: str, path: str) -> Outgoing:
        return self._outgoing_as(name, _hint_at(kind, path), attrgetter(path))

    def _outgoing_as(self, name: str, hint: Any, get: Get) -> Outgoing:
        first, *others = name.split("_")
        key = first + "".join(map(str.capitalize, others)) if self._camel else name
        return Outgoing(name=name, key=key, hint=hint, get=_with_floats(hint, get))


class ExposedValue:
    """A value as templates see it, with only the exposed attributes."""

    __slots__ = ("_value", "_view")

    def __init__(self, view: View, value: object) -> None:
        self._view = view
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return self._view.look(self._view.outgoing(self._value, name))


def _descriptions(kind: type) -> dict[str, str]:
    """Return descriptions of the fields from the ``Attributes:`` section of the docstring."""
    section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:")[2]
    meanings: dict[str, str] = {}
    for names, words in _ATTRIBUTE.findall(section):
        meanings |= dict.fromkeys(names.split(", "), " ".join(words.split()))
    return meanings


def _hint_at(kind: type, path: str) -> Any:
    """Return the type at a path of attributes, fields or properties."""
    hint: Any = kind
    for name in path.split("."):
        alternatives = [each for each in get_args(hint) if each is not type(None)]
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


def _with_floats(hint: Any, get: Get) -> Get:
    """Make ``get`` return a float when the declared type is float."""
    if hint is not float and hint != (float | None):
        return get

    def fraction(value: Any) -> float | None:
        number = get(value)
        return None if number is None else float(number)

    return fraction
