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
from wellread.ask.deliver.cite import (
    CitedText,
    add_conflicting_passages,
    add_draft,
    drop_flagged,
    is_deliverable,
    prune,
)
from wellread.ask.deliver.related import small_talk_reply, suggest_related
from wellread.ask.deliver.reply import (
    Part,
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
from wellread.ask.understand.conversation import SessionQuestion, open_session
from wellread.ask.understand.question_parts import depends_on_previous, split_questions
from wellread.ask.understand.rewrite import Turn, make_standalone
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.answered_before import CORRECTION, find_correction, find_past_answer
from wellread.ask.verify.confidence import VerifiedDraft, verify_draft
from wellread.ask.verify.conflicts import find_dispute, leading_sentences
from wellread.ask.write.drafting import DraftSink, write
from wellread.ask.write.extracts import choose_extracts
from wellread.errors import RequestError, WellreadError
from wellread.identity import LOCAL, random_id
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import asked_by, check_rights, drawn_from
from wellread.values.answers import (
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
    small_talk = small_talk_reply(question)
    if small_talk is not None:
        yield FinalEvent(answer=small_talk)
        return
    await in_thread(check_index, kb)
    clock = Clock()
    turn, vocabulary = await open_session(kb, question)
    reading = Reading(turn=turn)
    if turn.earlier:  # what a follow-up asks decides which answer is the same
        reading = await planned(kb, turn, vocabulary)
    entry = await in_thread(
        partial(answer_reuse.find_cached, kb, reading.turn, use_cache=explain is None)
    )
    if entry.answer is not None:
        yield clock.lap("cache", 1)
        again = replace(entry.answer, steps=tuple(clock.steps))
        for sentence in again.sentences:
            yield SentenceEvent(sentence=sentence)
        await in_thread(_record, kb, entry, again, question)
        yield FinalEvent(answer=again)
        return
    if not turn.earlier:
        reading = await planned(kb, turn, vocabulary)
    if reading.asked:
        yield clock.lap("planning", len(reading.questions))
    turn = reading.turn
    parts: list[Part] = []
    for text, read in await in_thread(_asked, kb, reading):
        part = _part_of(turn, text, () if read else parts, vocabulary)
        own = Reading(turn=part, questions=(read,) if read else ())
        async for event in _reply_to(kb, own, vocabulary, parts, clock, explain):
            yield event
    whole = await in_thread(merge_replies, kb, parts)
    for sentence in whole.reply.sentences:
        yield SentenceEvent(sentence=sentence)
    yield clock.lap("citation", len(whole.reply.citations))
    reply = await in_thread(suggest_related, kb, whole.analysis, whole.found.hits, whole.reply)
    reply = await in_thread(remove_flagged, kb, reply)
    done = _assemble(whole.analysis, turn, whole.found, reply, clock.steps)
    await in_thread(_record, kb, entry, done, question)
    yield FinalEvent(answer=done)


async def _reply_to(
    kb: KnowledgeBase,
    reading: Reading,
    vocabulary: Vocabulary,
    parts: list[Part],
    clock: Clock,
    explain: Explain | None,
) -> AsyncIterator[Event]:
    """The steps to the reply to one question, which is added to ``parts``."""
    turn = reading.turn
    analysis, by_model = await in_thread(_understand, kb, reading, vocabulary)
    yield clock.lap("analysis", len(analysis.terms))
    before = await in_thread(find_correction, kb, analysis, turn.question.text)
    found = Found(strategy=CORRECTION)
    if before is None:
        found = await in_thread(find, kb, analysis, by_model)
    analysis = replace(analysis, relaxed=found.relaxed)
    yield clock.lap("retrieval", len(found.hits))
    if explain is not None:
        explain(analysis, found)
    if isinstance(found, AggregateResult):
        reply = await in_thread(aggregate_reply, kb, found, analysis)
    elif before := before or await in_thread(find_past_answer, kb, analysis):
        found = replace(found, notes=(*found.notes, before.note))
        reply = await in_thread(_deliver, kb, turn.question, analysis, before)
    else:
        evidence = await in_thread(pack, kb, found.hits, len(analysis.sides) or 1)
        yield clock.lap("evidence", len(evidence))
        drafting, shown = DraftSink(), evidence
        if evidence and turn.question.models:
            similar, shown = await in_thread(_for_model, kb, analysis, evidence)
            async for token in write(kb, analysis, shown, drafting, similar):
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
            reply = await in_thread(_deliver, kb, turn.question, analysis, verified)
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
    turn: SessionQuestion, text: str, before: Sequence[Part], vocabulary: Vocabulary
) -> SessionQuestion:
    """The turn for one of its questions, in words that need none of those ``before`` it."""
    if text == turn.question.text:
        return turn
    context = turn.context
    if before:
        earlier = [
            Turn(
                question=part.analysis.question,
                answer=" ".join(sentence.text for sentence in part.reply.sentences),
            )
            for part in before
        ]
        leans = depends_on_previous(text, earlier[-1].question)
        rewritten = make_standalone(
            f"And {text}" if leans else text, earlier, vocabulary, date.today()
        )
        text = rewritten.text if rewritten.reasons else text
        context = rewritten.context if leans else ""
    return replace(turn, question=replace(turn.question, text=text), context=context)


def _understand(
    kb: KnowledgeBase, reading: Reading, vocabulary: Vocabulary
) -> tuple[Analysis, Planned | None]:
    analysis = read_as(kb, reading.turn.question, vocabulary)
    analysis = reading.turn.read_as(analysis, analysis.respelt)
    by_model = next(iter(reading.questions), None)
    return apply_model_plan(kb, analysis, by_model, vocabulary) if by_model else (analysis, None)


def _for_model(
    kb: KnowledgeBase, analysis: Analysis, evidence: list[Evidence]
) -> tuple[str, list[Evidence]]:
    """What a model is told of past questions like this one, and the evidence that it may read."""
    if kb.model is None:
        return "", evidence
    past = verified_similar(kb, analysis.question, analysis.filters.collections)
    return past, with_neighbours(kb, evidence)


def _shown(
    kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence], fallback: str
) -> Answer:
    """The places that answer, word for word; ``fallback``: why no model wrote."""
    dispute = find_dispute(analysis, evidence)
    shown = choose_extracts(kb, analysis, evidence, leading_sentences(dispute))
    reply = deliver_extracts(kb, analysis, evidence, shown, dispute)
    failed = (shown.failure,) if shown.failure else ()
    return replace(reply, fallback=fallback, failures=failed, notes=(*reply.notes, *failed))


