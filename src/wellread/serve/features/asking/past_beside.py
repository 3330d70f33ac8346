"""Past questions with expert feedback, shown beside an answer that no model wrote.

A model is told of them in its prompt; without one the reader sees them. That one is near does not
make it the same question, which is said with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from wellread.ask.retrieve.past_questions import SimilarQuestion, like, same, similar_questions
from wellread.ask.retrieve.rated_questions import FlaggedSentences, flagged_sentences, shown_text
from wellread.errors import UnknownCollectionError
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import INDENT, print_link
from wellread.text.words import harmless
from wellread.values.answers import EXTRACTIVE, NOBODY, Answer


class PastQuestionBody(Body):
    """A past question like the new one, with its answer and what an expert put right of it.

    It is an answer given here (``answer_id``), or came in a document (``document_id``).
    """

    question: str
    answer: str = Field(description="at most about 400 characters")
    correction: str = Field(description="what the expert put right, or says is wrong with it")
    score: int | None = Field(description="the expert's, of 100")
    similarity: float = Field(description="cosine of the two questions")
    verified: bool = Field(description="whether it is the same question, and not expired")
    expired: str = Field(description="why its feedback counts no more; empty while it does")
    answer_id: str
    document_id: str
    link: str


def past_beside(kb: KnowledgeBase, answer: Answer) -> tuple[PastQuestionBody, ...]:
    """The past questions like that of ``answer``; none where a model, a count or an expert
    answered.

    Only the borders of collections can be kept to, so an asker who set another limit is shown none.

    Raises:
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    unwritten = answer.answered_by == EXTRACTIVE or (answer.answered_by == NOBODY and not kb.model)
    if not answer.id:  # nothing was asked
        return ()
    given = [one for one in answer.limits if one.origin == "asker"]
    bordered = all(one.kind == "collection" for one in given)
    if not (kb.settings.features.similar_questions and unwritten and bordered):
        return ()
    question = answer.standalone or answer.question
    wanted = like(kb, tuple(one.value for one in given))
    own = len(kb.catalogue.feedback.of_answers([answer.id]).get(answer.id, ()))
    # An answer that was judged is like itself; it takes nobody's place.
    wider = replace(wanted, most=wanted.most and wanted.most + own)
    try:
        found = similar_questions(kb, question, wider)
    except UnknownCollectionError:  # it was removed since the answer was given, with all in it
        return ()
    bodies: list[PastQuestionBody] = []
    room = wanted.most
    for one in found:
        if one.rated is not None and one.rated.given.answer_id == answer.id:
            continue
        if not room:
            break
        bodies.append(_body(question, one, flagged_sentences(kb, one.collections)))
        room -= not one.expired
    return tuple(bodies)


def _body(question: str, one: SimilarQuestion, flagged: FlaggedSentences) -> PastQuestionBody:
    past = one.past
    asked = one.alone or past.question
    agrees = same(question, asked, one.similarity)
    judged = (each for each in past.sentences if each.harmful or each.content_issue)
    wrong = " ".join(each.explanation for each in judged if each.explanation)
    return PastQuestionBody.of(
        one,
        past,
        answer=shown_text(past.answer, flagged, past.sentences),
        correction=shown_text(one.correction or wrong, flagged),
        verified=agrees and not one.expired,
        answer_id=one.rated.given.answer_id if one.rated else "",
        document_id=one.document.id if one.document else "",
        link=past.expert_citation_url or past.citation_url,
    )


def print_past(console: Console, found: Sequence[PastQuestionBody]) -> None:
    """A short block: each past question, whether it is the same one, and its answer."""
    if not found:
        return
    console.print()
    for one in found:
        head = Text.assemble(("Asked before: ", "bold"), harmless(one.question))
        head.append(f" ({standing(one)})", style="dim")
        console.print(head)
        console.print(Padding(Text(harmless(one.answer)), (0, 0, 0, INDENT)))
        if one.correction:
            said = Text(f"Corrected: {harmless(one.correction)}")
            console.print(Padding(said, (0, 0, 0, INDENT)))
        print_link(console, one.link)


def standing(one: PastQuestionBody) -> str:
    """In words: whether it is the same question, whether its feedback counts, and the rating."""
    parts = ["verified: the same question" if one.verified else "similar, not verified"]
    parts += [f"expired: {one.expired}"] if one.expired else []
    parts += [f"rated {one.score} of 100"] if one.score is not None else []
    return "; ".join(parts)
