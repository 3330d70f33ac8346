"""``wellread answers`` and ``wellread feedback``: what was asked and answered, and what of it is
right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from wellread.ask.retrieve.past_questions import Comparison
from wellread.config import Style
from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import (
    Imported,
    as_jsonl,
    give_feedback,
    import_feedback,
    known_feedback,
)
from wellread.library.answer_export import Export, Format, exported
from wellread.library.recheck import Rechecked, named_answer, verify_again
from wellread.serve.cli.answer_printing import print_answer
from wellread.serve.cli.options import Limit, Topics
from wellread.serve.features.kept_answers import (
    RemovedBody,
    RemovedFeedbackBody,
    session_detail_body,
    whole_body,
)
from wellread.serve.features.material_found import SimilarBody, similar_body, wanted_like
from wellread.serve.features.people import notices_body
from wellread.serve.terminal import (
    Terminal,
    print_facts,
    print_line,
    print_rows,
    terminal_of,
)
from wellread.store.schema.stored_values import Feedback
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Answer

app = typer.Typer(rich_markup_mode=None)
answers = typer.Typer(
    name="answers",
    help="Answers that were given, and conversations: list, show, verify again, export.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(answers)

AnswerId = Annotated[str, typer.Argument(metavar="ANSWER", help="Its id; “last” is the newest.")]

ANSWERS = "answer=id:id given=created_at:day sure=confidence stale question:line"
SESSIONS = "session=id last_used=seen_at questions=turns title"
CHECKED = "number title standing reason"
SENTENCES = "now=verdict before reason sentence=text:line"
RATED = "answer=answer_id:id given=updated_at:day score sentences:count question:line"
FEEDBACK = """question answer=answer_id:id score By=by Comment=comment Should_say=correction
    Expired=expired"""
RATINGS = "sentence:one score harmful content_issue source_fault explanation correction"
NOTICES = "on=created_at:day for=owner what=text"


@answers.callback()
def list_answers(
    context: typer.Context,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Conversations instead, the one used last first.")
    ] = False,
    query: Annotated[str, typer.Option(help="Only conversations that have all these words.")] = "",
    limit: Limit = 20,
) -> None:
    """List the answers that were given, the newest first."""
    if context.invoked_subcommand:
        return
    terminal = terminal_of(context)
    with terminal.open() as kb:
        stored, owner = kb.catalogue.sessions, kb.asker.owner
        if sessions or query:
            found = stored.search(owner, query, limit)
            terminal.show_rows(found, SESSIONS, none="No session yet.")
        else:
            terminal.show_rows(stored.answers(owner, limit), ANSWERS, none="No answer yet.")


@answers.command("show")
def show_answer(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ANSWER|SESSION", help="An id; “last” is the newest answer.")
    ],
) -> None:
    """Show an answer as it was given, or a conversation: questions and answers, oldest first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        stored, owner = kb.catalogue.sessions, kb.asker.owner
        facts = stored.session(name, owner)
        if facts is not None:
            turns = stored.turns(name, owner, facts.turns or 1)
            if terminal.json:
                terminal.write_json(session_detail_body(facts, turns))
                return
            for turn in turns:
                _print(terminal, turn)
            return
        kept, answer = named_answer(kb, name, owner)
        shown = as_rendered(answer, kb.settings.citations)
    if terminal.json:
        terminal.write_json(whole_body(kept, answer))
        return
    _print(terminal, shown)
    if kept.stale:
        again = f"wellread answers verify {kept.id}"
        print_line(terminal.out, f"Stale: a source has changed or gone; see '{again}'.", "yellow")


def _print(terminal: Terminal, answer: Answer) -> None:
    print_line(terminal.out, f"› {answer.question}", "bold")
    print_answer(terminal.out, answer, seconds=sum(step.seconds for step in answer.steps))


@answers.command("verify")
def verify_answer(context: typer.Context, answer_id: AnswerId) -> None:
    """Check an answer against its sources as they are now; the result is kept.

    Ends with status 1 when the answer is stale.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        checked = verify_again(kb, _id_of(kb, answer_id), kb.asker.owner)
    terminal.show(checked, _print_recheck)
    if checked.stale:
        raise typer.Exit(1)


def _print_recheck(console: Console, checked: Rechecked) -> None:
    """What became of each source and of each sentence."""
    print_rows(console, checked.citations, CHECKED)
    print_rows(console, checked.sentences, SENTENCES, "Sentences")
    for note in checked.notes:
        print_line(console, f"Note: {note}")
    again = "Stale: ask again for an answer from the sources as they are now."
    print_line(console, again if checked.stale else "It stands.")


def _id_of(kb: KnowledgeBase, given: str) -> str:
    return named_answer(kb, given, kb.asker.owner)[0].id


@answers.command("export")
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
) -> None:
    """Write an answer as Markdown, or its sources as CSL-JSON or BibTeX, to standard output."""
    terminal = terminal_of(context)
    wanted = Export(form=form, style=style, verdicts=verdicts)
    with terminal.open() as kb:
        text = exported(kb, *named_answer(kb, answer_id, kb.asker.owner), wanted)
    terminal.show({"format": form, "text": text}, lambda *_: typer.echo(text, nl=False))


@answers.command("remove")
def remove_session(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="The conversation.")],
) -> None:
    """Remove a conversation with all its answers."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        removed = remove_conversation(kb, session_id, kb.asker.owner)
    if removed is None:
        detail = f"there is no session {session_id!r}"
        raise UnknownNameError(detail, hint="see 'wellread answers --sessions'")
    gone = RemovedBody(id=session_id, answers=removed)
    terminal.say(gone, f"Removed the session and its {removed:,} answers.")


