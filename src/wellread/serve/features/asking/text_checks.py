"""A text of somebody else's with a verdict for each sentence, as JSON and on a terminal."""

from __future__ import annotations

from pydantic import Field
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wellread.ask.deliver.cite import shared
from wellread.library.check_text import CheckedText
from wellread.serve.features.asking.answer_bodies import (
    CitationBody,
    SentenceBody,
    citation_body,
    sentence_body,
)
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import INDENT, right, shortened, table
from wellread.text.words import harmless
from wellread.values.answers import VerdictName

LONGEST_QUOTE = 240


class CountsBody(Body):
    """How many sentences have each verdict."""

    quoted: int
    supported: int
    partial: int
    unsupported: int
    not_checked: int


class CheckResponse(Body):
    """A text with a verdict for each sentence; spans are of ``text``.

    The citation of a sentence is the passage that bears it out, or comes nearest.
    """

    text: str
    borne_out: bool = Field(description="whether no sentence is left unsupported")
    counts: CountsBody
    sentences: tuple[SentenceBody, ...]
    citations: tuple[CitationBody, ...]


def check_body(found: CheckedText, *, strict: bool, stored: bool) -> CheckResponse:
    """The result of a check.

    Args:
        stored: whether the viewer can show the citations' documents.
    """
    told = {number: one.text for one in found.sentences for number in one.citations}
    citations = [
        citation_body(each, shared(told.get(each.id, ""), each, "sentence"))
        for each in found.citations
    ]
    if not stored:
        citations = [each.model_copy(update={"view_url": ""}) for each in citations]
    return CheckResponse.of(
        found,
        borne_out=found.borne_out(strict=strict),
        counts={name.value: count for name, count in found.counts().items()},
        sentences=[sentence_body(sentence) for sentence in found.sentences],
        citations=citations,
    )


def print_check(console: Console, body: CheckResponse) -> None:
    """Each sentence with its sign, why, and the passage; then how many of each."""
    citations = {citation.number: citation for citation in body.citations}
    for sentence in body.sentences:
        sign, style = sentence.verdict.symbol, sentence.verdict.style
        shown = " ".join(harmless(sentence.text).split())
        console.print(Text.assemble((f"{sign} ", style), shown))
        for number in sentence.citations:
            console.print(Padding(_passage(citations[number], sentence), (0, 0, 0, INDENT)))
        if not (sentence.verdict.whole or sentence.verdict == VerdictName.NOT_CHECKED):
            reason = Text(f"{harmless(sentence.reason)} ({sentence.method})", style=style)
            console.print(Padding(reason, (0, 0, 0, INDENT)))
    console.print()
    console.print(_summary(body))


def _passage(citation: CitationBody, sentence: SentenceBody) -> Text:
    quote = shortened(citation.quote, LONGEST_QUOTE)
    place = " · ".join(part for part in (citation.title, citation.locator) if part)
    word = "" if sentence.verdict.whole else "nearest: "
    lines = Text.assemble((word, "dim"), f"“{quote}”", "\n", (harmless(place), "dim"))
    if citation.link:
        lines.append(f"\n{harmless(citation.link)}", style="dim")
    return lines


def _summary(body: CheckResponse) -> Table:
    counts = body.counts
    rows: tuple[tuple[VerdictName, str, int], ...] = (
        (VerdictName.QUOTED, "quoted", counts.quoted),
        (VerdictName.SUPPORTED, "supported", counts.supported),
        (VerdictName.PARTIAL, "supported in part", counts.partial),
        (VerdictName.UNSUPPORTED, "unsupported", counts.unsupported),
        (VerdictName.NOT_CHECKED, "not checked", counts.not_checked),
    )
    shown = (
        (Text(name.symbol, style=name.style), said, f"{count:,}") for name, said, count in rows
    )
    return table(("", "", right("")), shown, show_header=False, padding=(0, 1))
