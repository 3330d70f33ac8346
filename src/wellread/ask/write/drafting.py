"""Who writes the draft: the language model when there is one, else the extractive answerer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from anyio import to_thread

from wellread.answers import Claim, Conflict, Evidence, TokenEvent, Usage
from wellread.ask.retrieve.past_questions import verified_similar
from wellread.ask.verify.conflicts.dispute import Dispute
from wellread.ask.verify.conflicts.drafted import completed
from wellread.ask.write.extractive.extract import extract
from wellread.ask.write.parse_draft import VisibleStream, parse_draft
from wellread.ask.write.prompts import build_prompt, guard_of
from wellread.ask.write.spending import plan
from wellread.errors import BudgetError, ModelError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, TextDelta
from wellread.models.recording import RecordedModel
from wellread.questions import Analysis

logger = logging.getLogger(__name__)

EXTRACTIVE = "extractive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A draft by whoever wrote it, before it is checked.

    Attributes:
        fallback: why another writer than the configured one wrote it; empty when none did.
        similarity: cosine of the question and the best extracted sentence; 0 from a model.
        unknown_keys: evidence keys that the model made up; they are already removed.
        withheld: sentences that must not be shown (``guard.py``); they are already removed.
        model_claim: the model's own confidence, 0-1.
        disputes: what the sources disagree on; the draft holds a sentence for each view.
    """

    text: str
    claims: tuple[Claim, ...]
    by: str
    fallback: str = ""
    similarity: float = 0.0
    unknown_keys: int = 0
    withheld: int = 0
    model_claim: float | None = None
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def write(
    kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence]
) -> AsyncIterator[TokenEvent | Written]:
    """The draft's text as it comes, then the draft.

    Asked are the model, or the cheap one while the budget is low, then the fallback model; when
    all fail or the budget is spent, sentences are extracted. The draft says why another than the
    configured model wrote it. What a model wrote before it failed is void.

    Raises:
        SettingsError: a model's name or address cannot be used.
        StoreError: the catalogue cannot be read.
    """
    planned = await to_thread.run_sync(plan, kb)
    reasons = [planned.reason] if planned.reason else []
    waiting = list(planned.writers)
    while waiting:
        role = waiting.pop(0)
        name = kb.models.names()[role]
        try:
            model = await to_thread.run_sync(kb.models.recorded, role)
            if model is None:
                continue
            name = model.identity
            async for event in _by_model(kb, model, analysis, evidence):
                if isinstance(event, Written):
                    event = replace(event, fallback="; ".join(reasons))
                yield event
            return
        except BudgetError as error:
            reasons.append(f"{name} was not asked: {error.args[0]}")
            waiting = (
                [planned.cheaper, *waiting] if planned.cheaper and role == "model" else waiting
            )
        except ModelError as error:
            logger.warning("%s failed: %s", name, error)
            reasons.append(f"{name} failed: {error}")
    fallback = "; ".join(reasons)
    yield await to_thread.run_sync(_by_extraction, kb, analysis, evidence, fallback)


async def _by_model(
    kb: KnowledgeBase, model: RecordedModel, analysis: Analysis, evidence: Sequence[Evidence]
) -> AsyncIterator[TokenEvent | Written]:
    similar = await to_thread.run_sync(
        verified_similar, kb, analysis.question, analysis.filters.collections
    )
    prompt = build_prompt(analysis, evidence, similar_questions=similar)
    guard = guard_of(analysis, evidence, similar_questions=similar)
    visible = VisibleStream(guard)
    reply: list[str] = []
    usage = ModelUsage(model=model.identity)
    async with aclosing(model.stream(prompt)) as pieces:
        async for event in pieces:
            if isinstance(event, TextDelta):
                reply.append(event.text)
                shown = visible.feed(event.text)
                if shown:
                    yield TokenEvent(text=shown)
            else:
                usage = event
    rest = visible.finish()
    if rest:
        yield TokenEvent(text=rest)
    draft = parse_draft("".join(reply), {piece.key for piece in evidence}, guard)
    if not draft.text.strip():
        raise ModelError(f"{model.identity} gave an empty reply", retryable=True)
    tail = draft.tail
    whole = await to_thread.run_sync(completed, analysis, evidence, draft.text, draft.claims)
    yield Written(
        text=whole.text,
        claims=whole.claims,
        disputes=whole.disputes,
        by=model.identity,
        unknown_keys=draft.unknown_keys,
        withheld=draft.withheld,
        model_claim=tail.confidence if tail else None,
        data_gaps=tail.data_gaps if tail else (),
        conflicts=tuple(Conflict(about=each) for each in tail.conflicts) if tail else (),
        usage=Usage(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cost=usage.cost
        ),
    )


def _by_extraction(
    kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence], fallback: str
) -> Written:
    found = extract(analysis, evidence, kb.embedder, most=kb.settings.qa.max_sentences)
    return Written(
        text=found.text,
        claims=found.claims,
        disputes=found.disputes,
        by=EXTRACTIVE,
        fallback=fallback,
        similarity=found.best_similarity,
    )
