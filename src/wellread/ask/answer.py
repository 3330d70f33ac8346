"""The one way from a question to a checked answer. Read this first.

understand → retrieve → aggregate, or write → verify → deliver, and the answer is recorded.
``answer`` yields events; the API streams them, the CLI prints them, everything else takes the last
one (``final``).
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

from anyio import to_thread

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.deliver import answer_reuse
from wellread.ask.deliver.cite import add_conflicting_passages, cite
from wellread.ask.deliver.prune_draft import Deliverable, drop_flagged, prune
from wellread.ask.deliver.related import small_talk_reply, suggest_related
from wellread.ask.deliver.reply import (
    Part,
    Reply,
    deliver,
    deliver_extracts,
    file_gap,
    flagged_note,
    limits_of,
    merge_replies,
    notes_of,
    refuse_to_answer,
    remove_flagged,
    remove_flagged_sentences,
)
from wellread.ask.deliver.tell import aggregate_reply
from wellread.ask.plan import Planned, find, read_as
from wellread.ask.planning_call import PlannedQuestion, Reading, apply_model_plan, planned
from wellread.ask.retrieve.past_questions import corrections, verified_similar
from wellread.ask.retrieve.ranking import Found, pack, with_neighbours
from wellread.ask.retrieve.search import check_index
from wellread.ask.understand.conversation import SessionQuestion
from wellread.ask.understand.conversation import open_session as in_conversation
from wellread.ask.understand.question_parts import depends_on_previous, split_questions
from wellread.ask.understand.rewrite import Turn, make_standalone
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.answered_before import (
    CORRECTION,
    PastAnswer,
    find_correction,
    find_past_answer,
)
from wellread.ask.verify.confidence import (
    VerifiedDraft,
    as_declined,
    confidence_of_catalogue,
    verify_draft,
)
from wellread.ask.verify.conflicts import find_dispute, leading_sentences
from wellread.ask.write.drafting import DraftSink, RawDraft, Writers, write
from wellread.ask.write.extracts import choose_extracts
from wellread.errors import RequestError, WellreadError
from wellread.identity import LOCAL, random_id
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import asked_by, check_rights, drawn_from
from wellread.values.answers import (
    EXTRACTIVE,
    Answer,
    Event,
    Evidence,
    FinalEvent,
    Question,
    SentenceEvent,
    Step,
    StepEvent,
    Usage,
)
from wellread.values.question import Analysis

Explain = Callable[[Analysis, Found], None]
in_thread = to_thread.run_sync


@dataclass(slots=True)
class Clock:
    """Times the steps of one answer."""

    steps: list[Step] = field(default_factory=list)
    _last: float = field(default_factory=time.perf_counter)

    def lap(self, name: str, found: int) -> StepEvent:
        """End the step ``name`` here."""
        now = time.perf_counter()
        step = Step(name=name, seconds=round(now - self._last, 4), found=found)
        self._last = now
        self.steps.append(step)
        return StepEvent(step=step)


async def answer(
    kb: KnowledgeBase, question: Question, *, explain: Explain | None = None
) -> AsyncIterator[Event]:
    """Answer ``question`` from the material of ``kb``; the last event holds the answer.

    Args:
        explain: is told what the question was read as, and what was found and how.

    Raises:
        RequestError: the question is empty or too long, its collection is unknown, or asking is
            switched off.
        UnknownNameError: the asker's rights were taken away meanwhile.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    async with aclosing(_answered(kb, asked_by(kb, question), explain)) as events:
        async for event in events:
            if kb.asker != LOCAL:
                await in_thread(check_rights, kb)
            yield event


async def _answered(
    kb: KnowledgeBase, question: Question, explain: Explain | None
) -> AsyncGenerator[Event]:
    """The stages in order."""
    if not kb.settings.qa.enabled:
        raise RequestError("asking is switched off", hint="set qa.enabled to true")
    nothing = small_talk_reply(question)
    if nothing is not None:
        yield FinalEvent(answer=nothing)
        return
    await in_thread(check_index, kb)
    clock = Clock()
    turn, known = await in_conversation(kb, question)
    reading = Reading(turn=turn)
    if turn.earlier:  # what a follow-up asks decides which answer is the same
        reading = await planned(kb, turn, known)
    place = await in_thread(
        partial(answer_reuse.find_cached, kb, reading.turn, use_cache=explain is None)
    )
    if place.answer is not None:
        yield clock.lap("cache", 1)
        again = replace(place.answer, steps=tuple(clock.steps))
        for sentence in again.sentences:
            yield SentenceEvent(sentence=sentence)
        await in_thread(_record, kb, place, again, question)
        yield FinalEvent(answer=again)
        return
    if not turn.earlier:
        reading = await planned(kb, turn, known)
    if reading.asked:
        yield clock.lap("planning", len(reading.questions))
    turn = reading.turn
    parts: list[Part] = []
    for text, read in await in_thread(_asked, kb, reading):
        part = _part_of(turn, text, () if read else parts, known)
        own = Reading(turn=part, questions=(read,) if read else ())
        async for event in _reply_to(kb, own, known, parts, clock, explain):
            yield event
    whole = await in_thread(merge_replies, kb, parts)
    for sentence in whole.reply.sentences:
        yield SentenceEvent(sentence=sentence)
    yield clock.lap("citation", len(whole.reply.citations))
    reply = await in_thread(suggest_related, kb, whole.analysis, whole.found.hits, whole.reply)
    reply = await in_thread(remove_flagged, kb, reply)
    done = _assemble(whole.analysis, turn, whole.found, reply, clock.steps)
    await in_thread(_record, kb, place, done, question)
    yield FinalEvent(answer=done)


