"""Pieces of Markdown that every written form of an answer is made of: escaping, links, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from wellread.answers import Conflict, Table

_INLINE = re.compile(r"[\\`*\[\]<>|~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_LEADING = re.compile(r"^([#>+=-]|\d+(?=[.)]))")
# What begins an image, ends the words of a link, begins its definition, or begins a tag.
# At the end or the beginning of a piece, the other half may stand in the next one.
_ACTIVE = re.compile(r"!(?=\[)|\](?=[(\[:]|\Z)|<(?=[A-Za-z/!?]|\Z)|\A\[")


def escaped(text: str) -> str:
    """``text`` as Markdown shows it letter by letter."""
    return _LEADING.sub(lambda found: _leading(found.group()), escaped_within(text))


def escaped_within(text: str) -> str:
    """``text`` with what means something in a line of Markdown escaped; its lists stay lists."""
    return _INLINE.sub(lambda found: f"\\{found.group()}", text)


def without_links(text: str) -> str:
    """Markdown with its images, links and tags made plain words; emphasis, lists and code stay.

    An image that a planted instruction has a model write would tell another host what was asked,
    as soon as it is shown. A character reference means nothing to Markdown but itself, whatever
    stands before it.
    """
    return _ACTIVE.sub(lambda found: f"&#{ord(found.group())};", text)


def target(link: str) -> str:
    """``link`` as the target of a Markdown link: no space, no bracket that would end it."""
    return quote(link, safe="%/:=&?~#+!$,;'@*_-.")


def table_lines(table: Table) -> Iterator[str]:
    """A table, and how it was worked out."""
    yield f"| {' | '.join(_cell(name) for name in table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""
    if table.method:
        yield f"How it was worked out: {escaped(table.method)}.\n"


def disagreement(conflict: Conflict) -> str:
    """Where sources disagree, in one line, with the numbers of the citations; not escaped."""
    views = "; ".join(
        " ".join([f"“{view.text}”", *(f"[{known}]" for known in view.citations)])
        for view in conflict.views
    )
    said = f"{conflict.about}: {views}" if views else conflict.about
    return f"{said} ({conflict.reason})" if conflict.reason else said


def _leading(mark: str) -> str:
    """What begins a line and would make a list or a heading of it."""
    return f"\\{mark}" if not mark.isdigit() else f"{mark}\\"


def _cell(text: str) -> str:
    return escaped(" ".join(text.split()))
