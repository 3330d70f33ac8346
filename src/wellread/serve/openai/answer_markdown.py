"""An answer as one Markdown text: numbered links in it, what stands beside it, and its sources.

Everything of an answer that a reader must not miss is in this text, since most programs show
nothing else: the verdict of a sentence that is not borne out, what is missing, where sources
disagree, each source with its place and quotation, and how sure the answer is. ``earlier_turn``
takes it apart again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
from wellread.values.reports import Report

RULE = "\n\n---\n\n"  # between the answer and what stands beside it
UNDERSTOOD = "*Understood as: {}*\n\n"
SURE = "*Confidence {:.2f} ({})"
CONFIDENCE = re.compile(r"\*Confidence \d\.\d\d \(\w+\).*\* · \[[^\]\n]*\]\([^)\n]*\)\Z")
UNDERSTOOD_LINE = re.compile(r"\A\*Understood as: .*\*\n\n")
FLAGGED = {name: f" *({name.label})*" for name in VerdictName if not name.whole}
ANSWER_PAGE = "/answers/"
MOST_ROWS = 200  # of a table, in the text
SECTIONS = ("Where sources disagree", "What is missing", "Sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Where a citation's marker stands in the text (in code points), and where it leads."""

    span: Span
    citation: Citation
    url: str


class AnswerMarkdown:
    """``answer`` as the ``text`` of a server at ``base``, and the ``markers`` in it.

    A ``report`` has headings of its own, and a warning where it is not complete.
    """

    def __init__(self, answer: Answer, base: str, report: Report | None = None) -> None:
        self.text = ""
        self.markers: list[Marker] = []
        self._answer = replace(answer, text=harmless(answer.text))
        self._base = base
        if answer.standalone:
            self.text += UNDERSTOOD.format(_line(answer.standalone))
        self._write_sentences(report)
        table = answer.table
        if table is not None and len(table.rows) > len(answer.sentences):
            short = replace(table, rows=table.rows[:MOST_ROWS])
            self.text += "\n\n" + harmless("\n".join(table_lines(short))).strip()
            if len(table.rows) > MOST_ROWS:
                more = len(table.rows) - MOST_ROWS
                self.text += f"\n\n{more:,} rows more are in `wellread.table`."
        sections = [*self._beside(report), self._sure()]
        self.text += RULE + "\n\n".join(sections)

    def _write_sentences(self, report: Report | None) -> None:
        answer = self._answer
        by_id = {citation.id: citation for citation in answer.citations}
        plain = answer.answered_by in PLAIN
        whole = is_plain_reply(answer) and report is None
        within = escaped_within if whole else without_links
        place = 0
        for sentence in sorted(answer.sentences, key=lambda one: one.span.start):
            self.text += within(answer.text[place : sentence.span.start])
            said = sentence.span.of(answer.text)
            self.text += escaped_row(said, answer.text) if plain else without_links(said)
            name = sentence.verdict.name
            if name is not VerdictName.NOT_CHECKED or answer.answered_by != CATALOGUE:
                self.text += FLAGGED.get(name, "")
            for known in sentence.citations:
                if known in by_id and not sentence.within:
                    self._mark(by_id[known])
            place = max(sentence.span.end, markers_after(answer.text, sentence).end)
        self.text += within(answer.text[place:])

    def _mark(self, citation: Citation) -> None:
        url = address(citation, self._base)
        start = len(self.text) + 1
        self.text += f" [\\[{citation.id}\\]]({url})"
        span = Span(start=start, end=len(self.text))
        self.markers.append(Marker(span=span, citation=citation, url=url))

    def _beside(self, report: Report | None) -> Iterator[str]:
        """The sections below the answer: what is disputed and missing, and the sources."""
        answer = self._answer
        if report is not None and report.warning:
            yield f"**Note**: {_line(report.warning)}."
        ordered = sorted(answer.citations, key=lambda one: one.id)
        sections: tuple[Iterable[str], ...] = (
            (_line(disagreement(one)) for one in answer.conflicts),
            map(_line, answer.data_gaps),
            (_source(one, self._base) for one in ordered),
        )
        for name, lines in zip(SECTIONS, sections, strict=True):
            items = [f"- {line}" for line in lines]
            if items:
                yield "\n".join([f"**{name}**", "", *items])

    def _sure(self) -> str:
        answer = self._answer
        text = SURE.format(answer.confidence.score, answer.confidence.band)
        proof = f"{self._base}{ANSWER_PAGE}{quote(answer.id, safe='')}"
        return f"{text} · answered by {_line(answer.answered_by)}* · [proof]({proof})"


def address(citation: Citation, base: str) -> str:
    """Where a citation opens in a browser: its source, or the viewer where that is a local file."""
    if urlsplit(citation.link).scheme in ("http", "https"):
        return target(harmless(citation.link))
    return base + view_url(citation.document_id, citation.version, citation.source_span)


def _source(citation: Citation, base: str) -> str:
    """``[1] [title](address) – kind, place — “quotation”``."""
    title = _line(citation.title or citation.url)
    place = f", {_line(citation.locator.label)}" if citation.locator.label else ""
    link = f"[{title}]({address(citation, base)})"
    return f"\\[{citation.id}\\] {link} – {citation.kind}{place} — “{_line(citation.quote)}”"


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
