"""Exports answers as Markdown with a bibliography, CSL-JSON or BibTeX."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.ask.deliver.cite import styled_marker
from wellread.config import Style
from wellread.kb import KnowledgeBase
from wellread.library.works import bibtex, csl_item, notes_of, place_and_verdict, works_of
from wellread.store.schema.stored_values import StoredAnswer
from wellread.text.words import harmless
from wellread.values.answer_text import (
    PLAIN,
    as_rendered,
    disagreement,
    escaped,
    escaped_within,
    is_plain_reply,
    markers_after,
    table_lines,
    target,
)
from wellread.values.answers import NOBODY, Answer, Citation, Sentence

Format = Literal["markdown", "csl-json", "bibtex"]
MEDIA_TYPES: dict[Format, str] = {
    "markdown": "text/markdown; charset=utf-8",
    "csl-json": "application/vnd.citationstyles.csl+json",
    "bibtex": "application/x-bibtex; charset=utf-8",
}
ENDINGS: dict[Format, str] = {"markdown": "md", "csl-json": "json", "bibtex": "bib"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Options of an export.

    Attributes:
        style: citation style in Markdown; None uses the setting.
        verdicts: in Markdown, add a footnote with verdict and reason to each sentence, and the
            verdicts to the list of sources; other formats always include them.
    """

    form: Format = "markdown"
    style: Style | None = None
    verdicts: bool = False


def render_export(kb: KnowledgeBase, stored: StoredAnswer, answer: Answer, options: Export) -> str:
    """The answer in the requested format."""
    if options.form == "markdown":
        rendered = as_rendered(answer, kb.settings.citations)
        return harmless("\n".join(_markdown(kb, stored, rendered, options)))
    works = works_of(kb, answer.citations)
    if options.form == "bibtex":
        return harmless(bibtex(works))
    items = json.dumps([csl_item(work) for work in works], ensure_ascii=False, indent=2)
    return harmless(items) + "\n"


def _markdown(
    kb: KnowledgeBase, stored: StoredAnswer, answer: Answer, options: Export
) -> Iterator[str]:
    style = options.style or kb.settings.citations.style
    yield f"# {escaped(answer.question)}\n"
    if answer.standalone:
        yield f"Understood as: {escaped(answer.standalone)}\n"
    if stored.stale:
        yield "> **Stale.** A source of this answer has changed or gone since it was given.\n"
    yield f"{_text(kb, answer, style, options)}\n"
    if answer.table:
        yield from table_lines(answer.table)
    yield from _conflicts_and_gaps(answer)
    if answer.citations:
        yield "## Sources\n"
        numbered = style == "number"
        yield from _sources(answer.citations, numbered=numbered, verdicts=options.verdicts)
        yield ""
    yield from _byline(stored, answer)
    if options.verdicts:
        yield from (_footnote(number, one) for number, one in enumerate(answer.sentences, 1))


def _text(kb: KnowledgeBase, answer: Answer, style: Style, options: Export) -> str:
    """The answer's text with linked citations and a footnote for each sentence."""
    by_id = {citation.id: citation for citation in answer.citations}
    plain = answer.answered_by in PLAIN
    between = escaped_within if is_plain_reply(answer) else str
    pieces: list[str] = []
    place = 0
    for number, sentence in enumerate(answer.sentences, 1):
        after = markers_after(answer.text, sentence)
        pieces.append(between(answer.text[place : sentence.span.start]))
        sentence_text = sentence.span.of(answer.text)
        pieces.append(escaped(sentence_text) if plain else sentence_text)
        links = (_linked(kb, by_id[key], style) for key in sentence.citations if key in by_id)
        pieces += [f" {link}" for link in links]
        pieces.append(f"[^{number}]" if options.verdicts else "")
        place = after.end
    return "".join([*pieces, between(answer.text[place:])])


def _linked(kb: KnowledgeBase, citation: Citation, style: Style) -> str:
    shown = f"\\[{escaped(styled_marker(kb, citation, style)[1:-1])}\\]"
    return f"[{shown}]({target(citation.link)})" if citation.link else shown


def _sources(citations: Sequence[Citation], *, numbered: bool, verdicts: bool) -> Iterator[str]:
    """``[title](url) – type``: one line per citation if numbered, otherwise per source."""
    seen: set[str] = set()
    for citation in citations:
        title = escaped(citation.title)
        named = f"[{title}]({target(citation.url)})" if citation.url else title
        if numbered:
            label = place_and_verdict(citation) if verdicts else citation.locator.label
            place = f", {escaped(label)}" if label else ""
            yield f"{citation.id}. {named} – {citation.kind}{place}"
        elif citation.document_id not in seen:
            same = [one for one in citations if one.document_id == citation.document_id]
            notes = escaped("; ".join(notes_of(same))) if verdicts else ""
            yield f"- {named} – {citation.kind}{', ' if notes else ''}{notes}"
        seen.add(citation.document_id)


def _conflicts_and_gaps(answer: Answer) -> Iterator[str]:
    yield from _list("Where sources disagree", [disagreement(one) for one in answer.conflicts])
    yield from _list("What is missing", answer.data_gaps)


def _list(name: str, lines: Iterable[str]) -> Iterator[str]:
    items = [f"- {escaped(line)}" for line in lines]
    if items:
        yield f"## {name}\n"
        yield from (*items, "")


def _byline(stored: StoredAnswer, answer: Answer) -> Iterator[str]:
    who = "Declined" if answer.answered_by == NOBODY else f"Answered by {answer.answered_by}"
    confidence = f"confidence {answer.confidence.score:.2f} ({answer.confidence.band})"
    yield f"*{escaped(who)} on {stored.created_at:%Y-%m-%d}, {confidence}.*\n"


def _footnote(number: int, sentence: Sentence) -> str:
    verdict = sentence.verdict
    reason = f": {escaped(verdict.reason)}" if verdict.reason else ""
    return f"[^{number}]: {verdict.name.replace('_', ' ')} ({verdict.method}){reason}"
