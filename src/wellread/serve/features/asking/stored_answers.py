"""Conversations and the answers that were given: listed, checked again, opened at a citation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.padding import Padding
from rich.table import Column
from rich.text import Text

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.recheck import Rechecked, Standing
from wellread.serve.features.asking.answer_bodies import AskResponse, answer_body
from wellread.serve.features.bodies import Body, PlainBody
from wellread.serve.terminal import INDENT, SHORT_ID, print_link, right, table, whole
from wellread.store.catalogue.asking.past_answers import SessionFacts
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.text.words import harmless
from wellread.values.answers import Answer, VerdictName

LONGEST_TITLE = 200  # characters of what a session is called
AROUND = 500  # characters shown on either side of an opened citation


class SessionBody(Body):
    """A conversation; ``title`` is its first question, shortened, until it is renamed."""

    id: str
    title: str
    turns: int
    created_at: datetime
    seen_at: datetime


class SessionsBody(Body):
    """Conversations, the one used last first."""

    sessions: tuple[SessionBody, ...]


class SessionDetailBody(SessionBody):
    """A conversation with its answers, oldest first."""

    answers: tuple[AskResponse, ...]


class RemovedBody(Body):
    """What was removed with a session."""

    id: str
    answers: int


class StoredAnswerBody(Body):
    """Facts about an answer; ``stale``: a source of it has changed or gone since."""

    id: str
    question: str
    session_id: str
    answered_by: str
    confidence: float
    created_at: datetime
    stale: bool


class StoredAnswersBody(Body):
    """Answers, newest first."""

    answers: tuple[StoredAnswerBody, ...]


class WholeAnswerBody(AskResponse):
    """An answer as it is kept."""

    created_at: datetime
    stale: bool


class CitationCheckBody(Body):
    """What became of a cited source; ``id`` is ``number`` as a string."""

    id: str
    number: int
    title: str
    standing: Standing
    reason: str


class SentenceCheckBody(Body):
    """A sentence with the verdict it had, and the one it has now."""

    text: str
    before: VerdictName
    verdict: VerdictName
    method: str
    reason: str


class RecheckBody(Body):
    """A stored answer checked against the sources as they are now."""

    id: str
    stale: bool
    citations: tuple[CitationCheckBody, ...]
    sentences: tuple[SentenceCheckBody, ...]
    notes: tuple[str, ...]


class OpenedBody(PlainBody):
    """A citation with the text around it, as the source has it now."""

    number: int
    title: str
    locator: str
    link: str
    before: str
    quote: str
    after: str


def session_detail_body(facts: SessionFacts, answers: Sequence[Answer]) -> SessionDetailBody:
    """A conversation with its answers."""
    return SessionDetailBody.of(facts, answers=[answer_body(answer) for answer in answers])


def whole_body(stored: StoredAnswer, answer: Answer) -> WholeAnswerBody:
    """An answer as it is kept."""
    return WholeAnswerBody.of(answer_body(answer), created_at=stored.created_at, stale=stored.stale)


def recheck_body(found: Rechecked) -> RecheckBody:
    """What checking an answer again has shown."""
    sentences = [
        SentenceCheckBody.of(one, one.now, verdict=one.now.name) for one in found.sentences
    ]
    citations = [
        CitationCheckBody.of(one, id=str(one.id), number=one.id) for one in found.citations
    ]
    return RecheckBody.of(found, id=found.answer.id, citations=citations, sentences=sentences)


def opened_body(kb: KnowledgeBase, answer: Answer, number: int) -> OpenedBody:
    """Citation ``number`` of ``answer``, read from the catalogue again.

    Raises:
        RequestError: the answer has no such citation, or its source has changed or gone since.
    """
    citation = next((each for each in answer.citations if each.id == number), None)
    if citation is None:
        raise RequestError(
            f"the answer has no citation {number}", hint=f"it has {len(answer.citations)}"
        )
    document = kb.catalogue.document(citation.document_id)
    live = kb.catalogue.live_versions([citation.document_id]).get(citation.document_id)
    if document is None or live != citation.version:
        raise RequestError(
            f"the source of citation {number} has changed or gone since the answer was given",
            hint="ask again",
        )
    span, text = citation.source_span, document.text
    before, after = text[max(0, span.start - AROUND) : span.start], text[span.end :][:AROUND]
    return OpenedBody.of(
        citation,
        number=number,
        locator=citation.locator.label,
        quote=span.of(text),
        # Whole words; a script without spaces stays as it is.
        before=(before.partition(" ")[2] or before) if len(before) >= AROUND else before,
        after=(after.rpartition(" ")[0] or after) if len(after) >= AROUND else after,
    )


def print_sessions(console: Console, body: SessionsBody, *, current: str = "") -> None:
    """One line for each session, the one used last first; ``*`` marks the current one."""
    if not body.sessions:
        console.print(Text("No session yet.", style="yellow"))
        return
    names = (whole(""), whole("Session"), whole("Last used"), right("Questions"), "Title")
    rows = (
        (
            "*" if one.id == current else "",
            one.id,
            f"{one.seen_at.astimezone():%Y-%m-%d %H:%M}",
            f"{one.turns:,}",
            one.title,
        )
        for one in body.sessions
    )
    console.print(table(names, rows))


def print_answers(console: Console, body: StoredAnswersBody) -> None:
    """One line for each answer, the newest first; the question has what room there is."""
    if not body.answers:
        console.print(Text("No answer yet.", style="yellow"))
        return
    by = Column("By", no_wrap=True, max_width=10)
    columns = (whole("Answer"), whole("Given"), by, right("Sure"), "Question")
    rows = []
    for one in body.answers:
        question = Text(harmless(one.question))
        if one.stale:
            question.append(" (stale)", style="yellow")
        day = f"{one.created_at.astimezone():%Y-%m-%d}"
        facts = (short_answer_id(one.id), day, one.answered_by, f"{one.confidence:.2f}")
        rows.append((*facts, question))
    console.print(table(columns, rows))


def short_answer_id(answer_id: str) -> str:
    """How an answer's id begins, as much of it as names it."""
    return answer_id.removeprefix("ans_")[:SHORT_ID]


