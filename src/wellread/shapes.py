"""The JSON of values and its schema, derived from their declarations by a table of what goes out.

A ``View`` is such a table. A value that it does not hold goes out nowhere, so that no owner leaves
because somebody gave a value another field. Of a value that it holds go out, under the fields' own
names (in camelCase where the view says so), those that its line names::

    FACES.show(Step)                                    # all fields
    FACES.show(Gap, "* -owner collections=scope")       # all but one, one under another name
    FACES.show(Turn, "* locator=locator.label link", link=(str, link_of))   # and a computed one

A line holds names in their order: ``name`` (a field, a property, or what is computed beside it),
``name=path`` (what stands at a path of attributes), ``*`` (all fields that are not named),
``*path`` (all that goes out of the value at the path), ``?name`` (left out where it is None),
and ``-name`` (not that one).
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
Computed = tuple[Any, Get]  # its type, and the function that gives it
_ATTRIBUTE = re.compile(r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", re.MULTILINE)
_hints: Callable[[Any], Mapping[str, Any]] = cache(get_type_hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One field as it goes out: its name here and outside, its type, and how it is read."""

    name: str
    key: str
    hint: Any
    get: Get
    optional: bool = False


class View:
    """What goes out of which kind of value, and under which names."""

    def __init__(
        self, *, camel: bool, lines: dict[type, tuple[str, Mapping[str, Computed]]]
    ) -> None:
        self._camel = camel
        self._lines = lines
        self._outgoing: dict[type, list[Outgoing]] = {}
        self._models: dict[type, type[BaseModel]] = {}

    def show(self, kind: type, line: str = "*", **computed: Computed) -> None:
        """Let values of ``kind`` out as ``line`` says, which the module's text explains."""
        if kind in self._lines:
            raise ValueError(f"{kind.__name__} is shown already")
        if left := computed.keys() - set(line.split()):
            raise ValueError(f"the line of {kind.__name__} does not name {', '.join(left)}")
        self._lines[kind] = (line, computed)

    def show_whole(self, *kinds: type) -> None:
        """Let values of these kinds out with all their fields."""
        for kind in kinds:
            self.show(kind)

    def json(self, value: object) -> Any:
        """``value`` as dictionaries, lists, strings, numbers, booleans and None.

        What drives a terminal or turns the order of letters leaves in no string.
        """
        if is_dataclass(value):
            held = ((each, each.get(value)) for each in self._of(type(value)))
            return {
                each.key: self.json(inside)
                for each, inside in held
                if not (each.optional and inside is None)
            }
        if isinstance(value, Mapping):
            return {_plain(str(key)): self.json(each) for key, each in value.items()}
        if isinstance(value, list | tuple | Set):
            return [self.json(each) for each in value]
        return _plain(value)

    def look(self, value: object) -> Any:
        """``value`` for a template: what goes out of it, by the fields' own names, as it is."""
        if is_dataclass(value):
            return Look(self, value)
        if isinstance(value, Mapping):
            return {key: self.look(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            looks = map(self.look, value)
            return tuple(looks) if isinstance(value, tuple) else list(looks)
        return value

    def outgoing(self, value: object, name: str) -> Any:
        """What goes out of ``value`` under this name."""
        found = next((each for each in self._of(type(value)) if each.name == name), None)
        if found is None:
            raise AttributeError(f"{type(value).__name__} shows no {name}")
        return found.get(value)

    def model(self, kind: type) -> type[BaseModel]:
        """The schema of what goes out of ``kind``, as a class that pydantic describes."""
        if kind not in self._models:
            meant = _meanings(kind)
            told = {
                each.key: (
                    self.described(each.hint),
                    Field(None if each.optional else ..., description=meant.get(each.name)),
                )
                for each in self._of(kind)
            }
            made = create_model(
                kind.__name__, __doc__=kind.__doc__, __module__=kind.__module__, **cast(Any, told)
            )
            self._models[kind] = made
        return self._models[kind]

    def described(self, hint: Any) -> Any:
        """A type with the schemas of the values in it."""
        if isinstance(hint, type) and is_dataclass(hint):
            return self.model(hint)
        inside, origin = get_args(hint), get_origin(hint)
        if not inside or origin is Literal:
            return hint
        made = tuple(each if each is Ellipsis else self.described(each) for each in inside)
        if origin is UnionType:
            return Union[made]  # noqa: UP007 - of types that only now are known
        return (dict if origin is Mapping else cast(Any, origin))[made]

    def _of(self, kind: type) -> list[Outgoing]:
        if kind not in self._outgoing:
            self._outgoing[kind] = self._parsed(kind)
        return self._outgoing[kind]

    def _parsed(self, kind: type) -> list[Outgoing]:
        known = next((each for each in kind.__mro__ if each in self._lines), None)
        if known is None:
            raise TypeError(f"{kind.__name__} is shown nowhere: no view names it")
        line, computed = self._lines[known]
        pairs = [word.partition("=") for word in line.split()]
        named = {name.lstrip("-?") for name, _, _ in pairs} | {path for _, _, path in pairs}
        found: list[Outgoing] = []
        for name, _, path in pairs:
            if name == "*":
                plain = (each.name for each in fields(kind) if each.name not in named)
                found += [self._read(kind, each, each) for each in plain]
            elif name.startswith("*"):
                found += [each for each in self._inside(kind, name[1:]) if each.name not in named]
            elif name in computed:
                found.append(self._outgoing_as(name, *computed[name]))
            elif name.startswith("?"):
                found.append(replace(self._read(kind, name[1:], name[1:]), optional=True))
            elif not name.startswith("-"):
                found.append(self._read(kind, name, path or name))
        return found

    def _inside(self, kind: type, path: str) -> list[Outgoing]:
        """What goes out of the value at a path of ``kind``."""
        at = attrgetter(path)

        def through(get: Get) -> Get:
            return lambda value: get(at(value))

        return [replace(each, get=through(each.get)) for each in self._of(_hint_at(kind, path))]

    def _read(self, kind: type, name: str, path: str) -> Outgoing:
        return self._outgoing_as(name, _hint_at(kind, path), attrgetter(path))

    def _outgoing_as(self, name: str, hint: Any, get: Get) -> Outgoing:
        first, *others = name.split("_")
        key = first + "".join(map(str.capitalize, others)) if self._camel else name
        return Outgoing(name=name, key=key, hint=hint, get=_exact(hint, get))


class Look:
    """A value as templates see it: its attributes are what goes out of it."""

    __slots__ = ("_value", "_view")

    def __init__(self, view: View, value: object) -> None:
        self._view = view
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return self._view.look(self._view.outgoing(self._value, name))


def _meanings(kind: type) -> dict[str, str]:
    """What the fields mean, by the lines below ``Attributes:`` of the class."""
    told = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:")[2]
    found: dict[str, str] = {}
    for names, words in _ATTRIBUTE.findall(told):
        found |= dict.fromkeys(names.split(", "), " ".join(words.split()))
    return found


def _hint_at(kind: type, path: str) -> Any:
    """The type of what stands at a path of attributes, fields or properties."""
    hint: Any = kind
    for name in path.split("."):
        inside = [each for each in get_args(hint) if each is not type(None)]
        holder = inside[0] if get_origin(hint) in (Union, UnionType) else hint
        known = _hints(holder)
        hint = known[name] if name in known else _hints(getattr(holder, name).fget)["return"]
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


def _exact(hint: Any, get: Get) -> Get:
    """``get``, with a whole number as a fraction where the declaration says that it is one."""
    if hint is not float and hint != (float | None):
        return get

    def fraction(value: Any) -> float | None:
        found = get(value)
        return None if found is None else float(found)

    return fraction
