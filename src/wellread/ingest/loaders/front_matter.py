"""Front matter of Markdown files, and the plain facts (dates, names, lists) read from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import yaml

from wellread.errors import SourceError
from wellread.types import EntityFacts, Relation

# Before rights were per collection a source could name its readers; read as any other, it would
# be open to all who may read the collection. So its fields are refused.
READERS = "readers"
NAMES_READERS = (
    "it says 'readers', and rights are per collection: take that out and add it to a collection "
    "that only those may read (docs/users.md)"
)
_NO_LETTER = re.compile(r"[\W\d_]+")

_NAMED_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")

# The C loader is about ten times as fast; wheels without it exist. Both are safe ones.
YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_WRITTEN_DATES = (
    *("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d.%m.%Y", "%Y.%m.%d"),
    *("%Y/%m/%d", "%Y/%m/%d %H:%M:%S"),
)

ENTITY_SIGNS = ("relations", "sectors", "scales", "aliases", "type")
# Fields with a meaning of their own; every other list is a dimension of the taxonomy.
KNOWN_FIELDS = frozenset(
    "id title name slug reference shortname layout permalink url link uri canonical author authors "
    "date published published_at updated updated_at modified created lang language source_type "
    "kind excerpt summary description abstract aliases relations media media_url video audio "
    "speakers transcript_by episode draft weight text body content".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """The fields of a front-matter block.

    Attributes:
        body_line: source line (from 1) on which the body begins.
        lines: field name to the source line on which it stands.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str
    body_line: int = 1
    lines: Mapping[str, int] = field(default_factory=dict)

    def words(self, *names: str) -> str:
        """The first of the named fields that holds a word or a number, as one line."""
        for name in names:
            found = scalar(self.fields.get(name))
            if found:
                return found
        return ""

    def several(self, *names: str) -> tuple[str, ...]:
        """The first of the named fields that holds one or more values."""
        for name in names:
            found = strings(self.fields.get(name))
            if found:
                return found
        return ()

    def link(self, *names: str) -> str:
        """The first of the named fields that is a web address; a site's own paths are not."""
        return next((found for name in names if (found := web_address(self.words(name)))), "")


def split(text: str, uri: str) -> FrontMatter:
    """Separate front matter from body. A block that is not a mapping is part of the body."""
    there = _block(text)
    if there is None:
        return FrontMatter(body=text)
    block, closing = there
    try:
        loaded = yaml.load(block, Loader=YAML_LOADER)  # noqa: S506 a safe loader, see above
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1  # the mark counts from 0, after the opening line
        problem = getattr(error, "problem", None) or "not YAML"
        raise SourceError(uri, f"malformed front matter, line {line}: {problem}") from error
    except (ValueError, OverflowError, RecursionError) as error:  # a date such as 2024-13-45
        raise SourceError(uri, f"malformed front matter: {error}") from error
    if loaded is not None and not isinstance(loaded, dict):
        return FrontMatter(body=text)
    refuse_readers(loaded, uri)
    return FrontMatter(
        fields={str(name): value for name, value in (loaded or {}).items()},
        body=text[closing.end() :],
        body_line=text.count("\n", 0, closing.end()) + 1,
        lines={
            found.group(1): number
            for number, line in enumerate(block.split("\n"), 2)
            if (found := re.match(r"([\w-]+):", line))
        },
    )


def _block(text: str) -> tuple[str, re.Match[str]] | None:
    """What stands between the two lines of a front matter, and the second of them."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    return (text[opening.end() : closing.start()], closing) if opening and closing else None


def refuse_readers(fields: object, uri: str, *, deep: bool = True) -> None:
    """Refuse fields that name who may read the document, whatever their case, quotes and spaces."""
    waiting, seen = [fields], {id(fields)}  # YAML folds a tree of any size into a few lines
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            if any(_NO_LETTER.sub("", str(name)).casefold() == READERS for name in one):
                raise SourceError(uri, NAMES_READERS)
            one = list(one.values())
        inner = one if deep and isinstance(one, list) else []
        waiting += [each for each in inner if id(each) not in seen]
        seen.update(map(id, inner))


def scalar(value: object) -> str:
    """A word, number or date as one line of text; empty for anything else."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return " ".join(str(value).split())
    return ""


def strings(value: object) -> tuple[str, ...]:
    """One value or a list of them as text, without repeats; what is not text is left out."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(text for item in values if (text := scalar(item))))


def names(text: str) -> tuple[str, ...]:
    """The people in ``A, B and C`` or ``A; B``."""
    found = re.split(r"\s*[;,]\s*(?:and\s+)?|\s+and\s+", text.strip())
    return tuple(dict.fromkeys(name for name in found if len(name) > 2))


def web_address(text: str) -> str:
    """``text`` when it is an http or https address, else nothing."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return ""
    return text.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


def date_in_name(name: str) -> datetime | None:
    """The date that a file's name begins with, else the only one in it; None without."""
    first = _NAMED_DATE.match(name)
    dates = {one.group() for one in _NAMED_DATE.finditer(name)}
    return moment(first.group() if first else dates.pop() if len(dates) == 1 else None)


def moment(value: object) -> datetime | None:
    """A date or time in UTC (a naive one counts as UTC); None when it is not a whole date.

    Reads ISO 8601, RFC 822 (feeds) and a few written English forms; it never guesses.
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    found = value if isinstance(value, datetime) else _read_moment(scalar(value))
    if found is None:
        return None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (OverflowError, ValueError):  # year 1 or 9999 moved over the edge
        return None


def _read_moment(text: str) -> datetime | None:
    if not 8 <= len(text) <= 64:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in _WRITTEN_DATES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def entity_of(matter: FrontMatter, uri: str) -> EntityFacts | None:
    """The entity that the fields describe: an ``id`` and a sign that it is a node; else None."""
    entity_id = matter.words("id")
    if not entity_id or not any(name in matter.fields for name in ENTITY_SIGNS):
        return None
    return EntityFacts(
        entity_id=entity_id,
        entity_type=matter.words("type"),
        aliases=matter.several("aliases"),
        relations=tuple(dict.fromkeys(_relations(matter.fields.get("relations"), uri))),
    )


def _relations(given: object, uri: str) -> list[Relation]:
    """Relations as ``[{type, target}]``, ``[{type: target}]`` or ``{type: [targets]}``."""
    if given is None:
        return []
    entries = (
        [{kind: targets} for kind, targets in given.items()] if isinstance(given, dict) else given
    )
    if not isinstance(entries, list):
        raise SourceError(uri, "relations: expected a list of type and target")
    found: list[Relation] = []
    for number, entry in enumerate(entries, 1):
        pairs: dict[object, object] = entry if isinstance(entry, dict) else {}
        if "target" in pairs or "type" in pairs:
            kind = scalar(pairs.get("type"))
            pairs = {kind: pairs.get("target")} if kind else {}
        related = [
            Relation(type=scalar(kind), target=target)
            for kind, targets in pairs.items()
            for target in strings(targets)
        ]
        if not related:
            raise SourceError(uri, f"relations: entry {number} has no type and target")
        found += related
    return found


def taxonomy_of(matter: FrontMatter, *, words_too: bool) -> dict[str, tuple[str, ...]]:
    """Dimension to values: every list of words outside the known fields."""
    return {
        name: values
        for name, value in matter.fields.items()
        if name not in KNOWN_FIELDS
        and (isinstance(value, list) or (words_too and isinstance(value, str)) or name == "type")
        and (values := strings(value))
    }
