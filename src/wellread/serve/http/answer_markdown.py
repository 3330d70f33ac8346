"""Renders an answer as one Markdown text with numbered links, and parses such texts.

Most programs show only this text, so it contains everything that a reader must not miss: the
verdicts of unsupported sentences, missing information, disagreements of sources, each source with
its place and quotation, and the confidence. ``earlier_turn`` parses the text when a program sends
it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, urlsplit

from wellread.serve.views import view_url
from wellread.text.characters import harmless
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

SECTION_BREAK = "\n\n---\n\n"  # between the answer and the sections below it
UNDERSTOOD = "*Understood as: {}*\n\n"
CONFIDENCE_START = "*Confidence {:.2f} ({})"
CONFIDENCE_LINE = re.compile(r"\*Confidence \d\.\d\d \(\w+\).*\* · \[[^\]\n]*\]\([^)\n]*\)\Z")
UNDERSTOOD_LINE = re.compile(r"\A\*Understood as: .*\*\n\n")
VERDICT_FLAGS = {name: f" *({name.label})*" for name in VerdictName if not name.whole}
ANSWER_PAGE = "/answers/"
MAX_ROWS = 200  # table rows in the text
SECTIONS = ("Where sources disagree", "What is missing", "Sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The span of a citation marker in the text (in code points) and its URL."""

    span: Span
    citation: Citation
    url: str


class AnswerMarkdown:
    """The Markdown ``text`` of an answer and its ``markers``; ``base`` is the server's URL.

    A ``report`` has its own headings, and a warning when it is incomplete.
    """

    def __init__(self, answer: Answer, base: str, report: Report | None = None) -> None:
        self.text = ""
        self.markers: list[Marker] = []
        self._answer = replace(answer, text=harmless(answer.text))
        self._base = base
        if answer.standalone:
            self.text += UNDERSTOOD.format(_escape(answer.standalone))
        self._write_sentences(report)
        table = answer.table
        if table is not None and len(table.rows) > len(answer.sentences):
            first_rows = replace(table, rows=table.rows[:MAX_ROWS])
            self.text += "\n\n" + harmless("\n".join(table_lines(first_rows))).strip()
            if len(table.rows) > MAX_ROWS:
                left_out = len(table.rows) - MAX_ROWS
                self.text += f"\n\n{left_out:,} more rows are in `wellread.table`."
        sections = [*self._sections(report), self._confidence_line()]
        self.text += SECTION_BREAK + "\n\n".join(sections)

    def _write_sentences(self, report: Report | None) -> None:
        answer = self._answer
        by_id = {citation.id: citation for citation in answer.citations}
        # Only models write Markdown in sentences; between sentences, all but plain replies have it.
        without_markdown = answer.answered_by in PLAIN
        is_plain = is_plain_reply(answer) and report is None
        escape = escaped_within if is_plain else without_links
        end = 0
        for sentence in sorted(answer.sentences, key=lambda sentence: sentence.span.start):
            self.text += escape(answer.text[end : sentence.span.start])
            text = sentence.span.of(answer.text)
            self.text += escaped_row(text, answer.text) if without_markdown else without_links(text)
            name = sentence.verdict.name
            if name is not VerdictName.NOT_CHECKED or answer.answered_by != CATALOGUE:
                self.text += VERDICT_FLAGS.get(name, "")
            for citation_id in sentence.citations:
                if citation_id in by_id and not sentence.within:
                    self._mark(by_id[citation_id])
            end = max(sentence.span.end, markers_after(answer.text, sentence).end)
        self.text += escape(answer.text[end:])

    def _mark(self, citation: Citation) -> None:
        url = citation_url(citation, self._base)
        start = len(self.text) + 1
        self.text += f" [\\[{citation.id}\\]]({url})"
        span = Span(start=start, end=len(self.text))
        self.markers.append(Marker(span=span, citation=citation, url=url))

    def _sections(self, report: Report | None) -> Iterator[str]:
        """Yield the sections below the answer: disagreements, missing information, sources."""
        answer = self._answer
        if report is not None and report.warning:
            yield f"**Note**: {_escape(report.warning)}."
        ordered = sorted(answer.citations, key=lambda item: item.id)
        sections: tuple[Iterable[str], ...] = (
            (_escape(disagreement(item)) for item in answer.conflicts),
            map(_escape, answer.data_gaps),
            (_source_line(item, self._base) for item in ordered),
        )
        for name, lines in zip(SECTIONS, sections, strict=True):
            items = [f"- {line}" for line in lines]
            if items:
                yield "\n".join([f"**{name}**", "", *items])

    def _confidence_line(self) -> str:
        answer = self._answer
        text = CONFIDENCE_START.format(answer.confidence.score, answer.confidence.band)
        proof = f"{self._base}{ANSWER_PAGE}{quote(answer.id, safe='')}"
        return f"{text} · answered by {_escape(answer.answered_by)}* · [proof]({proof})"


def citation_url(citation: Citation, base: str) -> str:
    """Return the web address of a citation's source, or the viewer's URL for other sources."""
    if urlsplit(citation.link).scheme in ("http", "https"):
        return target(harmless(citation.link))
    return base + view_url(citation.document_id, citation.version, citation.source_span)


def _source_line(citation: Citation, base: str) -> str:
    """Format a source as ``[1] [title](address) – kind, place — “quotation”``."""
    title = _escape(citation.title or citation.url)
    locator = f", {_escape(citation.locator.label)}" if citation.locator.label else ""
    link = f"[{title}]({citation_url(citation, base)})"
    return f"\\[{citation.id}\\] {link} – {citation.kind}{locator} — “{_escape(citation.quote)}”"


def _escape(text: str) -> str:
    """Return ``text`` on one line with Markdown escaped."""
    return escaped(harmless(" ".join(text.split())))


_MARKER = re.compile(r" ?\[\\\[\d+\\\]\]\([^()\s]*\)")
_FLAG = re.compile("|".join(re.escape(flag) for flag in VERDICT_FLAGS.values()))
_ESCAPED = re.compile(r"\\([^\w\s]|_)|&#(\d+);")
_ID = re.compile(rf"\({'[^()]*'}{re.escape(ANSWER_PAGE)}([^()/\s]+)\)\Z")


def earlier_turn(question: str, answer: str) -> EarlierTurn:
    """Parse a question and our answer to it, as a program sends them back."""
    text = answer.replace("\r\n", "\n").strip()
    body, separator, sections = text.rpartition(SECTION_BREAK)
    last_line = sections.rpartition("\n")[2]
    if not separator or not CONFIDENCE_LINE.match(last_line):
        return EarlierTurn(question=question, answer=text)
    id_match = _ID.search(last_line)
    body = _FLAG.sub("", _MARKER.sub("", UNDERSTOOD_LINE.sub("", body)))
    return EarlierTurn(
        question=question,
        answer=_ESCAPED.sub(lambda match: match[1] or chr(int(match[2])), body),
        answer_id=unquote(id_match[1]) if id_match else "",
    )
