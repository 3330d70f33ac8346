"""Exports a stored answer as Markdown, or its sources as BibTeX or CSL-JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from wellread.ask.deliver.cite import styled_marker
from wellread.kb import KnowledgeBase
from wellread.library.works import bibtex, csl_json, works_of
from wellread.store.schema.stored_values import StoredAnswer
from wellread.text.characters import harmless
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

Format = Literal["markdown", "bibtex", "csl-json"]
MEDIA_TYPES: dict[Format, tuple[str, str]] = {
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "bibtex": ("bib", "application/x-bibtex; charset=utf-8"),
    "csl-json": ("json", "application/vnd.citationstyles.csl+json"),
}
"""The file extension and media type of each format."""


def export_answer(kb: KnowledgeBase, stored: StoredAnswer, answer: Answer, form: Format) -> str:
    """Return the answer as Markdown, with a footnote for each verdict, or only its sources."""
    if form == "markdown":
        text = "\n".join(_lines(kb, stored, as_rendered(answer, kb.settings.citations)))
    else:
        works = works_of(kb, answer.citations)
        text = bibtex(works) if form == "bibtex" else csl_json(works)
    return harmless(text)


def _lines(kb: KnowledgeBase, stored: StoredAnswer, answer: Answer) -> Iterator[str]:
    yield f"# {escaped(answer.question)}\n"
    if answer.standalone:
        yield f"Understood as: {escaped(answer.standalone)}\n"
    if stored.stale:
        yield "> **Stale.** A source of this answer has changed or gone since it was given.\n"
    yield f"{_text(kb, answer)}\n"
    if answer.table:
        yield from table_lines(answer.table)
    yield from _list("Where sources disagree", map(disagreement, answer.conflicts))
    yield from _list("What is missing", answer.data_gaps)
    if answer.citations:
        yield "## Sources\n"
        yield from map(_source, answer.citations)
        yield ""
    who = "Declined" if answer.answered_by == NOBODY else f"Answered by {answer.answered_by}"
    confidence = f"confidence {answer.confidence.score:.2f} ({answer.confidence.band})"
    yield f"*{escaped(who)} on {stored.created_at:%Y-%m-%d}, {confidence}.*\n"
    yield from (_footnote(number, item) for number, item in enumerate(answer.sentences, 1))


def _text(kb: KnowledgeBase, answer: Answer) -> str:
    """The answer's text with linked citations and a footnote for each sentence."""
    by_id = {citation.id: citation for citation in answer.citations}
    plain = answer.answered_by in PLAIN
    escape_between = escaped_within if is_plain_reply(answer) else str
    pieces: list[str] = []
    position = 0
    for number, sentence in enumerate(answer.sentences, 1):
        pieces.append(escape_between(answer.text[position : sentence.span.start]))
        sentence_text = sentence.span.of(answer.text)
        pieces.append(escaped(sentence_text) if plain else sentence_text)
        links = (_linked(kb, by_id[key]) for key in sentence.citations if key in by_id)
        pieces += [f" {link}" for link in links]
        pieces.append(f"[^{number}]")
        position = markers_after(answer.text, sentence).end
    return "".join([*pieces, escape_between(answer.text[position:])])


def _linked(kb: KnowledgeBase, citation: Citation) -> str:
    marker = styled_marker(kb, citation, kb.settings.citations.style)
    label = f"\\[{escaped(marker[1:-1])}\\]"
    return f"[{label}]({target(citation.link)})" if citation.link else label


def _source(citation: Citation) -> str:
    """``[title](url) – type``, with the location of the cited place."""
    title = escaped(citation.title)
    linked_title = f"[{title}]({target(citation.url)})" if citation.url else title
    location = f", {escaped(citation.locator.label)}" if citation.locator.label else ""
    return f"{citation.id}. {linked_title} – {citation.kind}{location}"


def _list(name: str, lines: Iterable[str]) -> Iterator[str]:
    items = [f"- {escaped(line)}" for line in lines]
    if items:
        yield f"## {name}\n"
        yield from (*items, "")


def _footnote(number: int, sentence: Sentence) -> str:
    verdict = sentence.verdict
    reason = f": {escaped(verdict.reason)}" if verdict.reason else ""
    return f"[^{number}]: {verdict.name.replace('_', ' ')} ({verdict.method}){reason}"