def _deliver(
    kb: KnowledgeBase, question: Question, analysis: Analysis, verified: VerifiedDraft
) -> Answer:
    """The cited text of what may be shown, or the reply that the material does not answer."""
    written, checked, evidence = verified.written, verified.checked, verified.evidence
    strict, required = _strict(kb, question), kb.settings.citations.required
    voices = bool(analysis.voices)
    allowed = [
        item
        for item in checked
        if is_deliverable(item, strict=strict, required=required, voices=voices)
    ]
    fit = drop_flagged(kb, allowed, evidence, verified.own)
    text, kept = prune(written.text, checked, fit)
    stated = [item for item in kept if not item.verdict.states_nothing]
    if verified.sure.band == "none" or not stated:
        near, _ = remove_flagged_sentences(kb, choose_extracts(kb, analysis, evidence).near)
        reply = refuse_to_answer(kb, analysis, evidence, near, verified.sure)
    else:
        page = CitedText(kb)
        add_draft(page, text, stated, evidence, written.relevance)
        conflicts = add_conflicting_passages(page, verified.rivals, evidence)
        reply = deliver(page, written.by, analysis, evidence, verified.sure)
        reply = replace(
            reply,
            data_gaps=tuple(dict.fromkeys((*written.data_gaps, *reply.data_gaps))),
            conflicts=conflicts or written.conflicts,  # the judge quotes them
            dropped_sentences=len(checked) - len(kept) + written.withheld,
            repaired_citations=sum(item.repaired for item in kept),
        )
    return replace(
        reply,
        notes=flagged_note(len(allowed) - len(fit)),
        fallback=written.fallback,
        hallucinated_citations=written.unknown_keys,
        usage=written.usage,
    )


def _strict(kb: KnowledgeBase, question: Question) -> bool:
    return kb.settings.citations.strict if question.strict is None else question.strict


# --- the answer ------------------------------------------------------------------------------


def _assemble(
    analysis: Analysis, turn: SessionQuestion, found: Found, reply: Answer, steps: list[Step]
) -> Answer:
    question = turn.question
    return replace(
        reply,
        id=random_id("ans"),
        question=" ".join(turn.asked.split()),
        standalone=question.text if question.text != turn.asked else "",
        type=analysis.type,
        owner=question.owner,
        mode=analysis.mode,
        session_id=question.session_id,
        notes=(*turn.notes, *notes_of(analysis, found), *reply.notes),
        relaxed=tuple(limit.value for limit in found.relaxed),
        limits=limits_of(analysis, found.relaxed),
        failures=(*turn.failures, *found.failures, *reply.failures),
        rewritten=turn.rewritten,
        usage=turn.usage + reply.usage + Usage(clusters=found.clusters),
        steps=tuple(steps),
    )


def _record(
    kb: KnowledgeBase, entry: answer_reuse.CacheEntry, done: Answer, asked: Question
) -> None:
    if asked.recorded:
        answer_reuse.record(kb, entry, done, drawn_from(kb, asked.filters))
        file_gap(kb, done, asked)
