"""Parses the front matter of Markdown files, and dates, names and lists in metadata."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Source
from wellread.types import EntityFacts, Relation

# Sources could once name their own readers. If this field were ignored, everybody who may read the
# collection could read the document, so it is refused.
READERS_FIELD = "readers"
READERS_REFUSED = (
    "the field 'readers' is not supported, since rights are per collection: remove it and use a "
    "collection that only these readers may read (docs/users.md)"
)
_NO_LETTER = re.compile(r"[\W\d_]+")

_NAMED_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")

# The C loader is about ten times faster but missing in some wheels. Both loaders are safe.
YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# YAML, TOML, or a JSON object, which is YAML too.
_BLOCK = re.compile(
    r"\s*(?:(?P<comment><!--)\s*)?(?:(?P<fence>---|\+\+\+)[ \t]*\n(?P<block>.*?)"
    r"^(?:(?P=fence)|\.\.\.)[ \t]*$(?(comment)\s*-->)|(?P<json>\{[ \t]*\n.*?^\}[ \t]*$))",
    re.MULTILINE | re.DOTALL,
)
_SIMPLE_LINE = re.compile(
    r"^(?P<name>\w[\w -]*):[ \t]+"
    r"(?P<text>(?:[^\s\"'\[{|>&]|\[[^\]\n]*\][ ]*\w|([\"']).*?\3[ ]*\w).*?)[ \t]*$",
    re.MULTILINE,
)
_WRITTEN_DATES = (
    *("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d.%m.%Y", "%Y.%m.%d"),
    *("%Y/%m/%d", "%Y/%m/%d %H:%M:%S"),
)

_POSTS = frozenset("post posts _posts blog blogs news article articles".split())
ENTITY_FIELDS = ("relations", "sectors", "scales", "aliases", "type")
# Fields with a defined meaning; every other list is a dimension of the taxonomy.
KNOWN_FIELDS = frozenset(
    "id title name slug reference shortname layout permalink url link uri canonical author authors "
    "date published published_at updated updated_at modified created lang language source_type "
    "kind excerpt summary description abstract aliases relations media media_url video audio "
    "speakers transcript_by episode draft weight text body content".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """A front-matter block and the body below it.

    Attributes:
        body_line: the source line (from 1) on which the body begins.
        lines: the source line of each field.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str
    body_line: int = 1
    lines: Mapping[str, int] = field(default_factory=dict)

    def text_of(self, *names: str) -> str:
        """The value of the first of the named fields that has one, as a line; empty if none has."""
        return next((text for name in names if (text := scalar(self.fields.get(name)))), "")

    def values_of(self, *names: str) -> tuple[str, ...]:
        """Return the values of the first of the named fields that has any."""
        lists = (strings(self.fields.get(name)) for name in names)
        return next((values for values in lists if values), ())

    def link(self, *names: str) -> str:
        """Return the first of the named fields that is an absolute web address."""
        return next((address for name in names if (address := web_address(self.text_of(name)))), "")


