"""The text of an answer: its citation markers found and taken out, and pieces of Markdown."""

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

# Whose sentences are no Markdown: what means something there is to be read as it stands.
PLAIN = (EXTRACTIVE, CATALOGUE, BEFORE, NOBODY)
RULE = "--- | ---"  # below the first row of a table
_MARKER = re.compile(r"[ ]?\[[^\[\]\n]*\]")


def markers_after(text: str, sentence: Sentence) -> Span:
    """Where the markers of ``sentence`` stand in the answer's ``text``: right after it."""
    end = sentence.span.end
    for _ in sentence.citations:
        found = _MARKER.match(text, end)
        if found is None:
            break
        end = found.end()
    return Span(start=sentence.span.end, end=end)


def with_markers(
    answer: Answer,
    shown: Callable[[Citation], str],
    *,
    said: Callable[[str], str] = lambda text: text,
) -> str:
    """The answer's text with ``shown`` in place of each marker; an empty one leaves no space.

    Args:
        said: what becomes of the text between the markers.
    """
    by_id = {citation.id: citation for citation in answer.citations}
    pieces: list[str] = []
    place = 0
    for sentence in sorted(answer.sentences, key=lambda one: one.span.start):
        after = markers_after(answer.text, sentence)
        pieces.append(said(answer.text[place : after.start]))
        cited = () if sentence.within else sentence.citations
        put = [shown(by_id[known]) for known in cited if known in by_id]
        pieces += [f" {one}" for one in put if one]
        place = max(place, after.end)
    pieces.append(said(answer.text[place:]))
    return "".join(pieces)


def as_rendered(answer: Answer, settings: CitationSettings) -> Answer:
    """The answer as it is rendered: without addresses where ``citations.include_links`` is off."""
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
# What begins an image, ends the words of a link, begins its definition, or begins a tag.
# At the end or the beginning of a piece, the other half may stand in the next one.
_ACTIVE = re.compile(r"!(?=\[)|\](?=[(\[:]|\Z)|<(?=[A-Za-z/!?]|\Z)|\A\[")


def escaped_row(said: str, text: str) -> str:
    """A sentence of an answer's ``text`` letter by letter, but for what parts a table's cells."""
    table = RULE in text and " | " in said
    return " | ".join(map(escaped, said.split(" | "))) if table else escaped(said)


def escaped(text: str) -> str:
    """``text`` as Markdown shows it letter by letter."""
    return _LEADING.sub(lambda found: _leading(found.group()), escaped_within(text))


def escaped_within(text: str) -> str:
    """``text`` with what means something in a line of Markdown escaped; its lists stay lists."""
    return _INLINE.sub(lambda found: f"\\{found.group()}", text)


def is_plain_reply(answer: Answer) -> bool:
    """Whether it is a reply that only names titles and words of the question, and quotes nothing.

    They mean nothing but themselves. Between the sentences of other texts stand labels, lists and
    headings, our own or a model's.
    """
    return answer.answered_by == NOBODY and answer.mode != "deep" and not answer.citations


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