def print_recheck(console: Console, body: RecheckBody) -> None:
    """What became of each source and of each sentence."""
    for one in body.citations:
        line = Text.assemble((f"[{one.id}] ", "bold cyan"), (harmless(one.title), "bold"))
        line.append(f": {one.reason}", style="" if one.standing == "same" else "yellow")
        console.print(line)
    console.print()
    for each in body.sentences:
        now = each.verdict
        console.print(Text.assemble((f"{now.symbol} ", now.style), harmless(each.text)))
        if now != each.before:
            was = f"was {each.before}, is {now}".replace("_", " ")
            told = Text(f"{was}: {harmless(each.reason)}", style="yellow")
            console.print(Padding(told, (0, 0, 0, INDENT)))
    for note in body.notes:
        console.print(Text.assemble(("Note: ", "bold"), harmless(note)))
    console.print()
    if body.stale:
        console.print(Text("Stale: ask again for an answer from the sources as they are now."))
    else:
        console.print(Text("It stands."))


def print_sources(console: Console, answer: Answer) -> None:
    """Everything that the answer quotes, in full."""
    if not answer.citations:
        console.print(Text("The last answer cites nothing.", style="yellow"))
    for citation in answer.citations:
        place = f", {citation.locator.label}" if citation.locator.label else ""
        head = Text.assemble((f"[{citation.id}] ", "bold cyan"))
        head.append(harmless(f"{citation.title}{place}"), style="bold")
        console.print(head)
        console.print(Padding(Text(harmless(citation.quote)), (0, 0, 0, INDENT)))
        print_link(console, citation.link)


def print_opened(console: Console, body: OpenedBody) -> None:
    """The quotation set off in the text around it."""
    place = f" — {body.locator}" if body.locator else ""
    console.print(Text(f"[{body.number}] {harmless(body.title)}{place}", style="bold"))
    console.print(Text(harmless(body.link), style="dim cyan"), soft_wrap=True)
    console.print()
    console.print(
        Text.assemble(
            (harmless(body.before), "dim"),
            (harmless(body.quote), "bold black on yellow"),
            (harmless(body.after), "dim"),
        )
    )
