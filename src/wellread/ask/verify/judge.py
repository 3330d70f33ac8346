"""Has a model judge every sentence of an answer against the evidence, in one call.

The judge sees all sentences and all passages that the writer saw, cited or not. For each sentence
it says supported, partial, unsupported or states nothing, and quotes the text that shows it. A
verdict counts only if its quotation occurs verbatim in a passage, so invented quotations have no
effect. Judging is optional: when the budget is short, the call fails or the reply cannot be read,
the sentences keep their verdicts, and a note says why.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anyio import to_thread

from wellread.ask.understand.planted_orders import blank_prompt_injection
from wellread.ask.verify.check_claims import SPEAKER, VERBATIM, find_verbatim
from wellread.ask.write.drafting import usage_of
from wellread.ask.write.parse_draft import load_object
from wellread.ask.write.prompts import guard_of, judge_prompt, piece_facts, source_facts
from wellread.config import Role
from wellread.errors import ModelError, SettingsError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, complete_reply
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
STATES_NOTHING = "states nothing that could be checked"
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
    """A passage that contradicts a sentence of the answer."""

    about: str
    reason: str
    own: tuple[str, Span]
    other: tuple[str, Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The result of judging: the sentences with their verdicts, and contradicting passages."""

    checked: Sequence[Checked]
    rivals: tuple[Rival, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A judge's raw reply; empty when no judge was called."""

    reply: str = ""
    by: str = ""
    usage: ModelUsage = field(default_factory=lambda: ModelUsage(model=""))
    failure: str = ""


async def judge_sentences(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    *,
    by: str = "",
) -> Ruling:
    """Add the judge's verdicts to ``checked``; unchanged without a judge or when its call fails."""
    opinion = await ask_judge(kb, analysis, evidence, checked, by=by)
    return apply_opinion(opinion, analysis, evidence, checked)


async def ask_judge(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    *,
    by: str = "",
) -> Opinion:
    """Call the judge; see ``judge_sentences``."""
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
        reply, usage = await complete_reply(model, prompt)
    except (ModelError, SettingsError) as error:
        logger.warning("%s: %s", NOT_DONE, error)
        cost = error.cost if isinstance(error, ModelError) else 0.0
        return Opinion(failure=f"{NOT_DONE}: {error}", usage=ModelUsage(model="", cost=cost))
    return Opinion(reply=reply, by=model.identity, usage=usage)


def apply_opinion(
    opinion: Opinion,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
) -> Ruling:
    """Apply a judge's reply to the sentences, if it can be read."""
    usage = usage_of(opinion.usage)
    untouched = Ruling(checked=checked, usage=usage, failure=opinion.failure)
    if not opinion.by:
        return untouched
    reply = opinion.reply
    read, _ = load_object(reply[reply.find("{") :]) if "{" in reply else (None, True)
    if read is None or not isinstance(read.get("sentences"), list):
        return replace(untouched, failure=f"{NOT_DONE}: the reply of {opinion.by} cannot be read")
    clean = guard_of(analysis, evidence).lines

    def words(entry: Mapping[str, Any], name: str) -> str:
        """The model's words in a field, without unsafe text."""
        value = entry.get(name)
        return next(iter(clean([value])), "") if isinstance(value, str) else ""

    settled = list(checked)
    for entry, place in _numbered(read["sentences"], len(checked)):
        settled[place] = _with_verdict(checked[place], entry, evidence, words(entry, "missing"))
    rivals: dict[Rival, None] = {}
    for entry, place in _numbered(read.get("conflicts"), len(checked)):
        item, verdict = settled[place], settled[place].verdict
        other = _find_quote(entry, evidence, but=verdict.key)
        if verdict.source is not None and other is not None:
            about = words(entry, "about") or " ".join(item.claim.text.split())
            own, reason = (verdict.key, verdict.source), words(entry, "reason")
            rivals[Rival(about=about, reason=reason, own=own, other=other)] = None
    return Ruling(checked=settled, rivals=tuple(rivals), usage=usage)


def _role(kb: KnowledgeBase, by: str) -> Role | None:
    names = kb.models.names()
    if kb.settings.verification.by == "off" or not names:
        return None
    if "judge_model" in names:
        return "judge_model"
    wrote = (role for role, name in names.items() if name == by)
    return next(wrote, "model" if "model" in names else None)


# --- reading the reply -----------------------------------------------------------------------


def _numbered(entries: object, most: int) -> list[tuple[Mapping[str, Any], int]]:
    """The entries with a valid sentence number, each with the sentence's index."""
    return [
        (entry, entry["number"] - 1)
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        and isinstance(entry.get("number"), int)
        and 0 < entry["number"] <= most
    ]


def _with_verdict(
    item: Checked, entry: Mapping[str, Any], evidence: Sequence[Evidence], missing: str
) -> Checked:
    """The sentence with the verdict of an entry; ``missing``: what its source does not say."""
    stated = str(entry.get("verdict", "")).strip().casefold()
    if item.verdict.method in (VERBATIM, SPEAKER):
        return item
    if stated == NOTHING:
        verdict = Verdict(
            name=VerdictName.NOT_CHECKED, method=NOTHING, score=0.0, reason=STATES_NOTHING
        )
        return replace(item, verdict=verdict)
    name = next((name for name in _SCORES if name == stated), None)
    place = _find_quote(entry, evidence, item.claim.keys) if name else None
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
        reason=missing or _REASONS[name],
    )
    if key in item.claim.keys or not name.supports:
        return replace(item, verdict=verdict)
    claim = replace(item.claim, keys=(key, *item.claim.keys))
    return Checked(claim=claim, verdict=verdict, repaired=True)


def _find_quote(
    entry: Mapping[str, Any], evidence: Sequence[Evidence], cited: Sequence[str] = (), but: str = ""
) -> tuple[str, Span] | None:
    """Find an entry's quotation: in the passage that it names, else in the others."""
    raw_quote, hint = entry.get("quote"), str(entry.get("key", "")).strip(" []").casefold()
    quote = raw_quote.strip(_MARKS) if isinstance(raw_quote, str) else ""
    # A single word can occur anywhere by chance.
    if len(quote.split()) < 2 and not any(map(str.isdigit, quote)):
        return None
    order = sorted(evidence, key=lambda piece: (piece.key != hint, piece.key not in cited))
    spans = ((piece.key, _span_in(piece, quote)) for piece in order if piece.key != but)
    return next(((key, span) for key, span in spans if span is not None), None)


def _span_in(piece: Evidence, quote: str) -> Span | None:
    """Find ``quote`` in the piece; a quotation of its metadata gives the whole piece."""
    text = blank_prompt_injection(piece.text)
    span = find_verbatim(quote, text)
    if span is None:  # the prompt shows a turn after its speaker's name
        speaker, colon, words = quote.partition(": ")
        speakers = {turn.speaker.casefold() for turn in piece.turns}
        span = find_verbatim(words, text) if colon and speaker.casefold() in speakers else None
    if span is not None:
        return span.moved(piece.span.start)
    metadata = (f"{name}: {value}" for name, value in piece_facts(piece))
    return piece.span if any(find_verbatim(quote, line) for line in metadata) else None
