"""``wellread feedback``: rate an answer and its sentences; lists, files and back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from wellread.errors import RequestError
from wellread.learning.feedback_giving import (
    as_csv,
    as_jsonl,
    give_feedback,
    import_feedback,
    known_feedback,
)
from wellread.library.recheck import named_answer
from wellread.serve.features.learning.feedback_bodies import (
    FeedbackListBody,
    RemovedFeedbackBody,
    feedback_body,
    imported_body,
    print_feedback,
    print_feedback_list,
    print_imported,
)
from wellread.serve.terminal import terminal_of

GIVE = "give"


class OrGive(TyperGroup):
    """Takes what is no command for the id of an answer: ``wellread feedback last --score 80``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with ``give`` in front of an answer's id."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = [GIVE, *args]
        return super().parse_args(ctx, args)


class FileForm(StrEnum):
    """How a file holds feedback."""

    JSONL = "jsonl"
    CSV = "csv"


app = typer.Typer(rich_markup_mode=None)
feedback_app = typer.Typer(
    name="feedback",
    cls=OrGive,
    help="Rate answers and their sentences: wellread feedback ANSWER --score 80.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(feedback_app)

AnswerId = Annotated[str, typer.Argument(metavar="ANSWER", help="Its id; “last” is the newest.")]
Form = Annotated[FileForm | None, typer.Option("--format", help="Else by the file's ending.")]


@feedback_app.command(GIVE)
def give(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    answer_id: AnswerId,
    score: Annotated[str, typer.Option(help="Of the answer, 0–100; 'none' takes it back.")] = "",
    comment: Annotated[str | None, typer.Option(help="Why, in words.")] = None,
    correction: Annotated[str | None, typer.Option(help="What the answer should say.")] = None,
    sentence: Annotated[int, typer.Option(help="Which sentence, counted from 1.", min=0)] = 0,
    sentence_score: Annotated[str, typer.Option(help="Of that sentence, 0–100, or 'none'.")] = "",
    explanation: Annotated[str | None, typer.Option(help="Why it is rated so.")] = None,
    sentence_correction: Annotated[str | None, typer.Option(help="What it should say.")] = None,
    harmful: Annotated[bool | None, typer.Option(help="It must never be said again.")] = None,
    content_issue: Annotated[bool | None, typer.Option(help="Its content is wrong.")] = None,
    source_fault: Annotated[
        bool | None, typer.Option(help="The cited source itself is wrong (--no-: it was misread).")
    ] = None,
    document: Annotated[str, typer.Option(metavar="ID", help="The better source.")] = "",
    words: Annotated[str, typer.Option(help="Its words that prove the sentence.")] = "",
) -> None:
    """Say what is right and wrong with an answer; what is not named stays as it was said."""
    terminal = terminal_of(context)
    given: dict[str, Any] = {"comment": comment, "correction": correction}
    rating: dict[str, Any] = {
        "explanation": explanation,
        "correction": sentence_correction,
        "harmful": harmful,
        "content_issue": content_issue,
        "source_fault": source_fault,
    }
    given, rating = _named(given), _named(rating)
    if score:
        given["score"] = _number(score)
    if sentence_score:
        rating["score"] = _number(sentence_score)
    if bool(document) != bool(words):
        raise RequestError("a better citation needs --document and --words", hint="give both")
    cited = {"document_id": document, "words": words} if document else None
    if sentence:
        rating |= {"citation": cited} if cited else {}
        given["sentences"] = [{"sentence": sentence - 1, **rating}]
    elif rating:
        raise RequestError("no sentence is named", hint="add --sentence N, counted from 1")
    elif cited:
        given["citations"] = [cited]
    with terminal.open() as kb:
        known = named_answer(kb, answer_id, kb.asker.owner)[0].id
        made = give_feedback(kb, known, given, author=kb.asker.owner)
    terminal.show(feedback_body(made), print_feedback)


@feedback_app.command("list")
def list_feedback(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most lines.")] = 100,
) -> None:
    """List the answers that have feedback, the oldest first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = tuple(map(feedback_body, kb.catalogue.feedback.every(limit=limit)))
        body = FeedbackListBody(feedback=found, total=kb.catalogue.feedback.count())
    terminal.show(body, print_feedback_list)


@feedback_app.command("show")
def show_feedback(context: typer.Context, answer_id: AnswerId) -> None:
    """Show what was said of an answer."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = feedback_body(
            known_feedback(kb, named_answer(kb, answer_id, kb.asker.owner)[0].id, kb.asker.owner)
        )
    terminal.show(body, print_feedback)


@feedback_app.command("remove")
def remove_feedback(context: typer.Context, answer_id: AnswerId) -> None:
    """Take back all that was said of an answer."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = known_feedback(
            kb, named_answer(kb, answer_id, kb.asker.owner)[0].id, kb.asker.owner
        )
        kb.catalogue.feedback.remove(found.id)
    body = RemovedFeedbackBody.of(found)
    terminal.show(body, lambda console, one: console.print(f"Removed from {one.answer_id}."))


@feedback_app.command("export")
def export_feedback(
    context: typer.Context,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; else standard output.")
    ] = None,
    form: Form = None,
) -> None:
    """Write all feedback as JSON Lines or CSV."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        every = kb.catalogue.feedback.every()
    chosen = _form(form, output)
    text = as_csv(every) if chosen == FileForm.CSV else as_jsonl(every)
    if output is not None:
        output.write_text(text, encoding="utf-8", newline="")
    if terminal.json:
        where = str(output) if output is not None else ""
        terminal.write_json({"format": chosen, "file": where, "text": text})
    elif output is None:
        typer.echo(text, nl=False)


@feedback_app.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that export wrote, or one like it.")],
    form: Form = None,
) -> None:
    """Take feedback from a file; ends with status 1 when a line was refused."""
    terminal = terminal_of(context)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not UTF-8: {error}", hint="save it as UTF-8") from error
    with terminal.open() as kb:
        found = import_feedback(kb, text, form=_form(form, file), author=kb.asker.owner)
    terminal.show(imported_body(found), print_imported)
    if found.refused:
        raise typer.Exit(1)


def _form(form: FileForm | None, file: Path | None) -> FileForm:
    named = file is not None and file.suffix.lower() == ".csv"
    return form or (FileForm.CSV if named else FileForm.JSONL)


def _named(given: dict[str, Any]) -> dict[str, Any]:
    """What was named on the command line."""
    return {name: value for name, value in given.items() if value is not None}


def _number(given: str) -> int | float | None:
    """A score as it was typed: 0 and 0.0 are not the same number."""
    if given.casefold() == "none":
        return None
    try:
        return int(given) if given.lstrip("+-").isdecimal() else float(given)
    except ValueError:
        raise RequestError(f"{given!r} is no score", hint="give a number of 0 to 100") from None
