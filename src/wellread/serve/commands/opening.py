"""``wellread open``: a citation of an answer, at its place in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from wellread.errors import RequestError
from wellread.serve.terminal import Terminal, harmless, terminal_of

if TYPE_CHECKING:
    from wellread.answers import Answer, Citation
    from wellread.kb import KnowledgeBase

AROUND = 500  # characters shown on either side of the quotation


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A citation with the text around it, as the source has it now."""

    citation: Citation
    before: str
    quote: str
    after: str


def register(app: typer.Typer) -> None:
    """Put the command into ``app``."""
    app.command("open")(open_citation)


def open_citation(
    context: typer.Context,
    number: Annotated[int, typer.Argument(min=1, help="The citation's number.")] = 1,
    answer: Annotated[
        str, typer.Option(metavar="ID", help="The answer; the newest one when not given.")
    ] = "",
) -> None:
    """Show a citation at its place: the quotation, and the source around it."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        opened = opened_of(kb, _answer_of(kb, answer), number)
    if terminal.json:
        terminal.write_json(
            {
                "number": opened.citation.id,
                "title": opened.citation.title,
                "locator": opened.citation.locator.label,
                "link": opened.citation.link,
                "before": opened.before,
                "quote": opened.quote,
                "after": opened.after,
            }
        )
    else:
        _print(terminal, opened)


def opened_of(kb: KnowledgeBase, answer: Answer, number: int) -> Opened:
    """Citation ``number`` of ``answer``, read from the catalogue again.

    Raises:
        RequestError: the answer has no such citation, or its source has changed or gone since.
    """
    citation = next((each for each in answer.citations if each.id == number), None)
    if citation is None:
        raise RequestError(
            f"the answer has no citation {number}",
            hint=f"it has {len(answer.citations)}",
        )
    document = kb.catalogue.document(citation.document_id)
    live = kb.catalogue.live_versions([citation.document_id]).get(citation.document_id)
    if document is None or live != citation.version:
        raise RequestError(
            f"the source of citation {number} has changed or gone since the answer was given",
            hint="ask again",
        )
    span = citation.source_span
    return Opened(
        citation=citation,
        before=_from_line(document.text[max(0, span.start - AROUND) : span.start]),
        quote=span.of(document.text),
        after=_to_line(document.text[span.end : span.end + AROUND]),
    )


def _answer_of(kb: KnowledgeBase, wanted: str) -> Answer:
    known = wanted or next((stored.id for stored in kb.catalogue.answers(limit=1)), "")
    answer = kb.catalogue.answer(known) if known else None
    if answer is None:
        raise RequestError(
            f"there is no answer {wanted}" if wanted else "there is no answer yet",
            hint="ask a question first",
        )
    return answer


def _from_line(text: str) -> str:
    """``text`` from the first whole word on."""
    return (text.partition(" ")[2] or text) if len(text) >= AROUND else text


def _to_line(text: str) -> str:
    """``text`` up to its last whole word; a script without spaces stays as it is."""
    return (text.rpartition(" ")[0] or text) if len(text) >= AROUND else text


def _print(terminal: Terminal, opened: Opened) -> None:
    citation = opened.citation
    place = f" — {citation.locator.label}" if citation.locator.label else ""
    terminal.out.print(Text(f"[{citation.id}] {harmless(citation.title)}{place}", style="bold"))
    terminal.out.print(Text(harmless(citation.link), style="dim cyan"), soft_wrap=True)
    terminal.out.print()
    shown = Text()
    shown.append(harmless(opened.before), style="dim")
    shown.append(harmless(opened.quote), style="bold black on yellow")
    shown.append(harmless(opened.after), style="dim")
    terminal.out.print(shown)
