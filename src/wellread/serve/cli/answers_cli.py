"""``wellread answers`` and ``wellread feedback``: what was asked and answered, and what of it is
right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from wellread.ask.retrieve.past_questions import Comparison
from wellread.config import Style
from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import (
    as_jsonl,
    give_feedback,
    import_feedback,
    known_feedback,
)
from wellread.library.answer_export import Export, Format, exported
from wellread.library.recheck import named_answer, verify_again
from wellread.serve.cli.options import Limit, Topics
from wellread.serve.features.answering import print_answer
from wellread.serve.features.kept_answers import (
    FeedbackListBody,
    RemovedFeedbackBody,
    SessionsBody,
    StoredAnswersBody,
    print_answers,
    print_feedback,
    print_feedback_list,
    print_imported,
    print_recheck,
    print_sessions,
    session_detail_body,
    whole_body,
)
from wellread.serve.features.material_found import print_similar, similar_body, wanted_like
from wellread.serve.features.people import notices_body, print_notices
from wellread.serve.terminal import Terminal, terminal_of
from wellread.text.words import harmless
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
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write; else standard output.")
]


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
            body = SessionsBody.of(sessions=found)
            terminal.show_list(body.sessions, lambda out: print_sessions(out, body))
        else:
            given = StoredAnswersBody.of(answers=stored.answers(owner, limit))
            terminal.show_list(given.answers, lambda out: print_answers(out, given))


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
                _print(terminal, turn, f"› {turn.question}")
                terminal.out.print()
            return
        kept, answer = named_answer(kb, name, owner)
        shown = as_rendered(answer, kb.settings.citations)
    if terminal.json:
        terminal.write_json(whole_body(kept, answer))
        return
    _print(terminal, shown, answer.question)
    if kept.stale:
        terminal.out.print(
            f"Stale: a source has changed or gone; see 'wellread answers verify {kept.id}'.",
            style="yellow",
        )


def _print(terminal: Terminal, answer: Answer, question: str) -> None:
    terminal.out.print(harmless(question), style="bold")
    seconds = sum(step.seconds for step in answer.steps)
    print_answer(terminal.out, answer, seconds=seconds, detailed=False)


@answers.command("verify")
def verify_answer(context: typer.Context, answer_id: AnswerId) -> None:
    """Check an answer against its sources as they are now; the result is kept.

    Ends with status 1 when the answer is stale.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        checked = verify_again(kb, _id_of(kb, answer_id), kb.asker.owner)
    terminal.show(checked, print_recheck)
    if checked.stale:
        raise typer.Exit(1)


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
    output: Output = None,
) -> None:
    """Write an answer as Markdown, or its sources as CSL-JSON or BibTeX."""
    terminal = terminal_of(context)
    wanted = Export(form=form, style=style, verdicts=verdicts)
    with terminal.open() as kb:
        text = exported(kb, *named_answer(kb, answer_id, kb.asker.owner), wanted)
    _write(terminal, text, form, output)


def _write(terminal: Terminal, text: str, form: str, output: Path | None) -> None:
    """Write a file's text: there, or to standard output."""
    if output is not None:
        output.write_text(text, encoding="utf-8", newline="")
    if terminal.json:
        where = str(output) if output is not None else ""
        terminal.write_json({"format": form, "file": where, "text": text})
    elif output is None:
        typer.echo(text, nl=False)


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
    if terminal.json:
        terminal.write_json({"id": session_id, "answers": removed})
    else:
        terminal.out.print(f"Removed the session and its {removed:,} answers.")


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
def list_feedback(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most lines.")] = 100,
) -> None:
    """List the answers that have feedback, the oldest first."""
    if context.invoked_subcommand:
        return
    terminal = terminal_of(context)
    with terminal.open() as kb:
        rated = tuple(kb.catalogue.feedback.every(limit=limit))
        body = FeedbackListBody(feedback=rated, total=kb.catalogue.feedback.count())
    terminal.show_list(rated, lambda out: print_feedback_list(out, body), body.total)


@feedback.command(GIVE)
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
    remove: Annotated[bool, typer.Option("--remove", help="Take back all that was said.")] = False,
) -> None:
    """Say what is right and wrong with an answer; with nothing to say it shows what was said.

    What is not named stays as it was.
    """
    terminal = terminal_of(context)
    rating = _named(
        explanation=explanation,
        correction=sentence_correction,
        harmful=harmful,
        content_issue=content_issue,
        source_fault=source_fault,
    )
    given = _named(comment=comment, correction=correction)
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
        answer = _id_of(kb, answer_id)
        if given and not remove:
            made = give_feedback(kb, answer, given, author=kb.asker.owner)
        else:
            made = known_feedback(kb, answer, kb.asker.owner)
        if remove:
            kb.catalogue.feedback.remove(made.id)
    if remove:
        gone = RemovedFeedbackBody(id=made.id, answer_id=made.answer_id)
        terminal.show(gone, lambda out, body: out.print(f"Removed from {body.answer_id}."))
    else:
        terminal.show(made, print_feedback)


def _named(**given: Any) -> dict[str, Any]:
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


@feedback.command("export")
def export_feedback(context: typer.Context, output: Output = None) -> None:
    """Write all feedback as JSON Lines."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        every = kb.catalogue.feedback.every()
    _write(terminal, as_jsonl(every), "jsonl", output)


@feedback.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that export wrote, or one like it.")],
) -> None:
    """Take feedback from a file; ends with status 1 when a line was refused."""
    terminal = terminal_of(context)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not UTF-8: {error}", hint="save it as UTF-8") from error
    with terminal.open() as kb:
        taken = import_feedback(kb, text, author=kb.asker.owner)
    terminal.show(taken, print_imported)
    if taken.refused:
        raise typer.Exit(1)


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
    terminal.show(body, print_similar)


@feedback.command()
def notices(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those that were seen as well.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Do not mark them as seen.")] = False,
) -> None:
    """Show what you should know: corrections that expired, questions that were answered since."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = notices_body(kb, every=every)
        if not keep:
            kb.catalogue.notices.mark_seen([notice.id for notice in body.notices])
    terminal.show_list(body.notices, lambda out: print_notices(out, body))
