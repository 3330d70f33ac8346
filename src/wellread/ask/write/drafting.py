"""Has a language model draft the answer, if one is configured and the budget allows.

``write`` streams the draft's text and stores the finished draft in a :class:`DraftSink`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from anyio import to_thread

from wellread.ask.retrieve.rated_questions import flagged_sentences
from wellread.ask.write.parse_draft import Draft, VisibleStream, parse_draft
from wellread.ask.write.prompts import build_prompt, guard_of, source_facts
from wellread.config import Role
from wellread.errors import BudgetError, ModelError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, TextDelta
from wellread.models.recording import RecordedModel
from wellread.values.answers import Evidence, TokenEvent, Usage
from wellread.values.question import Analysis

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DraftSink:
    """Receives the finished draft, or the reasons why there is none."""

    written: Draft | None = None
    fallback: str = ""


async def write(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    sink: DraftSink,
    similar_questions: str = "",
) -> AsyncIterator[TokenEvent]:
    """Stream the draft's text; the finished draft is stored in ``sink``.

    Tries the model, or the cheap one while the budget is low, then the fallback model. There is no
    draft when all fail, the budget is spent or no model is configured; ``sink`` gives the
    reason. Text that a model wrote before it failed is discarded. The prompt contains
    ``similar_questions``, a text about verified past answers.
    """
    writer_plan = await to_thread.run_sync(plan_writers, kb)
    reasons = [writer_plan.reason] if writer_plan.reason else []
    roles = list(writer_plan.writers)
    while roles:
        role = roles.pop(0)
        name = kb.models.names()[role]
        try:
            model = await to_thread.run_sync(kb.models.recorded, role)
            if model is None:
                continue
            name = model.identity
            async for event in _draft_with(kb, model, analysis, evidence, similar_questions, sink):
                yield event
            break
        except BudgetError as error:
            reasons.append(f"{name} was not called: {error.args[0]}")
            if writer_plan.cheaper and role == "model":
                roles.insert(0, writer_plan.cheaper)
        except ModelError as error:
            logger.warning("%s failed: %s", name, error)
            reasons.append(f"{name} failed: {error}")
    sink.fallback = "; ".join(reasons)
    if sink.written is not None:
        sink.written = replace(sink.written, fallback=sink.fallback)


async def _draft_with(
    kb: KnowledgeBase,
    model: RecordedModel,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    similar: str,
    sink: DraftSink,
) -> AsyncIterator[TokenEvent]:
    about = await to_thread.run_sync(source_facts, kb, evidence)
    prompt = build_prompt(analysis, evidence, similar_questions=similar, about=about)
    guard = guard_of(analysis, evidence, similar_questions=similar, about=about)
    names = sorted({piece.hit.document.collection for piece in evidence})
    flagged = await to_thread.run_sync(lambda: [flagged_sentences(kb, [name]) for name in names])
    # The draft itself keeps flagged sentences, so that omitted ones can be counted and reported.
    visible = VisibleStream(
        guard.with_flagged(lambda text: any(sentences.holds(text) for sentences in flagged))
    )
    reply: list[str] = []
    usage = ModelUsage(model=model.identity)
    async with aclosing(model.stream(prompt)) as pieces:
        async for event in pieces:
            if isinstance(event, TextDelta):
                reply.append(event.text)
                text = visible.feed(event.text)
                if text:
                    yield TokenEvent(text=text)
            elif isinstance(event, ModelUsage):
                usage = event
    rest = visible.finish()
    if rest:
        yield TokenEvent(text=rest)
    keys = {piece.key for piece in evidence}
    draft = parse_draft("".join(reply), keys, guard, evidence=evidence)
    if not draft.claims:
        raise ModelError(f"{model.identity} gave an empty reply", retryable=True)
    sink.written = replace(draft, by=model.identity, usage=usage_of(usage))


def usage_of(usage: ModelUsage | None) -> Usage:
    """Convert the usage of a model call to a part of the answer's usage."""
    if usage is None:
        return Usage()
    return Usage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cost=usage.cost
    )


# --- choice of the writer --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterPlan:
    """The model roles to try, in order; when all fail, extracts are shown."""

    writers: tuple[Role, ...] = ()
    reason: str = ""
    cheaper: Role | None = None


def plan_writers(kb: KnowledgeBase) -> WriterPlan:
    """Choose the writers of the next answer. Reads the catalogue only if there is a budget."""
    names = kb.models.names()
    if "model" not in names:
        return WriterPlan()
    default_roles: tuple[Role, ...] = ("model", "fallback_model")
    if not kb.ledger.limited:
        return WriterPlan(writers=_configured(default_roles, names))
    standing = kb.ledger.standing()
    if standing.level == "spent":
        return WriterPlan(reason=standing.summary)
    if standing.level == "low" and "cheap_model" in names:
        return WriterPlan(
            writers=_configured(("cheap_model", "fallback_model"), names), reason=standing.summary
        )
    cheaper: Role | None = "cheap_model" if "cheap_model" in names else None
    return WriterPlan(writers=_configured(default_roles, names), cheaper=cheaper)


def _configured(roles: Sequence[Role], names: dict[Role, str]) -> tuple[Role, ...]:
    return tuple(role for role in roles if role in names)
