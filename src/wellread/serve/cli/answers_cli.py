"""``wellread answers`` and ``wellread sessions``: what was asked and answered before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wellread.ask_settings import Style
from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.library.answer_export import Export, Format, exported
from wellread.library.recheck import named_answer, verify_again
from wellread.serve.features.asking.answer_print import print_answer
from wellread.serve.features.asking.stored_answers import (
    LONGEST_TITLE,
    SessionBody,
    SessionsBody,
    StoredAnswersBody,
    opened_body,
    print_answers,
    print_opened,
    print_recheck,
    print_sessions,
    recheck_body,
    session_detail_body,
    whole_body,
)
from wellread.serve.terminal import Terminal, terminal_of
from wellread.text.words import harmless
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Answer

app = typer.Typer(rich_markup_mode=None)
answers_app = typer.Typer(
    name="answers",
    help="Answers that were given: list, show, verify again, export.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
sessions_app = typer.Typer(
    name="sessions",
    help="Conversations: list, show, rename, remove.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.add_typer(answers_app)
app.add_typer(sessions_app)


AnswerId = Annotated[str, typer.Argument(metavar="ID", help="The answer; “last” is the newest.")]
SessionId = Annotated[str, typer.Argument(metavar="ID", help="The session.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Most lines.")]


@answers_app.command("list")
def list_answers(context: typer.Context, limit: Limit = 20) -> None:
    """List the answers that were given, the newest first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = kb.catalogue.sessions.answers(kb.asker.owner, limit)
    terminal.show(StoredAnswersBody.of(answers=found), print_answers)


@answers_app.command("show")
def show_answer(context: typer.Context, answer_id: AnswerId) -> None:
    """Show an answer as it was given."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        stored, answer = named_answer(kb, answer_id, kb.asker.owner)
        shown = as_rendered(answer, kb.settings.citations)
    if terminal.json:
        terminal.write_json(whole_body(stored, answer))
        return
    terminal.out.print(harmless(answer.question), style="bold")
    _print(terminal, shown)
    if stored.stale:
        terminal.out.print(
            f"Stale: a source has changed or gone; see 'wellread answers verify {stored.id}'.",
            style="yellow",
        )


def _print(terminal: Terminal, answer: Answer) -> None:
    seconds = sum(step.seconds for step in answer.steps)
    print_answer(terminal.out, answer, seconds=seconds, detailed=False)


@answers_app.command("verify")
def verify_answer(context: typer.Context, answer_id: AnswerId) -> None:
    """Check an answer against its sources as they are now; the result is kept.

    Ends with status 1 when the answer is stale.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = verify_again(kb, named_answer(kb, answer_id, kb.asker.owner)[0].id, kb.asker.owner)
    terminal.show(recheck_body(found), print_recheck)
    if found.stale:
        raise typer.Exit(1)


@answers_app.command("export")
def export_answer(
    context: typer.Context,
    answer_id: AnswerId,
    form: Annotated[Format, typer.Option("--format", help="Of the file.")] = "markdown",
    style: Annotated[
        Style | None, typer.Option(help="Of Markdown's citations; else the setting.")
    ] = None,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="A footnote for each sentence (Markdown).")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; else standard output.")
    ] = None,
) -> None:
    """Write an answer as Markdown."""
    terminal = terminal_of(context)
    wanted = Export(form=form, style=style, verdicts=verdicts)
    with terminal.open() as kb:
        text = exported(kb, *named_answer(kb, answer_id, kb.asker.owner), wanted)
    if output is not None:
        output.write_text(text, encoding="utf-8", newline="")
    if terminal.json:
        where = str(output) if output is not None else ""
        terminal.write_json({"format": form, "file": where, "text": text})
    elif output is None:
        typer.echo(text, nl=False)


@sessions_app.command("list")
def list_sessions(
    context: typer.Context,
    limit: Limit = 20,
    query: Annotated[str, typer.Option(help="Only those that have all these words.")] = "",
) -> None:
    """List conversations, the one used last first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = kb.catalogue.sessions.search(kb.asker.owner, query, limit)
    terminal.show(SessionsBody.of(sessions=found), print_sessions)


@sessions_app.command("show")
def show_session(context: typer.Context, session_id: SessionId) -> None:
    """Show a conversation: its questions with their answers, oldest first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        facts = kb.catalogue.sessions.session(session_id, kb.asker.owner)
        if facts is None:
            raise _unknown(session_id)
        answers = kb.catalogue.sessions.turns(session_id, kb.asker.owner, facts.turns or 1)
    if terminal.json:
        terminal.write_json(session_detail_body(facts, answers))
        return
    for answer in answers:
        terminal.out.print(f"› {harmless(answer.question)}", style="bold")
        _print(terminal, answer)
        terminal.out.print()


@sessions_app.command("rename")
def rename_session(
    context: typer.Context,
    session_id: SessionId,
    title: Annotated[str, typer.Argument(help=f"The new title: 1 to {LONGEST_TITLE} characters.")],
) -> None:
    """Give a conversation another title; no later question changes it."""
    terminal = terminal_of(context)
    if not 0 < len(title.strip()) <= LONGEST_TITLE:
        raise RequestError(f"a title has 1 to {LONGEST_TITLE} characters", hint="give another one")
    with terminal.open() as kb:
        kb.catalogue.sessions.rename(session_id, kb.asker.owner, title)
        facts = kb.catalogue.sessions.session(session_id, kb.asker.owner)
    if facts is None:
        raise _unknown(session_id)
    if terminal.json:
        terminal.write_json(SessionBody.of(facts))
    else:
        terminal.out.print(harmless(f"The session is called “{facts.title}” now."))


@sessions_app.command("remove")
def remove_session(context: typer.Context, session_id: SessionId) -> None:
    """Remove a conversation with all its answers."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        removed = remove_conversation(kb, session_id, kb.asker.owner)
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
        body = opened_body(kb, _answer_of(kb, answer), number)
    terminal.show(body, print_opened)


def _answer_of(kb: KnowledgeBase, wanted: str) -> Answer:
    known = wanted or next((stored.id for stored in kb.catalogue.answers(limit=1)), "")
    found = kb.catalogue.sessions.answer_beginning(known, kb.asker.owner) if known else None
    if found is None:
        raise RequestError(
            f"there is no answer {wanted}" if wanted else "there is no answer yet",
            hint="ask a question first",
        )
    return found[1]