# --- feedback --------------------------------------------------------------------------------

GIVE = "give"


class OrGive(TyperGroup):
    """Takes what is no command for the id of an answer: ``wellread feedback last --score 80``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with ``give`` in front of an answer's id."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = [GIVE, *args]
        return super().parse_args(ctx, args)


feedback = typer.Typer(
    name="feedback",
    cls=OrGive,
    help="Rate answers and their sentences: wellread feedback ANSWER --score 80.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(feedback)


@feedback.callback()
def list_feedback(context: typer.Context, limit: Limit = 100) -> None:
    """List the answers that have feedback, the oldest first."""
    if context.invoked_subcommand:
        return
    terminal = terminal_of(context)
    with terminal.open() as kb:
        rated = list(kb.catalogue.feedback.every(limit=limit))
        total = kb.catalogue.feedback.count()
    terminal.show_rows(rated, RATED, total, none="No feedback yet.")


@feedback.command(GIVE)
def give(
    context: typer.Context,
    answer_id: AnswerId,
    score: Annotated[int | None, typer.Option(min=0, max=100, help="Of the answer, 0–100.")] = None,
    comment: Annotated[str | None, typer.Option(help="Why, in words.")] = None,
    correction: Annotated[str | None, typer.Option(help="What the answer should say.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take back all that was said.")] = False,
) -> None:
    """Say what is right and wrong with an answer; with nothing to say it shows what was said.

    What is not named stays as it was. Its sentences are rated on its page, or by a file.
    """
    terminal = terminal_of(context)
    named = {"score": score, "comment": comment, "correction": correction}
    given: dict[str, Any] = {name: said for name, said in named.items() if said is not None}
    with terminal.open() as kb:
        answer = _id_of(kb, answer_id)
        if given and not remove:
            made = give_feedback(kb, answer, given, author=kb.asker.owner)
        else:
            made = known_feedback(kb, answer, kb.asker.owner)
        if remove:
            kb.catalogue.feedback.remove(made.id)
    if remove:
        gone = RemovedFeedbackBody(id=made.id, answer_id=made.answer_id)
        terminal.say(gone, f"Removed from {made.answer_id}.")
    else:
        terminal.show(made, _print_feedback)


def _print_feedback(console: Console, body: Feedback) -> None:
    """What was said of the answer, then of its sentences."""
    print_facts(console, body, FEEDBACK)
    print_rows(console, body.sentences, RATINGS, "Sentences")


@feedback.command("export")
def export_feedback(context: typer.Context) -> None:
    """Write all feedback as JSON Lines to standard output."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        text = as_jsonl(kb.catalogue.feedback.every())
    terminal.show({"text": text}, lambda *_: typer.echo(text, nl=False))


@feedback.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that export wrote, or one like it.")],
) -> None:
    """Take feedback from a file of JSON Lines; status 1 when a line was refused."""
    terminal = terminal_of(context)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not UTF-8: {error}", hint="save it as UTF-8") from error
    with terminal.open() as kb:
        taken = import_feedback(kb, text, author=kb.asker.owner)
    terminal.show(taken, _print_imported)
    if taken.refused:
        raise typer.Exit(1)


def _print_imported(console: Console, taken: Imported) -> None:
    print_facts(console, taken, "Answers_whose_feedback_was_taken=answers:count")
    print_rows(console, taken.refused, "line reason", "Refused")


@feedback.command()
def similar(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The new question.")],
    rating: Annotated[
        int | None, typer.Option(min=0, max=100, help="Expert rating to compare with.")
    ] = None,
    compare: Annotated[
        Comparison, typer.Option(help="How a past question's rating has to compare.")
    ] = "lt",
    language: Annotated[str, typer.Option(help="Only past questions in this language.")] = "",
    threshold: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Least cosine of the two questions.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=50, help="Most past questions.")] = None,
    topic: Topics = None,
) -> None:
    """Show past questions like this one, with what experts said of their answers.

    It is what a language model is shown; feedback on sources that have changed since is marked.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        wanted = wanted_like(
            kb,
            tuple(topic or ()),
            rating=(rating, compare),
            language=language,
            threshold=threshold,
            limit=limit,
        )
        body = similar_body(kb, question, wanted)
    terminal.show(body, _print_similar)


def _print_similar(console: Console, body: SimilarBody) -> None:
    for past in body.results:
        if past.expired:
            print_line(console, f"Expired: {past.question}: {past.expired}", "yellow")
    if body.prompt or not body.results:
        print_line(console, body.prompt or "No past question is like this one.")


@feedback.command()
def notices(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those that were seen as well.")] = False,
) -> None:
    """Show what you should know: corrections that expired, questions that were answered since."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        notices = notices_body(kb, every=every).notices
        kb.catalogue.notices.mark_seen([notice.id for notice in notices])
    terminal.show_rows(notices, NOTICES, none="Nothing new.")