async def _reply_to(
    kb: KnowledgeBase,
    reading: Reading,
    known: Vocabulary,
    parts: list[Part],
    clock: Clock,
    explain: Explain | None,
) -> AsyncIterator[Event]:
    """The steps to the reply to one question, which is added to ``parts``."""
    turn = reading.turn
    analysis, by_model = await in_thread(_understand, kb, reading, known)
    yield clock.lap("analysis", len(analysis.terms))
    before = await in_thread(find_correction, kb, analysis, turn.question.text)
    known_already = Found(strategy=CORRECTION)
    found = known_already if before else await in_thread(find, kb, analysis, by_model)
    analysis = replace(analysis, relaxed=found.relaxed)
    yield clock.lap("retrieval", len(found.hits))
    if explain is not None:
        explain(analysis, found)
    if isinstance(found, AggregateResult):
        reply = await in_thread(_told, kb, analysis, found)
    elif before := before or await in_thread(find_past_answer, kb, analysis):
        found = replace(found, notes=(*found.notes, before.note))
        reply = await in_thread(_given_again, kb, turn.question, analysis, before)
    else:
        evidence = await in_thread(pack, kb, found.hits, len(analysis.sides) or 1)
        yield clock.lap("evidence", len(evidence))
        drafting, shown = DraftSink(), evidence
        if evidence:
            how, shown = await in_thread(_writers, kb, turn.question, analysis, evidence)
            async for token in write(kb, analysis, shown, drafting, how):
                if not _strict(kb, turn.question):  # what may be dropped is not shown before
                    yield token
        if drafting.written is None:
            reply = await in_thread(_shown, kb, analysis, evidence, drafting.fallback)
            yield clock.lap("extracts", len(reply.citations))
        else:
            yield clock.lap("draft", len(drafting.written.claims))
            verified = await verify_draft(kb, analysis, found, shown, drafting.written)
            found = replace(found, failures=(*found.failures, *verified.failures))
            yield clock.lap("verification", len(verified.checked))
            reply = await in_thread(_deliver, kb, turn.question, analysis, shown, verified)
    parts.append(Part(analysis=analysis, found=found, reply=reply))


async def final(events: AsyncIterator[Event]) -> Answer:
    """The answer at the end of ``events``."""
    async for event in events:
        if isinstance(event, FinalEvent):
            return event.answer
    raise WellreadError("the answer ended without a result", hint="report this as a defect")


# --- the stages ------------------------------------------------------------------------------


def _asked(kb: KnowledgeBase, reading: Reading) -> Sequence[tuple[str, PlannedQuestion | None]]:
    """The questions in the question as they are searched, with what a model read of each.

    One, where an expert put the answer to all of it right.
    """
    question = reading.turn.question
    parts: list[tuple[str, PlannedQuestion | None]]
    parts = [(one.search or one.question, one) for one in reading.questions]
    parts = parts or [(part, None) for part in split_questions(question.text)]
    several = len(parts) > 1 and kb.settings.features.corrections
    whole = several and corrections(kb, question.text, question.filters.collections)
    return [(question.text, None)] if whole else parts


def _part_of(
    turn: SessionQuestion, text: str, before: Sequence[Part], known: Vocabulary
) -> SessionQuestion:
    """The turn for one of its questions, in words that need none of those ``before`` it."""
    if text == turn.question.text:
        return turn
    said = [[one.text for one in part.reply.sentences] for part in before]
    asked_before = [part.analysis.question for part in before]
    told = [Turn(question=q, answer=" ".join(a)) for q, a in zip(asked_before, said, strict=True)]
    leans = bool(told) and depends_on_previous(text, told[-1].question)
    asked = f"And {text}" if leans else text
    read = make_standalone(asked, told, known, date.today()) if told else None
    text = read.text if read and read.reasons else text
    further = read.context if read and leans else ""
    context = further if told else turn.context
    asked_so = replace(turn.question, text=text)
    return replace(turn, question=asked_so, context=context)


def _understand(
    kb: KnowledgeBase, reading: Reading, known: Vocabulary
) -> tuple[Analysis, Planned | None]:
    analysis = read_as(kb, reading.turn.question, known)
    analysis = reading.turn.read_as(analysis, analysis.respelt)
    by_model = next(iter(reading.questions), None)
    return apply_model_plan(kb, analysis, by_model, known) if by_model else (analysis, None)


