"""Reading many documents as they are stored, for checking them; nothing is taken on trust."""

from __future__ import annotations

import json
import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, bindparam, select

from wellread.codec import mark_lines
from wellread.identity import tagged_hash
from wellread.store.schema.tables import PIECE, documents, marks, passages, texts

_quoted = json.encoder.encode_basestring_ascii


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage's row."""

    id: str
    version: str
    ordinal: int
    start: int
    end: int
    context: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What is stored of one document.

    Attributes:
        version: what the catalogue says; ``computed`` is what text and marks give, and empty
            when they cannot be read (``broken`` says why).
        reach: the largest end of a mark.
        passages: in reading order.
    """

    document_id: str
    collection: str
    uri: str
    version: str
    computed: str
    broken: str
    text: str
    reach: int
    passages: Sequence[StoredPassage]


def bodies(connection: Connection, after: str, limit: int) -> list[Body]:
    """The documents that follow ``after`` in the order of their ids."""
    names = ("id", "collection", "uri", "version", "characters")
    chosen = select(*(documents.c[name] for name in names)).where(documents.c.id > after)
    rows = connection.execute(chosen.order_by(documents.c.id).limit(limit)).all()
    ids = [row.id for row in rows]
    columns = (passages.c[one.name] for one in fields(StoredPassage))
    pieces = _grouped(connection, select(texts), ids)
    blobs = _grouped(connection, select(marks), ids)
    parts = _grouped(
        connection, select(passages.c.document_id, *columns).order_by(passages.c.ordinal), ids
    )
    return [_body(row, pieces[row.id], blobs[row.id], parts[row.id]) for row in rows]


def _grouped(connection: Connection, statement: Any, ids: Sequence[str]) -> dict[str, list[Any]]:
    found: defaultdict[str, list[Any]] = defaultdict(list)
    column = statement.selected_columns["document_id"]
    wanted = statement.where(column.in_(bindparam("values", expanding=True)))
    for row in connection.execute(wanted, {"values": ids}):
        found[row.document_id].append(row)
    return found


def _body(row: Any, pieces: list[Any], blobs: list[Any], parts: list[Any]) -> Body:
    text, broken = _joined(pieces, row.characters)
    computed, reach = "", 0
    try:
        lines = mark_lines(blobs[0].blob) if blobs else []
        reach = max((line[2] for line in lines), default=0)
        computed = tagged_hash("ver", text, *_named(lines))
    except (zlib.error, ValueError, TypeError, LookupError):
        broken = broken or "its marks cannot be read"
    if not blobs:
        broken = broken or "its marks are missing"
    return Body(
        document_id=row.id,
        collection=row.collection,
        uri=row.uri,
        version=row.version,
        computed="" if broken else computed,
        broken=broken,
        text=text,
        reach=reach,
        passages=[StoredPassage(*part[1:]) for part in parts],
    )


def _joined(pieces: list[Any], characters: int) -> tuple[str, str]:
    """The text, and what is wrong with its pieces."""
    pieces.sort(key=lambda piece: piece.piece)
    text = "".join(piece.text for piece in pieces)
    if [piece.piece for piece in pieces] != list(range(max(1, math.ceil(characters / PIECE)))):
        return text, "a piece of its text is missing"
    if len(text) != characters:
        return text, f"its text has {len(text):,} characters instead of {characters:,}"
    return text, ""


_BOX = '{{"bottom": {4}, "left": {1}, "right": {3}, "top": {2}}}'
_FORMS = {
    ("p", 1): 'PageMark{{"box": null, "end": {end}, "page": {0}, "start": {start}}}',
    ("p", 5): f'PageMark{{{{"box": {_BOX}, "end": {{end}}, "page": {{0}}, "start": {{start}}}}}}',
    ("t", 2): 'TimeMark{{"begin": {0}, "end": {end}, "finish": {1}, "start": {start}}}',
    ("s", 1): 'SpeakerMark{{"end": {end}, "speaker": {0}, "start": {start}}}',
    ("h", 1): 'HeadingMark{{"end": {end}, "path": {0}, "start": {start}}}',
    ("l", 1): 'LineMark{{"end": {end}, "line": {0}, "start": {start}}}',
}


def _named(lines: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Each mark as ``identity.version_of`` takes it, without making the mark: there are many."""
    for sort, start, end, *rest in lines:
        yield _FORMS[sort, len(rest)].format(*map(_written, rest), start=start, end=end)


def _written(value: Any) -> str:
    # What JSON writes, at a quarter of the cost.
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list) or value is None or not math.isfinite(value):
        return json.dumps(value)
    return repr(value)
