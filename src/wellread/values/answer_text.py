"""Finds and replaces the citation markers in an answer's text, and escapes Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import quote

from wellread.config import CitationSettings
from wellread.types import Span
from wellread.values.answers import (
    BEFORE,
    CATALOGUE,
    EXTRACTIVE,
    NOBODY,
    Answer,
    Citation,
    Conflict,
    Sentence,
    Table,
)

# Answerers whose sentences are plain text, so that Markdown characters in them are escaped.
PLAIN = (EXTRACTIVE, CATALOGUE, BEFORE, NOBODY)
TABLE_RULE = "--- | ---"  # the line below the header of a table
_MARKER = re.compile(r"[ ]?\[[^\[\]\n]*\]")


def markers_after(text: str, sentence: Sentence) -> Span:
    """The span of the citation markers that follow ``sentence`` in ``text``."""
    end = sentence.span.end
    for _ in sentence.citations:
        match = _MARKER.match(text, end)
        if match is None:
            break
        end = match.end()
    return Span(start=sentence.span.end, end=end)


def with_markers(
    answer: Answer,
    marker_for: Callable[[Citation], str],
    *,
    convert: Callable[[str], str] = lambda text: text,
) -> str:
    """The answer's text with ``marker_for`` in place of each marker.

    Args:
        convert: converts the text between markers. An empty marker leaves no space.
    """
    by_id = {citation.id: citation for citation in answer.citations}
    pieces: list[str] = []
    position = 0
    for sentence in sorted(answer.sentences, key=lambda sentence: sentence.span.start):
        after = markers_after(answer.text, sentence)
        pieces.append(convert(answer.text[position : after.start]))
        cited = () if sentence.within else sentence.citations
        markers = [marker_for(by_id[citation_id]) for citation_id in cited if citation_id in by_id]
        pieces += [f" {marker}" for marker in markers if marker]
        position = max(position, after.end)
    pieces.append(convert(answer.text[position:]))
    return "".join(pieces)


def as_rendered(answer: Answer, settings: CitationSettings) -> Answer:
    """The answer as shown: without links if ``citations.include_links`` is off."""
    if settings.include_links:
        return answer
    bare = tuple(replace(citation, url="", link="") for citation in answer.citations)
    return replace(answer, citations=bare)


def plain_text(answer: Answer) -> str:
    """The answer's text without markers."""
    return with_markers(answer, lambda _: "")


# --- Markdown --------------------------------------------------------------------------------

_INLINE = re.compile(r"[\\`*\[\]<>|~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_LEADING = re.compile(r"^([#>+=-]|\d+(?=[.)]))")
# Starts of images, tags and link definitions, and ends of link texts. At the border of a piece, the
# other half of such syntax may be in the next piece.
_ACTIVE = re.compile(r"!(?=\[)|\](?=[(\[:]|\Z)|<(?=[A-Za-z/!?]|\Z)|\A\[")


def escaped_row(row_text: str, text: str) -> str:
    """A sentence with Markdown escaped, except for the cell separators of a table row."""
    table = TABLE_RULE in text and " | " in row_text
    return " | ".join(map(escaped, row_text.split(" | "))) if table else escaped(row_text)


def escaped(text: str) -> str:
    """``text`` with all Markdown syntax escaped."""
    return _LEADING.sub(lambda match: _leading(match.group()), escaped_within(text))


def escaped_within(text: str) -> str:
    """``text`` with inline Markdown syntax escaped; lists and headings still work."""
    return _INLINE.sub(lambda match: f"\\{match.group()}", text)


def is_plain_reply(answer: Answer) -> bool:
    """Whether the reply only names titles and the question's words, without quotations.

    Such replies contain no Markdown. Other texts have labels, lists and headings between their
    sentences, from this program or a model.
    """
    return answer.answered_by == NOBODY and answer.mode != "deep" and not answer.citations


def without_links(text: str) -> str:
    """Markdown with images, links and tags as plain words; other formatting is kept.

    An image written by a model through prompt injection would send the question to another host as
    soon as it is displayed. Character references are used because Markdown never interprets them.
    """
    return _ACTIVE.sub(lambda match: f"&#{ord(match.group())};", text)


def target(link: str) -> str:
    """``link`` escaped as the target of a Markdown link."""
    return quote(link, safe="%/:=&?~#+!$,;'@*_-.")


def table_lines(table: Table) -> Iterator[str]:
    """The Markdown lines of a table and of its method."""
    yield f"| {' | '.join(_cell(name) for name in table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""
    if table.method:
        yield f"Method: {escaped(table.method)}.\n"


def disagreement(conflict: Conflict) -> str:
    """A conflict in one line, with citation numbers; not escaped."""
    views = "; ".join(
        " ".join([f"“{view.text}”", *(f"[{number}]" for number in view.citations)])
        for view in conflict.views
    )
    description = f"{conflict.about}: {views}" if views else conflict.about
    return f"{description} ({conflict.reason})" if conflict.reason else description


def _leading(start: str) -> str:
    return f"\\{start}" if not start.isdigit() else f"{start}\\"


def _cell(text: str) -> str:
    return escaped(" ".join(text.split()))