def _writers(
    kb: KnowledgeBase, asked: Question, analysis: Analysis, evidence: list[Evidence]
) -> tuple[Writers, list[Evidence]]:
    """Who may write, with what a model is told of past questions like this one and may read."""
    if not (kb.model and asked.models):
        return Writers(models=asked.models), evidence
    past = verified_similar(kb, analysis.question, analysis.filters.collections)
    return Writers(similar_questions=past), with_neighbours(kb, evidence)


def _told(kb: KnowledgeBase, analysis: Analysis, found: AggregateResult) -> Reply:
    sure = confidence_of_catalogue(
        found.method or found.kind, notes_of(analysis, found), found.certainty
    )
    return replace(aggregate_reply(kb, found), sure=sure)


def _shown(
    kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence], fallback: str
) -> Reply:
    """The places that answer, word for word; ``fallback``: why no model wrote."""
    dispute = find_dispute(analysis, evidence)
    shown = choose_extracts(kb, analysis, evidence, leading_sentences(dispute))
    reply = deliver_extracts(kb, analysis, evidence, shown, dispute)
    written = RawDraft(text=reply.text, claims=(), by=EXTRACTIVE, fallback=fallback)
    failed = (shown.failure,) if shown.failure else ()
    return replace(reply, written=written, failures=failed, notes=(*reply.notes, *failed))


def _given_again(
    kb: KnowledgeBase, asked: Question, analysis: Analysis, before: PastAnswer
) -> Reply:
    verified = VerifiedDraft(
        written=before.written, checked=before.checked, sure=before.sure, own=before.own
    )
    return _deliver(kb, asked, analysis, before.evidence, verified)


def _deliver(
    kb: KnowledgeBase,
    question: Question,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    verified: VerifiedDraft,
) -> Reply:
    """The cited text of what may be shown, or the reply that the material does not answer."""
    written, checked = verified.written, verified.checked
    asked = Deliverable(
        strict=_strict(kb, question),
        required=kb.settings.citations.required,
        voices=bool(analysis.voices),
    )
    held = [item for item in checked if asked.holds(item)]
    fit = drop_flagged(kb, held, evidence, verified.own)
    text, kept = prune(written.text if written else "", checked, fit)
    notes = flagged_note(len(held) - len(fit))
    stated = [item for item in kept if not item.verdict.states_nothing]
    if verified.sure.band == "none" or written is None or not stated:
        near = choose_extracts(kb, analysis, evidence).near
        refused = refuse_to_answer(kb, analysis, evidence, remove_flagged_sentences(kb, near)[0])
        return replace(refused, sure=as_declined(verified.sure), notes=notes, written=written)
    cited = cite(kb, text, stated, evidence, written.relevance)
    told = add_conflicting_passages(cited, verified.rivals, evidence)
    reply = deliver(cited, written, analysis, evidence, verified.sure)
    return replace(
        reply,
        notes=notes,
        conflicts=told or written.conflicts,  # the judge quotes them
        dropped_sentences=len(checked) - len(kept) + written.withheld,
        repaired_citations=sum(item.repaired for item in kept),
    )


def _strict(kb: KnowledgeBase, question: Question) -> bool:
    return kb.settings.citations.strict if question.strict is None else question.strict


# --- the answer ------------------------------------------------------------------------------


def _assemble(
    analysis: Analysis, turn: SessionQuestion, found: Found, reply: Reply, steps: list[Step]
) -> Answer:
    question, written = turn.question, reply.written
    return Answer(
        id=random_id("ans"),
        question=" ".join(turn.asked.split()),
        standalone=question.text if question.text != turn.asked else "",
        type=analysis.type,
        owner=question.owner,
        text=reply.text,
        citations=reply.citations,
        sentences=reply.sentences,
        confidence=reply.sure,
        answered_by=reply.by,
        mode=analysis.mode,
        session_id=question.session_id,
        fallback=written.fallback if written else "",
        data_gaps=reply.data_gaps,
        conflicts=reply.conflicts,
        related=reply.related,
        suggestions=reply.suggestions,
        notes=(*turn.notes, *notes_of(analysis, found), *reply.notes),
        relaxed=tuple(one.value for one in found.relaxed),
        limits=limits_of(analysis, found.relaxed),
        failures=(*turn.failures, *found.failures, *reply.failures),
        rewritten=turn.rewritten,
        table=reply.table,
        hallucinated_citations=written.unknown_keys if written else 0,
        repaired_citations=reply.repaired_citations,
        dropped_sentences=reply.dropped_sentences,
        usage=_spent(turn, written, found),
        steps=tuple(steps),
    )


def _spent(turn: SessionQuestion, written: RawDraft | None, found: Found) -> Usage:
    wrote = written.usage if written else Usage()
    return turn.usage + wrote + Usage(clusters=found.clusters)


def _record(
    kb: KnowledgeBase, place: answer_reuse.CacheEntry, done: Answer, asked: Question
) -> None:
    if asked.recorded:
        answer_reuse.record(kb, place, done, drawn_from(kb, asked.filters))
        file_gap(kb, done, asked)
