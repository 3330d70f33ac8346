"""An answer as one Markdown text: numbered links in it, what stands beside it, and its sources.

Everything of an answer that a reader must not miss is in this text, since most programs show
nothing else: the verdict of a sentence that is not borne out, what is missing, where sources
disagree, each source with its place and quotation, and how sure the answer is. Offsets into it
count characters (Unicode code points), as Python does. ``earlier_turns.py`` takes it apart again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from urllib.parse import quote, unquote, urlsplit

from wellread.serve.views import view_url
from wellread.text.words import harmless
from wellread.types import EarlierTurn, Span
from wellread.values.answer_text import (
    PLAIN,
    disagreement,
    escaped,
    escaped_row,
    escaped_within,
    is_plain_reply,
    markers_after,
    table_lines,
    target,
    without_links,
)
from wellread.values.answers import CATALOGUE, Answer, Citation, VerdictName

RULE = "\n\n---\n\n"  # between the answer and what stands beside it
UNDERSTOOD = "*Understood as: {}*\n\n"
SURE = "*Confidence {:.2f} ({})"
CONFIDENCE = re.compile(r"\*Confidence \d\.\d\d \(\w+\).*\*(?: · \[[^\]\n]*\]\([^)\n]*\))?\Z")
UNDERSTOOD_LINE = re.compile(r"\A\*Understood as: .*\*\n\n")
FLAGGED = {name: f" *({name.label})*" for name in VerdictName if not name.whole}
ANSWER_PAGE = "/answers/"
MOST_ROWS = 200  # of a table, in the text
SECTIONS = ("Where sources disagree", "What is missing", "Sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Where a citation's marker stands in the text, and the address that it links to."""

    span: Span
    citation: Citation
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMarkdown:
    """The text and where things stand in it.

    Attributes:
        sentences: the span of each of the answer's sentences, in their order.
        pieces: the text cut into what is sent at once; a marker is never cut.
    """

    text: str
    markers: tuple[Marker, ...]
    sentences: tuple[Span, ...]
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How an answer is written out.

    Attributes:
        base: the address of this server, without a slash at its end.
        kept: whether the answer is kept, so that its page can be linked.
        report: whether its text is that of a report, which has headings of its own.
        warning: why a report is not complete; empty when it is.
    """

    base: str
    kept: bool = True
    report: bool = False
    warning: str = ""


@dataclass(slots=True)
class _Page:
    """The text under construction."""

    text: str = ""
    markers: list[Marker] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)

    def add(self, text: str) -> Span:
        start = len(self.text)
        self.text += text
        return Span(start=start, end=len(self.text))

    def cut(self) -> None:
        """What stands here so far can be sent."""
        self.cuts.append(len(self.text))

    def pieces(self) -> tuple[str, ...]:
        places = sorted({0, *self.cuts, len(self.text)})
        return tuple(self.text[a:b] for a, b in pairwise(places))


def answer_markdown(answer: Answer, shown: Shown) -> AnswerMarkdown:
    """``answer`` as Markdown."""
    answer = replace(answer, text=harmless(answer.text))
    page = _Page()
    if answer.standalone:
        page.add(UNDERSTOOD.format(_line(answer.standalone)))
    sentences = _write_text(page, answer, shown)
    page.cut()
    table = answer.table
    if table is not None and len(table.rows) > len(answer.sentences):
        short = replace(table, rows=table.rows[:MOST_ROWS])
        page.add("\n\n" + harmless("\n".join(table_lines(short))).strip())
        if len(table.rows) > MOST_ROWS:
            page.add(f"\n\n{len(table.rows) - MOST_ROWS:,} rows more are in `wellread.table`.")
        page.cut()
    page.add(RULE)
    for section in _beside(answer, shown):
        page.add(f"{section}\n\n")
        page.cut()
    page.add(_sure(answer, shown))
    return AnswerMarkdown(
        text=page.text,
        markers=tuple(page.markers),
        sentences=sentences,
        pieces=page.pieces(),
    )


def address(citation: Citation, base: str) -> str:
    """Where a citation opens in a browser: its source, or the viewer where that is a local file."""
    if urlsplit(citation.link).scheme in ("http", "https"):
        return target(harmless(citation.link))
    return base + view_url(citation.document_id, citation.version, citation.source_span)


def sources_in_order(answer: Answer) -> Sequence[Citation]:
    """The citations by their numbers."""
    return sorted(answer.citations, key=lambda one: one.id)


def _write_text(page: _Page, answer: Answer, shown: Shown) -> tuple[Span, ...]:
    """Write the answer's own text; where each of its sentences stands."""
    by_id = {citation.id: citation for citation in answer.citations}
    plain = answer.answered_by in PLAIN
    within = escaped_within if is_plain_reply(answer) and not shown.report else without_links
    spans: dict[int, Span] = {}
    place = 0
    for number, sentence in sorted(
        enumerate(answer.sentences), key=lambda both: both[1].span.start
    ):
        page.add(within(answer.text[place : sentence.span.start]))
        said = sentence.span.of(answer.text)
        spans[number] = page.add(escaped_row(said, answer.text) if plain else without_links(said))
        name = sentence.verdict.name
        if name is not VerdictName.NOT_CHECKED or answer.answered_by != CATALOGUE:
            page.add(FLAGGED.get(name, ""))
        for known in sentence.citations:
            if known in by_id and not sentence.within:
                page.add(" ")
                page.markers.append(_marked(page, by_id[known], shown.base))
        place = max(sentence.span.end, markers_after(answer.text, sentence).end)
        page.cut()
    page.add(within(answer.text[place:]))
    return tuple(spans[number] for number in range(len(answer.sentences)))


