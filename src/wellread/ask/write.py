"""Who writes the draft: the language model when there is one, else the extractive answerer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from anyio import to_thread

from wellread.answers import Claim, Conflict, TokenEvent, Usage
from wellread.ask.draft import VisibleStream, parse_draft
from wellread.ask.extract import extract
from wellread.ask.prompts import build_prompt
from wellread.errors import ModelError
from wellread.kb import KnowledgeBase
from wellread.models.base import LanguageModel, ModelUsage, TextDelta
from wellread.questions import Analysis
from wellread.types import Evidence

logger = logging.getLogger(__name__)

EXTRACTIVE = "extractive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A draft by whoever wrote it, before it is checked.

    Attributes:
        fallback: why another writer than the configured one wrote it; empty when none did.
        similarity: cosine of the question and the best extracted sentence; 0 from a model.
        unknown_keys: evidence keys that the model made up; they are already removed.
        model_claim: the model's own confidence, 0-1.
    """

    text: str
    claims: tuple[Claim, ...]
    by: str
    fallback: str = ""
    similarity: float = 0.0
    unknown_keys: int = 0
    model_claim: float | None = None
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def write(
    kb: KnowledgeBase, analysis: Analysis, evidence: Sequence[Evidence]
) -> AsyncIterator[TokenEvent | Written]:
    """The draft's text as it comes, then the draft.

    A model that fails is replaced by the extractive answerer, and the draft says so.
    """
    fallback = ""
    model = kb.model
    if model is not None:
        try:
            async for event in _by_model(model, analysis, evidence):
                yield event
            return
        except ModelError as error:
            logger.warning("the model failed, answering with extracted sentences: %s", error)
            fallback = f"{model.identity} failed: {error}"
    yield await to_thread.run_sync(_by_extraction, kb, analysis, evidence, fallback)


async def _by_model(
    model: LanguageModel, analysis: Analysis, evidence: Sequence[Evidence]
) -> AsyncIterator[TokenEvent | Written]:
    visible = VisibleStream()
    reply: list[str] = []
    usage = ModelUsage(model=model.identity)
    async for event in model.stream(build_prompt(analysis, evidence)):
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
    draft = parse_draft("".join(reply), {piece.key for piece in evidence})
    if not draft.text.strip():
        raise ModelError(f"{model.identity} gave an empty reply", retryable=True)
    tail = draft.tail
    yield Written(
        text=draft.text,
        claims=draft.claims,
        by=model.identity,
        unknown_keys=draft.unknown_keys,
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
        text=" ".join(claim.text for claim in found.claims),
        claims=found.claims,
        by=EXTRACTIVE,
        fallback=fallback,
        similarity=found.best_similarity,
    )
