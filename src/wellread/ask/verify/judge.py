"""A second look at an answer: one call of a model judges every sentence by the evidence.

The judge sees all passages that the writer saw, also those that were not cited, and all sentences
at once. For each it says supported, partial, unsupported, or that it states nothing, and copies the
stretch that shows it. A verdict counts only when that stretch stands in a passage, character for
character: a model that makes quotations up changes nothing. It is asked last and dropped first:
when money is short, when it fails, or when its reply cannot be read, the sentences stay as they
were, and a note says why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anyio import to_thread

from wellread.ask.understand.planted_orders import without_orders
from wellread.ask.verify.check_claims import SPEAKER, VERBATIM, verbatim
from wellread.ask.write.drafting import usage_of
from wellread.ask.write.parse_draft import load_object
from wellread.ask.write.prompts import facts_of, guard_of, judge_prompt, source_facts
from wellread.config import Role
from wellread.errors import ModelError, SettingsError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, replied
from wellread.types import Filters, Span
from wellread.values.answers import (
    NOTHING,
    Checked,
    Evidence,
    Usage,
    Verdict,
    VerdictName,
)
from wellread.values.calls import JUDGE
from wellread.values.question import Analysis

logger = logging.getLogger(__name__)

METHOD = "judge"
NOT_DONE = "the sentences were not judged"
STATES_NOTHING = "it states nothing that could be checked"
NO_QUESTION = Analysis(question="", type="factual", terms=(), names=(), filters=Filters())
_SCORES = {
    VerdictName.SUPPORTED: 1.0,
    VerdictName.PARTIAL: 0.5,
    VerdictName.UNSUPPORTED: 0.0,
}
_REASONS = {
    VerdictName.SUPPORTED: "its source says so",
    VerdictName.PARTIAL: "its source says only a part of it",
    VerdictName.UNSUPPORTED: "its source does not say so",
}
_MARKS = " \"'“”„‘’«»…"  # around a quotation


def _object_of(**properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_VERDICT = {"type": "string", "enum": [*_SCORES, NOTHING]}
SCHEMA: Mapping[str, object] = _object_of(
    sentences={
        "type": "array",
        "items": _object_of(
            number=_NUMBER, verdict=_VERDICT, key=_TEXT, quote=_TEXT, missing=_TEXT
        ),
    },
    conflicts={
        "type": "array",
        "items": _object_of(number=_NUMBER, key=_TEXT, quote=_TEXT, about=_TEXT, reason=_TEXT),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A passage that gives another value than a sentence of the answer."""

    about: str
    reason: str
    own: tuple[str, Span]
    other: tuple[str, Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What came of judging."""

    checked: Sequence[Checked]
    rivals: tuple[Rival, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A judge's reply as it came; empty where none was asked."""

    reply: str = ""
    by: str = ""
    usage: ModelUsage = field(default_factory=lambda: ModelUsage(model=""))
    failure: str = ""


async def judged(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    *,
    by: str = "",
) -> Ruling:
    """``checked`` after the judge has seen it, if one is to be had; never raises for a model."""
    opinion = await opinion_on(kb, analysis, evidence, checked, by=by)
    return ruling_by(opinion, analysis, evidence, checked)


async def opinion_on(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    *,
    by: str = "",
) -> Opinion:
    """What the judge replies; see ``judged``."""
    role = _role(kb, by)
    if role is None or not (checked and evidence):
        return Opinion()
    short = await to_thread.run_sync(kb.ledger.short_of_money)
    if short:
        return Opinion(failure=f"{NOT_DONE}: {short}")
    try:
        model = await to_thread.run_sync(kb.models.recorded, role, JUDGE)
        if model is None:
            return Opinion()
        about = await to_thread.run_sync(source_facts, kb, evidence)
        claims = [item.claim for item in checked]
        prompt = judge_prompt(analysis, evidence, claims, about=about, schema=SCHEMA)
        reply, usage = await replied(model, prompt)
    except (ModelError, SettingsError) as error:
        logger.warning("%s: %s", NOT_DONE, error)
        cost = error.cost if isinstance(error, ModelError) else 0.0
        return Opinion(failure=f"{NOT_DONE}: {error}", usage=ModelUsage(model="", cost=cost))
    return Opinion(reply=reply, by=model.identity, usage=usage)


def ruling_by(
    opinion: Opinion,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
) -> Ruling:
    """The sentences with the verdicts of a judge's reply, where it can be read."""
    usage = usage_of(opinion.usage)
    untouched = Ruling(checked=checked, usage=usage, failure=opinion.failure)
    if not opinion.by:
        return untouched
    reply = opinion.reply
    read, _ = load_object(reply[reply.find("{") :]) if "{" in reply else (None, True)
    if read is None or not isinstance(read.get("sentences"), list):
        return replace(untouched, failure=f"{NOT_DONE}: the reply of {opinion.by} cannot be read")
    sources = _Sources(evidence=evidence, clean=guard_of(analysis, evidence).lines)
    return replace(sources.ruling(checked, read), usage=usage)


def judge_of(kb: KnowledgeBase) -> str:
    """The name of the model that judges; empty where none does."""
    role = _role(kb, "")
    return kb.models.names()[role] if role else ""


def _role(kb: KnowledgeBase, by: str) -> Role | None:
    names = kb.models.names()
    if kb.settings.verification.by == "off" or not names:
        return None
    if "judge_model" in names:
        return "judge_model"
    wrote = (role for role, name in names.items() if name == by)
    return next(wrote, "model" if "model" in names else None)


# --- what was said ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """The evidence that verdicts rest on; ``clean`` takes out of a model's words what is unfit."""

    evidence: Sequence[Evidence]
    clean: Callable[[Sequence[str]], Sequence[str]]

    def ruling(self, checked: Sequence[Checked], read: Mapping[str, Any]) -> Ruling:
        """The sentences with the verdicts of a reply, and the conflicts that it names."""
        settled = list(checked)
        for entry, place in self._numbered(read.get("sentences"), len(checked)):
            settled[place] = self._settled(checked[place], entry)
        rivals = []
        for entry, place in self._numbered(read.get("conflicts"), len(checked)):
            rival = self._rival(settled[place], entry)
            if rival is not None and rival not in rivals:
                rivals.append(rival)
        return Ruling(checked=settled, rivals=tuple(rivals))

    def _numbered(self, entries: object, most: int) -> list[tuple[Mapping[str, Any], int]]:
        """The entries that name one of the sentences, with its place."""
        listed = entries if isinstance(entries, list) else []
        return [
            (entry, entry["number"] - 1)
            for entry in listed
            if isinstance(entry, dict)
            and isinstance(entry.get("number"), int)
            and 0 < entry["number"] <= most
        ]

    def _settled(self, item: Checked, entry: Mapping[str, Any]) -> Checked:
        said = str(entry.get("verdict", "")).strip().casefold()
        if item.verdict.method in (VERBATIM, SPEAKER):
            return item
        if said == NOTHING:
            verdict = Verdict(
                name=VerdictName.NOT_CHECKED, method=NOTHING, score=0.0, reason=STATES_NOTHING
            )
            return replace(item, verdict=verdict)
        name = next((one for one in _SCORES if one == said), None)
        place = self._located(entry, item.claim.keys) if name else None
        if name is None or place is None:
            return item
        if name == VerdictName.UNSUPPORTED and item.verdict.name == VerdictName.UNCITED:
            return item
        key, span = place
        verdict = Verdict(
            name=name,
            method=METHOD,
            score=_SCORES[name],
            key=key,
            source=span,
            reason=self._words(entry, "missing") or _REASONS[name],
        )
        if key in item.claim.keys or not name.supports:
            return replace(item, verdict=verdict)
        claim = replace(item.claim, keys=(key, *item.claim.keys))
        return Checked(claim=claim, verdict=verdict, repaired=True)

    def _rival(self, item: Checked, entry: Mapping[str, Any]) -> Rival | None:
        own = item.verdict
        if own.source is None:
            return None
        other = self._located(entry, (), but=own.key)
        if other is None:
            return None
        about = self._words(entry, "about") or " ".join(item.claim.text.split())
        reason = self._words(entry, "reason")
        return Rival(about=about, reason=reason, own=(own.key, own.source), other=other)

    def _words(self, entry: Mapping[str, Any], name: str) -> str:
        said = entry.get(name)
        return next(iter(self.clean([said])), "") if isinstance(said, str) else ""

    def _located(
        self, entry: Mapping[str, Any], cited: Sequence[str], but: str = ""
    ) -> tuple[str, Span] | None:
        """Where the quotation of an entry stands: in the passage that it names, or in another."""
        said, named = entry.get("quote"), str(entry.get("key", "")).strip(" []").casefold()
        quote = said.strip(_MARKS) if isinstance(said, str) else ""
        # One word stands anywhere by chance.
        if len(quote.split()) < 2 and not any(map(str.isdigit, quote)):
            return None
        order = sorted(self.evidence, key=lambda one: (one.key != named, one.key not in cited))
        pieces = [piece for piece in order if piece.key != but]
        spans = ((piece.key, _span_in(piece, quote)) for piece in pieces)
        return next(((key, span) for key, span in spans if span is not None), None)


def _span_in(piece: Evidence, quote: str) -> Span | None:
    """Where ``quote`` stands in the document; all of the piece for what is told beside its text."""
    text = without_orders(piece.text)
    span = verbatim(quote, text)
    if span is None:  # a turn is shown behind the name of its speaker
        speaker, named, said = quote.partition(": ")
        known = {turn.speaker.casefold() for turn in piece.turns}
        span = verbatim(said, text) if named and speaker.casefold() in known else None
    if span is not None:
        return Span(start=piece.span.start + span.start, end=piece.span.start + span.end)
    told = (f"{name}: {value}" for name, value in facts_of(piece))
    return piece.span if any(verbatim(quote, line) for line in told) else None
