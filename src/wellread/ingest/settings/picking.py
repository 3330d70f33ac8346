"""Values from foreign fields, as a settings file names them: paths, templates, patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from wellread.ingest.loaders.front_matter import scalar
from wellread.ingest.settings.collection import PLACEHOLDER, Find, Made, Pick

MOST_VALUES = 100_000  # of one field: YAML can fold a tree of any size into a few lines
EACH = "*"
_NOTHING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a value can be taken from.

    Attributes:
        fields: the front matter, or the fields of an entry.
        facts: ``file.stem`` and the like, by their full names.
        text: where patterns search.
    """

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
