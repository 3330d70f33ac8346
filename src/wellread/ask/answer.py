"""The one way from a question to a checked answer. Read this first.

question → retrieval → evidence → draft (a language model's, or extracted sentences) → verdict per
sentence → confidence → the delivered text with its citations → record. ``answer`` yields events;
the API streams them, the CLI prints them, everything else takes the last one (``final``).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial

from anyio import to_thread

from wellread.answers import (
    NOBODY,
    Answer,
    Checked,
    Confidence,
    Event,
    Evidence,
    FinalEvent,
    Question,
    SentenceEvent,
    Step,
    StepEvent,
    TokenEvent,
    Usage,
)
from wellread.ask.deliver import answer_reuse
from wellread.ask.deliver.cite import cite
from wellread.ask.deliver.prune_draft import pruned
from wellread.ask.deliver.related import beside
from wellread.ask.deliver.render import CATALOGUE, sureness, tell
from wellread.ask.deliver.reply import Reply, deliver, no_data, notes_of
from wellread.ask.plan import find
from wellread.ask.retrieve.pack_evidence import pack
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.answer_kind import expected_of, gives_number
from wellread.ask.understand.conversation import Opened, opened, respelt
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ask.verify.check_claims import checked as check_claims
from wellread.ask.verify.confidence.bands import (
    disagreed,
    hopeful,
    judge,
    without_a_limit,
    without_a_number,
)
from wellread.ask.verify.confidence.confidence_features import readings_of
from wellread.ask.verify.confidence.confidence_score import comparable
from wellread.ask.write.drafting import Written, write
from wellread.errors import RequestError, WellreadError
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis

Explain = Callable[[Analysis, Retrieval], None]


async def answer(
    kb: KnowledgeBase, question: Question, *, explain: Explain | None = None
) -> AsyncIterator[Event]:
    """Answer ``question`` from the material of ``kb``; the last event holds the answer.

    Args:
        explain: is told what the question was read as, and what was found and how.

    Raises:
        RequestError: the question is empty or too long, its collection is unknown, or asking is
            switched off.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    if not kb.settings.qa.enabled:
        raise RequestError("asking is switched off", hint="set qa.enabled to true")
    clock = _Clock()
    known = await to_thread.run_sync(vocabulary_of, kb, question.filters.collections)
    turn = await opened(kb, question, known)
    question = turn.question
    place = await to_thread.run_sync(partial(answer_reuse.look, kb, turn, again=explain is None))
    if place.answer is not None:
        yield clock.lap("cache", 1)
        again = replace(place.answer, steps=tuple(clock.steps))
        for sentence in again.sentences:
            yield SentenceEvent(sentence=sentence)
        await to_thread.run_sync(_record, kb, place, again)
        yield FinalEvent(answer=again)
        return
    read, changed = await to_thread.run_sync(respelt, kb, question, known)
    analysis = analyse(read, known, date.today())
    analysis = replace(analysis, context=turn.context, respelt=changed)
    yield clock.lap("analysis", len(analysis.terms))
    found = await to_thread.run_sync(find, kb, analysis)
    yield clock.lap("retrieval", len(found.hits))
    if explain is not None:
        explain(analysis, found)
    outcome: _Outcome | None = None
    if found.tally is not None:
        told = await to_thread.run_sync(tell, kb, found.tally, found)
        outcome = _Outcome(reply=told, sure=sureness(found.tally, notes_of(analysis, found)))
    else:
        async for event in _from_passages(kb, question, analysis, found, clock):
            if isinstance(event, _Outcome):
                outcome = event
            else:
                yield event
    if outcome is None:
        raise WellreadError("the answer ended without a reply", hint="report this as a defect")
    for sentence in outcome.reply.sentences:
        yield SentenceEvent(sentence=sentence)
    yield clock.lap("citation", len(outcome.reply.citations))
    aside = await to_thread.run_sync(beside, kb, analysis, found.hits, outcome.reply)
    outcome = replace(outcome, reply=replace(outcome.reply, related=aside.related))
    done = _assemble(analysis, turn, found, outcome, clock.steps)
    done = replace(done, suggestions=aside.suggestions)
    await to_thread.run_sync(_record, kb, place, done)
    yield FinalEvent(answer=done)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What goes out, and how sure it is."""

    reply: Reply
    sure: Confidence


async def _from_passages(
    kb: KnowledgeBase, question: Question, analysis: Analysis, found: Retrieval, clock: _Clock
) -> AsyncIterator[StepEvent | TokenEvent | _Outcome]:
    """Write from the passages that were found, check each sentence, and cite."""
    evidence = await to_thread.run_sync(pack, kb, found.hits, len(analysis.sides) or 1)
    yield clock.lap("evidence", len(evidence))
    written: Written | None = None
    if await to_thread.run_sync(_hopeful, kb, analysis, evidence):
        async for event in write(kb, analysis, evidence):
            if isinstance(event, TokenEvent):
                yield event
            else:
                written = event
        yield clock.lap("draft", len(written.claims) if written else 0)
    checked = await to_thread.run_sync(_check, kb, written, evidence)
    yield clock.lap("verification", len(checked))
    sure = await to_thread.run_sync(_judge, kb, analysis, evidence, written, checked)
    if found.relaxed:
        sure = without_a_limit(sure)
    if written is not None and written.disputes:
        sure = disagreed(sure)
    if written is not None and _lacks_number(analysis, written):
        sure = without_a_number(sure)
    kept = checked if not _strict(kb, question) else _borne_out(checked)
    text, kept = pruned(written.text if written else "", checked, kept)
    too_low = sure.band == "none" or sure.score < kb.settings.qa.confidence_threshold
    if too_low or written is None or not kept:
        yield _Outcome(reply=no_data(analysis, evidence), sure=replace(sure, band="none"))
        return
    cited = await to_thread.run_sync(cite, kb, text, kept, evidence)
    reply = deliver(cited, written, analysis, evidence, sure)
    reply = replace(
        reply,
        dropped_sentences=len(checked) - len(kept) + written.withheld,
        repaired_citations=sum(item.repaired for item in kept),
    )
    yield _Outcome(reply=reply, sure=sure)


async def final(events: AsyncIterator[Event]) -> Answer:
    """The answer at the end of ``events``."""
    async for event in events:
        if isinstance(event, FinalEvent):
            return event.answer
    raise WellreadError("the answer ended without a result", hint="report this as a defect")


@dataclass(slots=True)
class _Clock:
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


def _check(
    kb: KnowledgeBase, written: Written | None, evidence: Sequence[Evidence]
) -> list[Checked]:
    if written is None:
        return []
    return check_claims(
        written.claims,
        evidence,
        kb.embedder,
        marks=kb.catalogue.marks_over,
        judge=kb.judge,
        most=kb.settings.verification.most,
    )


def _lacks_number(analysis: Analysis, written: Written) -> bool:
    if expected_of(analysis.question) != "number":
        return False
    return not gives_number(claim.text for claim in written.claims)


def _judge(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    written: Written | None,
    checked: Sequence[Checked],
) -> Confidence:
    readings = readings_of(
        analysis,
        evidence,
        [item.verdict for item in checked],
        kb.embedder,
        written.similarity if written and written.similarity else None,
    )
    return judge(
        readings,
        kb.settings.qa.confidence_threshold,
        written.model_claim if written else None,
        comparable=comparable(kb.embedder),
    )


def _hopeful(kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence]) -> bool:
    """Whether anything is written at all. Without a model nothing is lost by trying."""
    if kb.model is None or not evidence:
        return bool(evidence)
    readings = readings_of(analysis, evidence, (), kb.embedder)
    threshold = kb.settings.qa.confidence_threshold
    return hopeful(readings, threshold, comparable=comparable(kb.embedder))


def _strict(kb: KnowledgeBase, question: Question) -> bool:
    return kb.settings.citations.strict if question.strict is None else question.strict


def _borne_out(checked: Sequence[Checked]) -> list[Checked]:
    return [item for item in checked if item.verdict.name.supports]


def _assemble(
    analysis: Analysis, turn: Opened, found: Retrieval, outcome: _Outcome, steps: list[Step]
) -> Answer:
    question = turn.question
    reply = outcome.reply
    written = reply.written
    asked_at = datetime.now(UTC).isoformat()
    return Answer(
        id=tagged_hash("ans", question.session_id, question.text, asked_at),
        question=" ".join(turn.asked.split()),
        standalone=question.text if question.text != turn.asked else "",
        type=analysis.type,
        owner=question.owner,
        text=reply.text,
        citations=reply.citations,
        sentences=reply.sentences,
        confidence=outcome.sure,
        answered_by=reply.by,
        mode=analysis.mode,
        session_id=question.session_id,
        fallback=written.fallback if written else "",
        data_gaps=reply.data_gaps,
        conflicts=reply.conflicts,
        premises=reply.premises,
        related=reply.related,
        notes=(*turn.notes, *notes_of(analysis, found)),
        relaxed=tuple(one.value for one in found.relaxed),
        failures=(*turn.failures, *found.failures),
        rewritten=turn.rewritten,
        table=reply.table,
        hallucinated_citations=written.unknown_keys if written else 0,
        repaired_citations=reply.repaired_citations,
        dropped_sentences=reply.dropped_sentences,
        usage=_spent(turn, written, found),
        steps=tuple(steps),
    )


def _spent(turn: Opened, written: Written | None, found: Retrieval) -> Usage:
    wrote = written.usage if written else Usage()
    return Usage(
        input_tokens=turn.usage.input_tokens + wrote.input_tokens,
        output_tokens=turn.usage.output_tokens + wrote.output_tokens,
        cost=turn.usage.cost + wrote.cost,
        clusters=found.clusters,
    )


def _record(kb: KnowledgeBase, place: answer_reuse.Place, done: Answer) -> None:
    answer_reuse.record(kb, place, done)
    if done.answered_by == NOBODY or (done.answered_by == CATALOGUE and done.data_gaps):
        kb.catalogue.record_gap(done.standalone or done.question, "; ".join(done.data_gaps))