def split(text: str, source: Source) -> FrontMatter:
    """Separate the front matter from the body; a block that is not a mapping stays in the body.

    Reads YAML between ``---``, also in an HTML comment, TOML between ``+++``, and a JSON object
    above the text. A line such as ``title: Rota: spring``, which is not YAML, is taken as name and
    text, with a remark in ``source``.

    Raises:
        SourceError: the block is malformed, or names readers.
    """
    match = _BLOCK.match(text)
    if match is None:
        return FrontMatter(body=text)
    part = "json" if match["json"] else "block"
    block, first_line = match[part], text.count("\n", 0, match.start(part)) + 1
    try:
        if match["fence"] == "+++":
            loaded: object = tomllib.loads(block)
        else:
            loaded = _read_yaml(block, source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + first_line if mark else 1
        problem = getattr(error, "problem", None) or "not YAML"
        raise SourceError(source.uri, f"malformed front matter, line {line}: {problem}") from error
    except (ValueError, OverflowError, RecursionError) as error:  # a date such as 2024-13-45
        raise SourceError(source.uri, f"malformed front matter: {error}") from error
    if loaded is not None and not isinstance(loaded, dict):
        return FrontMatter(body=text)
    refuse_readers(loaded, source.uri)
    return FrontMatter(
        fields={str(name): value for name, value in (loaded or {}).items()},
        body=text[match.end() :],
        body_line=text.count("\n", 0, match.end()) + 1,
        lines={
            name.group(1): number
            for number, line in enumerate(block.split("\n"), first_line)
            if (name := re.match(r"\s*\"?([\w-]+)\"?\s*[:=]", line))
        },
    )


def _read_yaml(block: str, source: Source) -> object:
    """Parse YAML, or else with its simple lines that are not YAML quoted."""
    try:
        return yaml.load(block, Loader=YAML_LOADER)  # noqa: S506 a safe loader, see above
    except yaml.YAMLError:
        quoted = _SIMPLE_LINE.sub(_quote_unless_yaml, block)
        loaded: object = yaml.load(quoted, Loader=YAML_LOADER)  # noqa: S506 a safe loader
        source.remark("front matter that is not YAML was read as 'name: text'")
        return loaded


def _quote_unless_yaml(line: re.Match[str]) -> str:
    try:
        yaml.load(line.group(), Loader=YAML_LOADER)  # noqa: S506 a safe loader, see above
    except yaml.YAMLError:
        return f"{line['name']}: {json.dumps(line['text'], ensure_ascii=False)}"
    except ValueError:
        pass
    return line.group()


def refuse_readers(fields: object, uri: str, *, deep: bool = True) -> None:
    """Refuse a field ``readers`` in any spelling (case, quotes, spaces).

    ``deep``: also in nested lists and mappings.
    """
    waiting, seen = [fields], {id(fields)}  # YAML aliases can make a huge tree from a few lines
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            if any(_NO_LETTER.sub("", str(name)).casefold() == READERS_FIELD for name in node):
                raise SourceError(uri, READERS_REFUSED)
            node = list(node.values())
        children = node if deep and isinstance(node, list) else []
        waiting += [child for child in children if id(child) not in seen]
        seen.update(map(id, children))


def scalar(value: object) -> str:
    """Return a text, number or date as one line of text; empty for other values."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return " ".join(str(value).split())
    return ""


def strings(value: object) -> tuple[str, ...]:
    """Return a value or a list of values as texts, without repeats and without other types."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(text for item in values if (text := scalar(item))))


def names(text: str) -> tuple[str, ...]:
    """Split a list of full names, or one of single names; others such as ``Lund, Ida`` stay."""
    between = r"\s*[;,]\s*(?:(?:and|&)\s+)?|\s+(?:and|&)\s+"
    parts = tuple(dict.fromkeys(filter(None, re.split(between, text.strip()))))
    are_full = {" " in part for part in parts}
    is_list = are_full == {True} or re.search(r";|\s(?:and|&)\s", text)
    return parts if not parts or (len(are_full) == 1 and is_list) else (text.strip(),)


def authors(*values: object) -> tuple[str, ...]:
    """Return the people of the first value that has any; ``A B and C D`` are two."""
    people = next(filter(None, map(strings, values)), ())
    return tuple(dict.fromkeys(name for person in people for name in names(person)))


def web_address(text: str) -> str:
    """Return ``text`` if it is an http or https address, else an empty string."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return ""
    return text.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


def date_in_name(name: str) -> datetime | None:
    """Return the date at the start of a file name, else the only date in it, else None."""
    first = _NAMED_DATE.match(name)
    dates = {match.group() for match in _NAMED_DATE.finditer(name)}
    return parse_moment(first.group() if first else dates.pop() if len(dates) == 1 else None)


def date_of(matter: FrontMatter, name: str) -> datetime | None:
    """Return the date of publication from a field or the file name."""
    dates = [matter.fields.get(field) for field in ("published_at", "published", "date", "created")]
    return next(filter(None, map(parse_moment, dates)), None) or date_in_name(name)


def is_post(matter: FrontMatter, uri: str) -> bool:
    """Whether a dated page is a blog post or news item, by its fields or one of its folders."""
    declared = {matter.text_of(name).lower() for name in ("layout", "type")}
    folders = {part.lower() for part in unquote(uri).split("/")[-4:-1]}
    return not _POSTS.isdisjoint(declared | folders)


def parse_moment(value: object) -> datetime | None:
    """Parse a date or time to UTC (a time without zone counts as UTC); None if not a full date.

    Accepts ISO 8601, RFC 822 (feeds) and a few written English forms, and never guesses.
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    parsed = value if isinstance(value, datetime) else _parse_moment(scalar(value))
    if parsed is None:
        return None
    try:
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (OverflowError, ValueError):  # the time zone moves it beyond year 1 or 9999
        return None


def _parse_moment(text: str) -> datetime | None:
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


def parse_entity(matter: FrontMatter, uri: str) -> EntityFacts | None:
    """Return the entity that the fields describe; needs an ``id`` and one of ``ENTITY_FIELDS``."""
    entity_id = matter.text_of("id")
    if not entity_id or not any(name in matter.fields for name in ENTITY_FIELDS):
        return None
    return EntityFacts(
        entity_id=entity_id,
        entity_type=matter.text_of("type"),
        aliases=matter.values_of("aliases"),
        relations=tuple(dict.fromkeys(_relations(matter.fields.get("relations"), uri))),
    )


def _relations(value: object, uri: str) -> list[Relation]:
    """Parse relations: ``[{type, target}]``, ``[{type: target}]`` or ``{type: [targets]}``."""
    if value is None:
        return []
    entries = (
        [{kind: targets} for kind, targets in value.items()] if isinstance(value, dict) else value
    )
    if not isinstance(entries, list):
        raise SourceError(uri, "relations: expected a list of type and target")
    relations: list[Relation] = []
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
        relations += related
    return relations


def taxonomy_of(matter: FrontMatter, *, include_strings: bool) -> dict[str, tuple[str, ...]]:
    """Return the values of each taxonomy dimension: the lists outside the known fields."""
    return {
        name: values
        for name, value in matter.fields.items()
        if name not in KNOWN_FIELDS
        and (
            isinstance(value, list)
            or (include_strings and isinstance(value, str))
            or name == "type"
        )
        and (values := tuple(text.lstrip("#") for text in strings(value)))
    }