def _marked(page: _Page, citation: Citation, base: str) -> Marker:
    url = address(citation, base)
    return Marker(span=page.add(f"[\\[{citation.id}\\]]({url})"), citation=citation, url=url)


def _beside(answer: Answer, shown: Shown) -> Iterator[str]:
    """The sections below the answer: what is disputed and missing, and the sources."""
    if shown.warning:
        yield f"**Note**: {_line(shown.warning)}."
    sections: tuple[Iterable[str], ...] = (
        (_line(disagreement(one)) for one in answer.conflicts),
        map(_line, answer.data_gaps),
        (_source(one, shown.base) for one in sources_in_order(answer)),
    )
    for name, lines in zip(SECTIONS, sections, strict=True):
        items = [f"- {line}" for line in lines]
        if items:
            yield "\n".join([f"**{name}**", "", *items])


def _source(citation: Citation, base: str) -> str:
    """``[1] [title](address) – kind, place — “quotation”``."""
    title = _line(citation.title or citation.url)
    place = f", {_line(citation.locator.label)}" if citation.locator.label else ""
    link = f"[{title}]({address(citation, base)})"
    return f"\\[{citation.id}\\] {link} – {citation.kind}{place} — “{_line(citation.quote)}”"


def _sure(answer: Answer, shown: Shown) -> str:
    sure = answer.confidence
    text = SURE.format(sure.score, sure.band)
    text += f" · answered by {_line(answer.answered_by)}*"
    if not shown.kept:
        return text
    return f"{text} · [proof]({shown.base}{ANSWER_PAGE}{quote(answer.id, safe='')})"


def _line(text: str) -> str:
    """``text`` letter by letter, on one line."""
    return escaped(harmless(" ".join(text.split())))


_MARKER = re.compile(r" ?\[\\\[\d+\\\]\]\([^()\s]*\)")
_FLAG = re.compile("|".join(re.escape(flag) for flag in FLAGGED.values()))
_ESCAPED = re.compile(r"\\([^\w\s]|_)|&#(\d+);")
_ID = re.compile(rf"\({'[^()]*'}{re.escape(ANSWER_PAGE)}([^()/\s]+)\)\Z")


def earlier_turn(question: str, answer: str) -> EarlierTurn:
    """The turn that ``question`` and ``answer`` were, as a program sends them back."""
    text = answer.replace("\r\n", "\n").strip()
    body, rule, after = text.rpartition(RULE)
    last = after.rpartition("\n")[2]
    if not rule or not CONFIDENCE.match(last):
        return EarlierTurn(question=question, answer=text)
    named = _ID.search(last)
    body = _FLAG.sub("", _MARKER.sub("", UNDERSTOOD_LINE.sub("", body)))
    return EarlierTurn(
        question=question,
        answer=_ESCAPED.sub(lambda one: one[1] or chr(int(one[2])), body),
        answer_id=unquote(named[1]) if named else "",
    )
