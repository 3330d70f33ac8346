"""``wellread answers`` and ``wellread sessions``: what was asked and answered before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from wellread.answers import Answer, Citation
from wellread.ask.deliver.cite import Style
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.bibliography.export import Export, Format, exported
from wellread.library.recheck import stored_answer, verify_again
from wellread.serve.render import print_answer
from wellread.serve.stored import (
    OWNER,
    recheck_body,
    session_body,
    session_detail_body,
    stored_body,
    whole_body,
)
from wellread.serve.stored_tables import print_answers, print_recheck, print_sessions
from wellread.serve.terminal import Terminal, harmless, terminal_of

app = typer.Typer(rich_markup_mode=None)
answers_app = typer.Typer(
    name="answers",
    help="Answers that were given: list, show, verify again, export.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
sessions_app = typer.Typer(
    name="sessions",
    help="Conversations: list, show, remove.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.add_typer(answers_app)
app.add_typer(sessions_app)

AROUND = 500  # characters shown on either side of the quotation

AnswerId = Annotated[str, typer.Argument(metavar="ID", help="The answer; “last” is the newest.")]
SessionId = Annotated[str, typer.Argument(metavar="ID", help="The session.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Most lines.")]


@answers_app.command("list")
def list_answers(context: typer.Context, limit: Limit = 20) -> None:
    """List the answers that were given, the newest first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = kb.catalogue.sessions.answers(OWNER, limit)
    if terminal.json:
        bodies = [stored_body(one).model_dump(mode="json") for one in found]
        terminal.write_json({"answers": bodies})
    else:
        print_answers(terminal.out, found)


@answers_app.command("show")
def show_answer(context: typer.Context, answer_id: AnswerId) -> None:
    """Show an answer as it was given."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        stored, answer = stored_answer(kb, answer_id, OWNER)
    if terminal.json:
        terminal.write_json(whole_body(stored, answer).model_dump(mode="json"))
        return
    terminal.out.print(harmless(answer.question), style="bold")
    seconds = sum(step.seconds for step in answer.steps)
    print_answer(terminal.out, answer, seconds=seconds, detailed=False)
    if stored.stale:
        terminal.out.print(
            f"Stale: a source has changed or gone; see 'wellread answers verify {stored.id}'.",
            style="yellow",
        )


@answers_app.command("verify")
def verify_answer(context: typer.Context, answer_id: AnswerId) -> None:
    """Check an answer against its sources as they are now; the result is kept.

    Ends with status 1 when the answer is stale.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = verify_again(kb, answer_id, OWNER)
    if terminal.json:
        terminal.write_json(recheck_body(found).model_dump(mode="json"))
    else:
        print_recheck(terminal.out, found)
    if found.stale:
        raise typer.Exit(1)


@answers_app.command("export")
def export_answer(
    context: typer.Context,
    answer_id: AnswerId,
    form: Annotated[Format, typer.Option("--format", help="Of the file.")] = "markdown",
    style: Annotated[Style | None, typer.Option(help="Of the citations; else the setting.")] = None,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="A footnote for each sentence (Markdown).")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; else standard output.")
    ] = None,
) -> None:
    """Write an answer as Markdown with a bibliography, or its sources as CSL-JSON or BibTeX."""
    terminal = terminal_of(context)
    wanted = Export(form=form, style=style, verdicts=verdicts)
    with terminal.open() as kb:
        text = exported(kb, *stored_answer(kb, answer_id, OWNER), wanted)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    if terminal.json:
        where = str(output) if output is not None else ""
        terminal.write_json({"format": form, "file": where, "text": text})
    elif output is None:
        typer.echo(text, nl=False)


@sessions_app.command("list")
def list_sessions(context: typer.Context, limit: Limit = 20) -> None:
    """List conversations, the one used last first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = kb.catalogue.sessions.of(OWNER, limit)
    if terminal.json:
        bodies = [session_body(one).model_dump(mode="json") for one in found]
        terminal.write_json({"sessions": bodies})
    else:
        print_sessions(terminal.out, found)


@sessions_app.command("show")
def show_session(context: typer.Context, session_id: SessionId) -> None:
    """Show a conversation: its questions with their answers, oldest first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        facts = kb.catalogue.sessions.session(session_id, OWNER)
        if facts is None:
            raise _unknown(session_id)
        answers = kb.catalogue.sessions.turns(session_id, OWNER, facts.turns or 1)
    if terminal.json:
        terminal.write_json(session_detail_body(facts, answers).model_dump(mode="json"))
        return
    for answer in answers:
        terminal.out.print(f"› {harmless(answer.question)}", style="bold")
        seconds = sum(step.seconds for step in answer.steps)
        print_answer(terminal.out, answer, seconds=seconds, detailed=False)
        terminal.out.print()


@sessions_app.command("remove")
def remove_session(context: typer.Context, session_id: SessionId) -> None:
    """Remove a conversation with all its answers."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        removed = kb.catalogue.sessions.remove(session_id, OWNER)
    if removed is None:
        raise _unknown(session_id)
    if terminal.json:
        terminal.write_json({"id": session_id, "answers": removed})
    else:
        terminal.out.print(f"Removed the session and its {removed:,} answers.")


def _unknown(session_id: str) -> UnknownNameError:
    return UnknownNameError(
        f"there is no session {session_id!r}", hint="see 'wellread sessions list'"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A citation with the text around it, as the source has it now."""

    citation: Citation
    before: str
    quote: str
    after: str


@app.command("open")
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
