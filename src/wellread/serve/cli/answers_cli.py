"""Commands ``answers`` and ``feedback``: list, show, check, export and rate stored answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from wellread.ask.retrieve.past_questions import Comparison
from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import (
    ImportResult,
    as_jsonl,
    give_feedback,
    import_feedback,
    require_feedback,
)
from wellread.library.answer_export import Format, export_answer
from wellread.library.recheck import Rechecked, named_answer, verify_again
from wellread.serve.cli.answer_printing import print_answer
from wellread.serve.cli.options import Limit, Topics
from wellread.serve.features.answering import answer_body
from wellread.serve.features.kept_answers import (
    RemovedBody,
    RemovedFeedbackBody,
    SessionDetailBody,
    WholeAnswerBody,
)
from wellread.serve.features.material_found import SimilarBody, similar_body, similarity_criteria
from wellread.serve.terminal import Terminal, opened, print_facts, print_line, print_rows
from wellread.store.schema.stored_values import Feedback
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Answer

app = typer.Typer(rich_markup_mode=None)
answers = typer.Typer(
    name="answers",
    help="List, show, verify, export and remove stored answers and conversations.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(answers)

AnswerId = Annotated[str, typer.Argument(metavar="ANSWER", help="Id, or “last” for the newest.")]

# The fields that lists and facts print: see ``serve/terminal.py``.
ANSWERS = "answer=id:id given=created_at:day sure=confidence stale question:line"
SESSIONS = "session=id last_used=seen_at questions=turns title"
CHECKED = "number title standing reason"
SENTENCES = "now=verdict before reason sentence=text:line"
RATED = "answer=answer_id:id given=updated_at:day score sentences:count question:line"
FEEDBACK = """question answer=answer_id:id score By=by Comment=comment Should_say=correction
    Expired=expired"""
RATINGS = "sentence:from_one score harmful content_issue explanation correction"


@answers.callback()
def list_answers(
    context: typer.Context,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="List conversations, most recently used first.")
    ] = False,
    query: Annotated[str, typer.Option(help="Only conversations with all these words.")] = "",
    limit: Limit = 20,
) -> None:
    """List stored answers, newest first."""
    if context.invoked_subcommand:
        return
    with opened(context) as (terminal, kb):
        sessions_, owner = kb.catalogue.sessions, kb.asker.owner
        if sessions or query:
            conversations = sessions_.of(owner, limit, words=query)
            terminal.show_rows(conversations, SESSIONS, none="There are no sessions yet.")
        else:
            newest = sessions_.answers(owner, limit)
            terminal.show_rows(newest, ANSWERS, none="There are no answers yet.")


@answers.command("show")
def show_answer(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ANSWER|SESSION", help="An id; “last” is the newest answer.")
    ],
) -> None:
    """Show a stored answer, or a conversation with its questions and answers, oldest first."""
    with opened(context) as (terminal, kb):
        stored, owner = kb.catalogue.sessions, kb.asker.owner
        facts = stored.session(name, owner)
        if facts is not None:
            turns = stored.turns(name, owner, facts.turns or 1)
            if terminal.json:
                answers = tuple(map(answer_body, turns))
                terminal.write_json(SessionDetailBody(session=facts, answers=answers))
                return
            for turn in turns:
                _print(terminal, turn)
            return
        record, answer = named_answer(kb, name, owner)
        rendered = as_rendered(answer, kb.settings.citations)
    if terminal.json:
        terminal.write_json(WholeAnswerBody(answer=answer_body(answer), stored=record))
        return
    _print(terminal, rendered)
    if record.stale:
        again = f"wellread answers verify {record.id}"
        print_line(terminal.out, f"Stale: a source has changed or gone; see '{again}'.", "yellow")


def _print(terminal: Terminal, answer: Answer) -> None:
    print_line(terminal.out, f"› {answer.question}", "bold")
    print_answer(terminal.out, answer, seconds=sum(step.seconds for step in answer.steps))


@answers.command("verify")
def verify_answer(context: typer.Context, answer_id: AnswerId) -> None:
    """Check an answer against the current sources and store the result.

    Exit status: 1 when the answer is stale.
    """
    with opened(context) as (terminal, kb):
        checked = verify_again(kb, _full_id(kb, answer_id), kb.asker.owner)
    terminal.show(checked, _print_recheck)
    if checked.stale:
        raise typer.Exit(1)


def _print_recheck(console: Console, checked: Rechecked) -> None:
    print_rows(console, checked.citations, CHECKED)
    print_rows(console, checked.sentences, SENTENCES, "Sentences")
    for note in checked.notes:
        print_line(console, f"Note: {note}")
    again = "Stale: ask again to get an answer from the current sources."
    print_line(console, again if checked.stale else "The answer is still valid.")


def _full_id(kb: KnowledgeBase, prefix: str) -> str:
    return named_answer(kb, prefix, kb.asker.owner)[0].id


@answers.command("export")
def export(
    context: typer.Context,
    answer_id: AnswerId,
    form: Annotated[Format, typer.Option("--format", help="The output format.")] = "markdown",
) -> None:
    """Write an answer as Markdown, or its sources as BibTeX or CSL-JSON, to standard output."""
    with opened(context) as (terminal, kb):
        text = export_answer(kb, *named_answer(kb, answer_id, kb.asker.owner), form)
    terminal.show({"format": form, "text": text}, lambda *_: typer.echo(text, nl=False))


@answers.command("remove")
def remove_session(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="The conversation.")],
) -> None:
    """Remove a conversation with all its answers."""
    with opened(context) as (terminal, kb):
        removed = remove_conversation(kb, session_id, kb.asker.owner)
    if removed is None:
        detail = f"there is no session {session_id!r}"
        raise UnknownNameError(detail, hint="list them: wellread answers --sessions")
    body = RemovedBody(id=session_id, answers=removed)
    terminal.say(body, f"Removed the session and its {removed:,} answers.")


# --- feedback --------------------------------------------------------------------------------

GIVE = "give"


class DefaultToGive(TyperGroup):
    """A command group that treats an unknown command as an answer id and runs ``give`` with it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``give`` in front of an answer id."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = [GIVE, *args]
        return super().parse_args(ctx, args)


