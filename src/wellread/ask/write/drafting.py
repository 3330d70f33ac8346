"""The draft of an answer by a language model, where one may write and the budget allows.

``write`` yields the draft's text as it comes and leaves the draft itself with a :class:`Drafting`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from anyio import to_thread

from wellread.ask.retrieve.rated_questions import FlaggedSentences, flagged_sentences
from wellread.ask.write.parse_draft import Answered, VisibleStream, parse_draft
from wellread.ask.write.prompts import SourceFacts, build_prompt, guard_of, source_facts
from wellread.config import Role
from wellread.errors import BudgetError, ModelError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, TextDelta
from wellread.models.recording import RecordedModel
from wellread.values.answers import Claim, Conflict, Evidence, TokenEvent, Usage
from wellread.values.question import Analysis

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A draft by whoever wrote it, before it is checked.

    Attributes:
        fallback: why another writer than the configured one wrote it; empty when none did.
        unknown_keys: evidence keys that the model made up; they are already removed.
        withheld: sentences that must not be shown (``guard.py``); they are already removed.
        model_claim: the model's own confidence, 0-1.
        answered: whether the evidence answers the question, by the model; None: it does not say.
        relevance: why a passage matters to the question, by its key, by the model.
    """

    text: str
    claims: tuple[Claim, ...]
    by: str
    fallback: str = ""
    unknown_keys: int = 0
    withheld: int = 0
    model_claim: float | None = None
    answered: Answered | None = None
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    relevance: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Drafting:
    """Where a draft is left once all its text has come."""

    written: Written | None = None
    fallback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """Who may write, and what a model is told."""

    similar_questions: str = ""
    models: bool = True


async def write(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    drafting: Drafting,
    how: Writers,
) -> AsyncIterator[TokenEvent]:
    """The draft's text as it comes; the draft is left with ``drafting``.

    Asked are the model, or the cheap one while the budget is low, then the fallback model. There is
    no draft when all fail, the budget is spent or no model is configured; ``drafting`` says why.
    What a model wrote before it failed is void.
    """
    planned = await to_thread.run_sync(plan, kb) if how.models else Plan()
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
            about = await to_thread.run_sync(source_facts, kb, evidence)
            flagged = await to_thread.run_sync(_flagged_in, kb, evidence)
            asked = _Asked(analysis, evidence, how.similar_questions, about, flagged)
            async for event in _by_model(model, asked, drafting):
                yield event
            break
        except BudgetError as error:
            reasons.append(f"{name} was not asked: {error.args[0]}")
            waiting = (
                [planned.cheaper, *waiting] if planned.cheaper and role == "model" else waiting
            )
        except ModelError as error:
            logger.warning("%s failed: %s", name, error)
            reasons.append(f"{name} failed: {error}")
    drafting.fallback = "; ".join(reasons)
    if drafting.written is not None:
        drafting.written = replace(drafting.written, fallback=drafting.fallback)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a model is asked to write from."""

    analysis: Analysis
    evidence: Sequence[Evidence]
    similar: str
    about: SourceFacts
    flagged: Sequence[FlaggedSentences]

    def withholds(self, text: str) -> bool:
        """Whether it is kept back while it is written; what is delivered is looked at again."""
        return any(one.holds(text) for one in self.flagged)


def _flagged_in(kb: KnowledgeBase, evidence: Sequence[Evidence]) -> list[FlaggedSentences]:
    """What was flagged of each collection that the evidence is from."""
    names = sorted({piece.hit.document.collection for piece in evidence})
    return [flagged_sentences(kb, within) for within in ([name] for name in names)]


async def _by_model(
    model: RecordedModel, asked: _Asked, drafting: Drafting
) -> AsyncIterator[TokenEvent]:
    analysis, evidence, similar, about = asked.analysis, asked.evidence, asked.similar, asked.about
    prompt = build_prompt(analysis, evidence, similar_questions=similar, about=about)
    guard = guard_of(analysis, evidence, similar_questions=similar, about=about)
    # The draft itself keeps what is flagged, so that what is left out can be counted and told.
    visible = VisibleStream(guard.also(asked.withholds))
    reply: list[str] = []
    usage = ModelUsage(model=model.identity)
    async with aclosing(model.stream(prompt)) as pieces:
        async for event in pieces:
            if isinstance(event, TextDelta):
                reply.append(event.text)
                shown = visible.feed(event.text)
                if shown:
                    yield TokenEvent(text=shown)
            elif isinstance(event, ModelUsage):
                usage = event
    rest = visible.finish()
    if rest:
        yield TokenEvent(text=rest)
    keys = {piece.key for piece in asked.evidence}
    draft = parse_draft("".join(reply), keys, guard, evidence=asked.evidence)
    tail = draft.tail
    if not draft.claims:
        raise ModelError(f"{model.identity} gave an empty reply", retryable=True)
    drafting.written = Written(
        text=draft.text,
        claims=draft.claims,
        by=model.identity,
        unknown_keys=draft.unknown_keys,
        withheld=draft.withheld,
        model_claim=tail.confidence if tail else None,
        answered=tail.answered if tail else None,
        data_gaps=tail.data_gaps if tail else (),
        conflicts=tuple(Conflict(about=each) for each in tail.conflicts) if tail else (),
        relevance=tail.relevance if tail else {},
        usage=usage_of(usage),
    )


def usage_of(told: ModelUsage | None) -> Usage:
    """What a call of a model cost, as a part of what the answer did."""
    if told is None:
        return Usage()
    return Usage(input_tokens=told.input_tokens, output_tokens=told.output_tokens, cost=told.cost)


# --- who may write, and what it costs --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who is asked to write, one after the other; when all fail, extracts are shown."""

    writers: tuple[Role, ...] = ()
    reason: str = ""
    cheaper: Role | None = None


def plan(kb: KnowledgeBase) -> Plan:
    """Who writes the next answer. Asks the catalogue only where there is a budget."""
    names = kb.models.names()
    if "model" not in names:
        return Plan()
    usual: tuple[Role, ...] = ("model", "fallback_model")
    if not kb.ledger.limited:
        return Plan(writers=_there(usual, names))
    standing = kb.ledger.standing()
    if standing.level == "spent":
        return Plan(reason=standing.told)
    if standing.level == "low" and "cheap_model" in names:
        return Plan(writers=_there(("cheap_model", "fallback_model"), names), reason=standing.told)
    cheaper: Role | None = "cheap_model" if "cheap_model" in names else None
    return Plan(writers=_there(usual, names), cheaper=cheaper)


def _there(roles: Sequence[Role], names: dict[Role, str]) -> tuple[Role, ...]:
    return tuple(role for role in roles if role in names)
