"""``wellread answers`` and ``wellread sessions``: what was asked and answered before."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from wellread.errors import UnknownNameError
from wellread.serve.terminal import harmless, terminal_of

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


class FormatName(StrEnum):
    """The values of ``wellread.library.bibliography.export.Format``, as choices of an option."""

    MARKDOWN = "markdown"
    CSL_JSON = "csl-json"
    BIBTEX = "bibtex"


class StyleName(StrEnum):
    """The values of the setting ``citations.style``, as choices of an option."""

    NUMBER = "number"
    AUTO = "auto"
    TITLE = "title"
    PAGE = "page"
    TIME = "time"
    ENTITY = "entity"


AnswerId = Annotated[str, typer.Argument(metavar="ID", help="The answer; “last” is the newest.")]
SessionId = Annotated[str, typer.Argument(metavar="ID", help="The session.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Most lines.")]


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.add_typer(answers_app)
    app.add_typer(sessions_app)


@answers_app.command("list")
def list_answers(context: typer.Context, limit: Limit = 20) -> None:
    """List the answers that were given, the newest first."""
    from wellread.serve.stored import OWNER, stored_body  # noqa: PLC0415 - loads the stores
    from wellread.serve.stored_tables import print_answers  # noqa: PLC0415

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
    from wellread.library.recheck import stored_answer  # noqa: PLC0415 - loads the stores
    from wellread.serve.render import print_answer  # noqa: PLC0415
    from wellread.serve.stored import OWNER, whole_body  # noqa: PLC0415

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
    from wellread.library.recheck import verify_again  # noqa: PLC0415 - loads the stores
    from wellread.serve.stored import OWNER, recheck_body  # noqa: PLC0415
    from wellread.serve.stored_tables import print_recheck  # noqa: PLC0415

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
    form: Annotated[FormatName, typer.Option("--format", help="Of the file.")] = (
        FormatName.MARKDOWN
    ),
    style: Annotated[
        StyleName | None, typer.Option(help="Of the citations; else the setting.")
    ] = None,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="A footnote for each sentence (Markdown).")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; else standard output.")
    ] = None,
) -> None:
    """Write an answer as Markdown with a bibliography, or its sources as CSL-JSON or BibTeX."""
    from wellread.library.bibliography.export import Export, exported  # noqa: PLC0415 - loads the stores
    from wellread.library.recheck import stored_answer  # noqa: PLC0415
    from wellread.serve.stored import OWNER  # noqa: PLC0415

    terminal = terminal_of(context)
    wanted = Export(form=form.value, style=style.value if style else None, verdicts=verdicts)
    with terminal.open() as kb:
        text = exported(kb, *stored_answer(kb, answer_id, OWNER), wanted)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    if terminal.json:
        where = str(output) if output is not None else ""
        terminal.write_json({"format": form.value, "file": where, "text": text})
    elif output is None:
        typer.echo(text, nl=False)


@sessions_app.command("list")
def list_sessions(context: typer.Context, limit: Limit = 20) -> None:
    """List conversations, the one used last first."""
    from wellread.serve.stored import OWNER, session_body  # noqa: PLC0415 - loads the stores
    from wellread.serve.stored_tables import print_sessions  # noqa: PLC0415

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
    from wellread.serve.render import print_answer  # noqa: PLC0415 - loads the stores
    from wellread.serve.stored import OWNER, session_detail_body  # noqa: PLC0415

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
    from wellread.serve.stored import OWNER  # noqa: PLC0415 - loads the stores

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