feedback = typer.Typer(
    name="feedback",
    cls=DefaultToGive,
    help="Rate answers and their sentences: wellread feedback ANSWER --score 80.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(feedback)


@feedback.callback()
def list_feedback(context: typer.Context, limit: Limit = 100) -> None:
    """List answers with feedback, oldest first."""
    if context.invoked_subcommand:
        return
    with opened(context) as (terminal, kb):
        rated = list(kb.catalogue.feedback.list_all(limit=limit))
        total = kb.catalogue.feedback.count()
    terminal.show_rows(rated, RATED, total, none="There is no feedback yet.")


@feedback.command(GIVE)
def give(
    context: typer.Context,
    answer_id: AnswerId,
    score: Annotated[int | None, typer.Option(min=0, max=100, help="Score, 0–100.")] = None,
    comment: Annotated[str | None, typer.Option(help="The reason for the score.")] = None,
    correction: Annotated[str | None, typer.Option(help="What the answer should say.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove all feedback on it.")] = False,
) -> None:
    """Rate an answer; without options, show its feedback.

    Options that are not given stay unchanged. Sentences are rated on its page or by import.
    """
    options = {"score": score, "comment": comment, "correction": correction}
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    with opened(context) as (terminal, kb):
        answer = _full_id(kb, answer_id)
        if changes and not remove:
            stored = give_feedback(kb, answer, changes, author=kb.asker.owner)
        else:
            stored = require_feedback(kb, answer, kb.asker.owner)
        if remove:
            kb.catalogue.feedback.remove(stored.id)
    if remove:
        removed = RemovedFeedbackBody(id=stored.id, answer_id=stored.answer_id)
        terminal.say(removed, f"Removed from {stored.answer_id}.")
    else:
        terminal.show(stored, _print_feedback)


def _print_feedback(console: Console, body: Feedback) -> None:
    print_facts(console, body, FEEDBACK)
    print_rows(console, body.sentences, RATINGS, "Sentences")


@feedback.command("export")
def export_feedback(context: typer.Context) -> None:
    """Write all feedback as JSON Lines to standard output."""
    with opened(context) as (terminal, kb):
        text = as_jsonl(kb.catalogue.feedback.list_all())
    terminal.show({"text": text}, lambda *_: typer.echo(text, nl=False))


@feedback.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file written by export, or in its format.")],
) -> None:
    """Import feedback from a JSON Lines file. Exit status: 1 when a line was refused."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not UTF-8: {error}", hint="save it as UTF-8") from error
    with opened(context) as (terminal, kb):
        result = import_feedback(kb, text, author=kb.asker.owner)
    terminal.show(result, _print_imported)
    if result.refused:
        raise typer.Exit(1)


def _print_imported(console: Console, result: ImportResult) -> None:
    print_facts(console, result, "Answers_whose_feedback_was_taken=answers:count")
    print_rows(console, result.refused, "line reason", "Refused")


@feedback.command()
def similar(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The new question.")],
    rating: Annotated[
        int | None, typer.Option(min=0, max=100, help="Expert rating for --compare.")
    ] = None,
    compare: Annotated[
        Comparison, typer.Option(help="How past ratings must compare to --rating.")
    ] = "lt",
    language: Annotated[str, typer.Option(help="Only past questions in this language.")] = "",
    threshold: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Minimum cosine of the two questions.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=50, help="Maximum number.")] = None,
    topic: Topics = None,
) -> None:
    """Show similar past questions with the expert feedback on their answers.

    This is what a language model is shown. Feedback on sources that have changed since is marked.
    """
    with opened(context) as (terminal, kb):
        criteria = similarity_criteria(
            kb,
            tuple(topic or ()),
            rating=(rating, compare),
            language=language,
            threshold=threshold,
            limit=limit,
        )
        body = similar_body(kb, question, criteria)
    terminal.show(body, _print_similar)


def _print_similar(console: Console, body: SimilarBody) -> None:
    for past in body.results:
        if past.expired:
            print_line(console, f"Expired: {past.question}: {past.expired}", "yellow")
    if body.prompt or not body.results:
        print_line(console, body.prompt or "There is no similar past question.")
