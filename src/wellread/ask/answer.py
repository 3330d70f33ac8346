"""Answers a question, from understanding it to a checked, cited and recorded answer. Start here.

understand → retrieve → (aggregate | write → verify) → deliver → record.
``answer`` yields events; the API streams them, the CLI prints them, everything else takes the last
one (``final``).
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

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
from wellread.ask.plan import ModelPlan, analyse_within, find
from wellread.ask.planning_call import PlannedQuestion, Reading, apply_model_plan, read_turn
from wellread.ask.retrieve.past_questions import corrections, verified_similar
from wellread.ask.retrieve.ranking import Found, pack, with_neighbours
from wellread.ask.retrieve.search import check_index
from wellread.ask.understand.conversation import SessionQuestion, open_session
from wellread.ask.understand.question_parts import depends_on_previous, split_questions
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

    def lap(self, name: str, count: int) -> StepEvent:
        """End the step ``name`` here."""
        now = time.perf_counter()
        step = Step(name=name, seconds=round(now - self._last, 4), found=count)
        self._last = now
        self.steps.append(step)
        return StepEvent(step=step)


async def answer(
    kb: KnowledgeBase, question: Question, *, explain: Explain | None = None
) -> AsyncIterator[Event]:
    """Answer ``question`` from the material of ``kb``; the last event holds the answer.

    Args:
        explain: called with the analysis of the question and the search result.

    Raises:
        RequestError: the question is empty or too long, its collection is unknown, or asking is
            switched off.
        UnknownNameError: the asker's rights were revoked meanwhile.
        FingerprintError, StoreError, ModelError: index, catalogue or model cannot be used.
    """
    async with aclosing(_answered(kb, asked_by(kb, question), explain)) as events:
        async for event in events:
            if kb.asker != LOCAL:
                await in_thread(check_rights, kb)
            yield event


async def _answered(
    kb: KnowledgeBase, question: Question, explain: Explain | None
) -> AsyncGenerator[Event]:
    """Yield the events of all steps in order."""
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
    # A first question is looked up in the cache before a model is paid to read it; a follow-up must
    # be read first, because its meaning decides which cached answer is the same.
    if turn.earlier:
        reading = await read_turn(kb, turn, vocabulary)
    entry = await in_thread(
        partial(answer_reuse.find_cached, kb, reading.turn, use_cache=explain is None)
    )
    if entry.answer is not None:
        yield clock.lap("cache", 1)
        cached_answer = replace(entry.answer, steps=tuple(clock.steps))
        for sentence in cached_answer.sentences:
            yield SentenceEvent(sentence=sentence)
        await in_thread(_record, kb, entry, cached_answer, question)
        yield FinalEvent(answer=cached_answer)
        return
    if not turn.earlier:
        reading = await read_turn(kb, turn, vocabulary)
    if reading.model_called:
        yield clock.lap("planning", len(reading.questions))
    turn = reading.turn
    parts: list[Part] = []
    for text, plan in await in_thread(_questions_to_answer, kb, reading):
        part_turn = replace(turn, question=replace(turn.question, text=text))
        part_reading = Reading(turn=part_turn, questions=(plan,) if plan else ())
        async for event in _reply_to(kb, part_reading, vocabulary, parts, clock, explain):
            yield event
    merged = await in_thread(merge_replies, kb, parts)
    for sentence in merged.reply.sentences:
        yield SentenceEvent(sentence=sentence)
    yield clock.lap("citation", len(merged.reply.citations))
    reply = await in_thread(suggest_related, kb, merged.analysis, merged.found.hits, merged.reply)
    reply = await in_thread(remove_flagged, kb, reply)
    final_answer = _assemble(merged.analysis, turn, merged.found, reply, clock.steps)
    await in_thread(_record, kb, entry, final_answer, question)
    yield FinalEvent(answer=final_answer)


async def _reply_to(
    kb: KnowledgeBase,
    reading: Reading,
    vocabulary: Vocabulary,
    parts: list[Part],
    clock: Clock,
    explain: Explain | None,
) -> AsyncIterator[Event]:
    """Answer one question; its reply is appended to ``parts``."""
    turn = reading.turn
    analysis, plan = await in_thread(_understand, kb, reading, vocabulary)
    yield clock.lap("analysis", len(analysis.terms))
    past = await in_thread(find_correction, kb, analysis, turn.question.text)
    found = Found(strategy=CORRECTION)
    if past is None:  # an expert's correction needs no search
        found = await in_thread(find, kb, analysis, plan)
    analysis = replace(analysis, relaxed=found.relaxed)
    yield clock.lap("retrieval", len(found.hits))
    if explain is not None:
        explain(analysis, found)
    if isinstance(found, AggregateResult):
        reply = await in_thread(aggregate_reply, kb, found, analysis)
    elif past := past or await in_thread(find_past_answer, kb, analysis):
        found = replace(found, notes=(*found.notes, past.note))
        reply = await in_thread(_deliver, kb, turn.question, analysis, past)
    else:
        async for event in _write_reply(kb, turn.question, analysis, found, parts, clock):
            yield event
        return
    parts.append(Part(analysis=analysis, found=found, reply=reply))


async def _write_reply(
    kb: KnowledgeBase,
    question: Question,
    analysis: Analysis,
    found: Found,
    parts: list[Part],
    clock: Clock,
) -> AsyncIterator[Event]:
    """Answer from the passages found, with a model's verified draft or else with extracts."""
    evidence = await in_thread(pack, kb, found.hits, len(analysis.sides) or 1)
    yield clock.lap("evidence", len(evidence))
    sink, model_evidence = DraftSink(), evidence
    if evidence and question.models:
        similar, model_evidence = await in_thread(_for_model, kb, analysis, evidence)
        async for token in write(kb, analysis, model_evidence, sink, similar):
            if not _is_strict(kb, question):  # else nothing is streamed that may be dropped later
                yield token
    if sink.written is None:
        reply = await in_thread(_extracts_reply, kb, analysis, evidence, sink.fallback)
        yield clock.lap("extracts", len(reply.citations))
    else:
        yield clock.lap("draft", len(sink.written.claims))
        verified = await verify_draft(kb, analysis, found, model_evidence, sink.written)
        found = replace(found, failures=(*found.failures, *verified.failures))
        yield clock.lap("verification", len(verified.checked))
        reply = await in_thread(_deliver, kb, question, analysis, verified)
    parts.append(Part(analysis=analysis, found=found, reply=reply))


async def final(events: AsyncIterator[Event]) -> Answer:
    """The answer at the end of ``events``."""
    async for event in events:
        if isinstance(event, FinalEvent):
            return event.answer
    raise WellreadError("the answer ended without a result", hint="report this as a defect")


# --- the stages ------------------------------------------------------------------------------


def _questions_to_answer(
    kb: KnowledgeBase, reading: Reading
) -> Sequence[tuple[str, PlannedQuestion | None]]:
    """The parts of a compound question as searched, each with a model's plan for it, if any.

    The question is not split if a part needs the one before it, whose passage then answers both,
    nor if an expert corrected an earlier answer to all of it.
    """
    question = reading.turn.question
    parts: list[tuple[str, PlannedQuestion | None]]
    parts = [(plan.search or plan.question, plan) for plan in reading.questions]
    if not parts:
        split = split_questions(question.text)
        depend = any(depends_on_previous(part, before) for before, part in pairwise(split))
        parts = [(part, None) for part in ((question.text,) if depend else split)]
    may_be_corrected = len(parts) > 1 and kb.settings.features.corrections
    is_corrected = may_be_corrected and corrections(kb, question.text, question.filters.collections)
    return [(question.text, None)] if is_corrected else parts


def _understand(
    kb: KnowledgeBase, reading: Reading, vocabulary: Vocabulary
) -> tuple[Analysis, ModelPlan | None]:
    analysis = analyse_within(kb, reading.turn.question, vocabulary)
    analysis = reading.turn.add_conversation(analysis, analysis.respelt)
    plan = next(iter(reading.questions), None)
    return apply_model_plan(kb, analysis, plan, vocabulary) if plan else (analysis, None)


def _for_model(
    kb: KnowledgeBase, analysis: Analysis, evidence: list[Evidence]
) -> tuple[str, list[Evidence]]:
    """The text on similar verified questions for the prompt, and the evidence for the model."""
    if kb.model is None:
        return "", evidence
    past = verified_similar(kb, analysis.question, analysis.filters.collections)
    return past, with_neighbours(kb, evidence)


def _extracts_reply(
    kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence], fallback: str
) -> Answer:
    """A reply of verbatim extracts; ``fallback`` says why no model wrote it."""
    dispute = find_dispute(analysis, evidence)
    extracts = choose_extracts(kb, analysis, evidence, leading_sentences(dispute))
    reply = deliver_extracts(kb, analysis, evidence, extracts, dispute)
    failures = (extracts.failure,) if extracts.failure else ()
    return replace(reply, fallback=fallback, failures=failures, notes=(*reply.notes, *failures))


def _deliver(
    kb: KnowledgeBase, question: Question, analysis: Analysis, verified: VerifiedDraft
) -> Answer:
    """The supported sentences of a draft with citations, or a refusal when none is left."""
    written, checked, evidence = verified.written, verified.checked, verified.evidence
    strict, required = _is_strict(kb, question), kb.settings.citations.required
    voices = bool(analysis.voices)
    may_deliver = partial(is_deliverable, strict=strict, required=required, voices=voices)
    allowed = list(filter(may_deliver, checked))
    unflagged = drop_flagged(kb, allowed, evidence, verified.own)
    text, kept_claims = prune(written.text, checked, unflagged)
    stated_claims = [claim for claim in kept_claims if not claim.verdict.states_nothing]
    if verified.sure.band == "none" or not stated_claims:
        nearest, _ = remove_flagged_sentences(kb, choose_extracts(kb, analysis, evidence).near)
        reply = refuse_to_answer(kb, analysis, evidence, nearest, verified.sure)
    else:
        cited_text = CitedText(kb)
        add_draft(cited_text, text, stated_claims, evidence, written.relevance)
        conflicts = add_conflicting_passages(cited_text, verified.rivals, evidence)
        reply = deliver(cited_text, written.by, analysis, evidence, verified.sure)
        reply = replace(
            reply,
            data_gaps=tuple(dict.fromkeys((*written.data_gaps, *reply.data_gaps))),
            conflicts=conflicts or written.conflicts,  # else those that the model reported
            dropped_sentences=len(checked) - len(kept_claims) + written.withheld,
            repaired_citations=sum(claim.repaired for claim in kept_claims),
        )
    return replace(
        reply,
        notes=flagged_note(len(allowed) - len(unflagged)),
        fallback=written.fallback,
        hallucinated_citations=written.unknown_keys,
        usage=written.usage,
    )


def _is_strict(kb: KnowledgeBase, question: Question) -> bool:
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
    kb: KnowledgeBase, entry: answer_reuse.CacheEntry, final_answer: Answer, question: Question
) -> None:
    if question.recorded:
        answer_reuse.record(kb, entry, final_answer, drawn_from(kb, question.filters))
        if small_talk_reply(question, programs=True) is None:  # a chat program's own prompt
            file_gap(kb, final_answer, question)
