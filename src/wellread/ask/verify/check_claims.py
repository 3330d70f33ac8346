"""Checks the sentences of an answer: by rules, then by one call of a judge model if there is one.

A sentence that occurs verbatim in its sources is *quoted*. Any other sentence is *not checked* and
gets the nearest sentence of its sources, found by word overlap, to be shown beside it. The only
warning is for an amount that does not occur in the cited passages, as it is almost never wrong.

The judge reads all sentences and the same passages as the writer. Its verdict on a sentence counts
only if the quotation that it gives occurs verbatim in a passage. If the budget is spent, the call
fails or the reply is unreadable, the sentences keep the verdicts of the rules and a note says why.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose
from typing import Any

from anyio import to_thread

from wellread.ask.retrieve.search import sentences_of
from wellread.ask.understand.planted_orders import blank_prompt_injection
from wellread.ask.write.drafting import usage_of
from wellread.ask.write.parse_draft import load_object
from wellread.ask.write.prompts import guard_of, judge_prompt, piece_facts, source_facts
from wellread.config import Role
from wellread.errors import ModelError, SettingsError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, complete_reply
from wellread.text.english import LOOSE_NUMBERS, NUMBER_WORDS, ROUGHLY
from wellread.text.parsed import Quantity, parse
from wellread.text.sentences import sentence_spans
from wellread.types import Span
from wellread.values.answers import NOTHING, Checked, Claim, Evidence, Usage, Verdict, VerdictName
from wellread.values.calls import JUDGE
from wellread.values.question import Analysis

VERBATIM, NUMBER, NEAREST, SPEAKER = "verbatim", "number", "nearest", "speaker"
QUOTED = "quoted from the source"
NOT_JUDGED = "not judged; the nearest sentence of its sources is shown"
NOTHING_NEAR = "not judged; no sentence of its sources shares a word with it"
UNCITED = "it cites nothing"
ROUGH_TOLERANCE = 0.1  # relative, for a number that is called rough ("about 300")
MAX_COUNTING_WORD = 12  # a number word up to this, without a unit, may just count items

_LOOSE = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "–": "-", "—": "-"})
_LINK = re.compile(r"!?\[([^\[\]\n]+)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*_`~])([*_`~]{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*_`~])")
_ROUGHLY = re.compile(rf"(?:{ROUGHLY})\s*$", re.IGNORECASE)
_YEARS = re.compile(r"\b((?:1[6-9]|20)\d\d)[–/-]\d\d\b")  # "2018–19"
_SHORT = re.compile(r"(?<![\w.,-])(\d[\d.,]*)([MBT])(?!\w)")  # "4M tokens"; "LLaMA-13B" is a name
_SHORT_FOR = {"M": "million", "B": "billion", "T": "trillion"}
# Units of time in minutes, and in months.
_MINUTES = {"second": 1 / 60, "minute": 1, "hour": 60, "day": 1_440, "week": 10_080}
_MONTHS = {"month": 1, "year": 12}
_ORDINAL = re.compile(r"\b\d+(?:st|nd|rd|th)\b")


def check_claims(
    claims: Sequence[Claim], evidence: Sequence[Evidence], voices: Sequence[str] = ()
) -> list[Checked]:
    """Check each claim, in order.

    A claim that occurs verbatim in a passage that it does not cite gets that citation instead.
    """
    return [_check(claim, evidence, voices) for claim in claims]


def _check(claim: Claim, evidence: Sequence[Evidence], voices: Sequence[str]) -> Checked:
    for piece in sorted(evidence, key=lambda piece: piece.key not in claim.keys):
        span = _find_quotation(claim, piece)
        if span is None:
            continue
        verdict = Verdict(
            name=VerdictName.QUOTED,
            method=VERBATIM,
            score=1.0,
            key=piece.key,
            source=span,
            reason=QUOTED,
        )
        if not _is_said_by(piece, span, voices):
            who = f"quoted, but not said by {' or '.join(voices)}"
            verdict = replace(
                verdict, name=VerdictName.UNSUPPORTED, method=SPEAKER, score=0.0, reason=who
            )
        if piece.key in claim.keys:
            return Checked(claim=claim, verdict=verdict)
        return Checked(claim=replace(claim, keys=(piece.key,)), verdict=verdict, repaired=True)
    return Checked(claim=claim, verdict=_rule_verdict(claim, evidence))


def _is_said_by(piece: Evidence, span: Span, voices: Sequence[str]) -> bool:
    """Whether one of ``voices`` says the span; always true for text without speakers."""
    speakers = {turn.speaker.casefold() for turn in piece.turns if turn.span.overlaps(span)}
    return not (voices and speakers) or not speakers.isdisjoint(map(str.casefold, voices))


def _rule_verdict(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """Check a sentence that is not a verbatim quotation against what it cites, by rules alone."""
    pieces = [piece for piece in evidence if piece.key in claim.keys]
    if not pieces:
        return Verdict(name=VerdictName.UNCITED, method=NEAREST, score=0.0, reason=UNCITED)
    nearest = nearest_sentence(claim.text, pieces)
    key, span = nearest or ("", None)
    missing = missing_amounts(claim.text, [full_text(piece) for piece in pieces])
    name, method, reason = VerdictName.NOT_CHECKED, NEAREST, NOT_JUDGED if nearest else NOTHING_NEAR
    if missing:
        name, method = VerdictName.PARTIAL, NUMBER
        reason = f"the number {', '.join(missing)} does not occur in the cited text"
    return Verdict(name=name, method=method, score=0.0, key=key, source=span, reason=reason)


def full_text(piece: Evidence) -> str:
    """The text of a piece with its title, headings, location, date and speakers."""
    document = piece.hit.document
    facts = [document.title, *piece.locator.heading, piece.locator.label]
    facts += piece.hit.passage.speakers
    facts += [name for table in piece.tables for name in table.columns]
    if document.published_at is not None:
        facts.append(f"{document.published_at:%Y %m %d}")
    return blank_prompt_injection(f"{' '.join(facts)}\n{piece.text}")


# --- quotations ------------------------------------------------------------------------------


def strip_markdown(sentence: str) -> str:
    """``sentence`` without Markdown's emphasis, code marks and links."""
    plain_text = _LINK.sub(r"\1", sentence)
    for _ in range(2):  # bold inside italics
        plain_text = _EMPHASIS.sub(r"\2", plain_text)
    return plain_text


def find_verbatim(words: str, text: str) -> Span | None:
    """Find ``words`` in ``text``, ignoring white space, quotation mark style and a final stop."""
    parts = words.translate(_LOOSE).strip().rstrip(" .!?").split()
    if not parts:
        return None
    pattern = r"(?<!\w)" + r"\s+".join(re.escape(part) for part in parts) + r"(?!\w)"
    match = re.search(pattern, text.translate(_LOOSE))
    return Span(start=match.start(), end=match.end()) if match else None


def is_quotation(sentence: str, text: str) -> bool:
    """Whether ``sentence`` is, verbatim, one or several complete sentences of ``text``.

    A part of a sentence does not count: the rest may negate or limit it.
    """
    return _find_whole_sentences(sentence, text) is not None


def _find_whole_sentences(sentence: str, text: str) -> Span | None:
    span = find_verbatim(sentence, text)
    around = [part for part in sentence_spans(text) if part.overlaps(span)] if span else []
    if span is None or not around:
        return None
    end = max(span.end, around[-1].end)  # includes the final stop
    rest = text[around[0].start : span.start] + text[span.end : end]
    return None if any(map(str.isalnum, rest)) else Span(start=span.start, end=end)


def _find_quotation(claim: Claim, piece: Evidence) -> Span | None:
    """Find the claim verbatim in the piece's document, ignoring prompt injection."""
    text = blank_prompt_injection(piece.text)
    if claim.source is not None:  # copied from this place
        start, end = (at - piece.span.start for at in (claim.source.start, claim.source.end))
        if start >= 0 and text[start:end].split() == claim.text.split():
            return claim.source
    span = _find_whole_sentences(strip_markdown(claim.text), text)
    if span is None or len(strip_markdown(claim.text).split()) < 2:
        return None
    return span.moved(piece.span.start)


def nearest_sentence(sentence: str, pieces: Sequence[Evidence]) -> tuple[str, Span] | None:
    """The key and span of the source sentence that shares most words with ``sentence``."""
    claim_stems = parse(sentence).stem_set
    best: tuple[float, str, Span] | None = None
    for piece in pieces:
        for _, span in sentences_of(piece):
            stems = parse(span.of(piece.text)).stem_set
            shared = len(claim_stems & stems)
            score = shared + shared / (len(stems) or 1)  # the shorter sentence wins a tie
            if shared and (best is None or score > best[0]):
                best = (score, piece.key, span.moved(piece.span.start))
    return best[1:] if best else None


# --- amounts ---------------------------------------------------------------------------------


def missing_amounts(sentence: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The amounts of ``sentence`` that do not occur in ``texts``, as written.

    "66 million" and "66,000,000" are one amount. An amount with a scale may be rounded, and a
    rough one ("about 300") may differ slightly. Words such as "one" and "first" do not count.
    """
    source_amounts = list(_amounts("\n".join(texts)))
    values = [item.value for item in source_amounts]
    # A table may give the scale in its header.
    unscaled = [item.value for item in source_amounts if not _has_scale(item)]
    claim = _expand_scales(_ORDINAL.sub(" ", sentence))
    counted = [float(number) for number in parse(claim).amounts]
    missing = []
    for amount in _amounts(claim):
        digits, value = _digits(amount), amount.value
        is_name = digits is not None and not _has_scale(amount) and digits not in counted  # "GPT-4"
        if is_name or _counts_things(amount):
            continue
        tolerance = ROUGH_TOLERANCE if _ROUGHLY.search(claim[: claim.find(amount.said)]) else 1e-9
        tolerance = max(tolerance, _precision(digits) / 2 if digits and _has_scale(amount) else 0.0)
        durations = _converted_durations(amount, source_amounts)
        occurs = any(isclose(value, other, rel_tol=tolerance) for other in (*values, *durations))
        if not occurs and (digits is None or digits not in unscaled):
            missing.append(amount.said)
    return tuple(dict.fromkeys(missing))


def _amounts(text: str) -> Iterator[Quantity]:
    """The quantities of ``text``, with "twenty-five" as a single one."""
    text = _expand_scales(_YEARS.sub(r"\1", text))
    quantities = list(parse(text).quantities)
    lower = text.casefold()
    while quantities:
        first = quantities.pop(0)
        word = quantities[0].said.partition(" ")[0] if quantities else ""
        joined = f"{first.said}-{word}"
        if first.said.isalpha() and word.isalpha() and joined.casefold() in lower:
            second = quantities.pop(0)
            yield replace(second, said=joined, value=first.value + second.value)
        else:
            yield first


def _expand_scales(text: str) -> str:
    return _SHORT.sub(lambda match: f"{match[1]} {_SHORT_FOR[match[2]]}", text)


def _converted_durations(length: Quantity, source_amounts: Sequence[Quantity]) -> list[float]:
    return [
        other.value * units[other.unit] / units[length.unit]
        for units in (_MINUTES, _MONTHS)
        for other in source_amounts
        if length.unit in units and other.unit in units
    ]


def _digits(quantity: Quantity) -> float | None:
    match = re.search(r"\d[\d,]*(?:\.\d+)?", quantity.said)
    return float(match.group().replace(",", "")) if match else None


def _has_scale(quantity: Quantity) -> bool:
    digits = _digits(quantity)
    return digits is not None and not isclose(digits, quantity.value)


def _precision(number: float) -> float:
    """The unit of the last digit of ``number``, relative to ``number``."""
    digits = f"{number:f}".rstrip("0").rstrip(".")
    return float(10 ** -len(digits.partition(".")[2]) / (number or 1))


def _counts_things(quantity: Quantity) -> bool:
    """Whether the quantity may just count items of the text: "one", "first", "three reasons"."""
    word = quantity.said.split()[0].casefold() if quantity.said else ""
    if word in LOOSE_NUMBERS:
        return True
    return word in NUMBER_WORDS and not quantity.unit and quantity.value <= MAX_COUNTING_WORD


logger = logging.getLogger(__name__)

METHOD = "judge"
NOT_DONE = "the sentences were not judged"
STATES_NOTHING = "states nothing that could be checked"
_SCORES = {VerdictName.SUPPORTED: 1.0, VerdictName.PARTIAL: 0.5, VerdictName.UNSUPPORTED: 0.0}
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
    shortage = await to_thread.run_sync(kb.ledger.short_of_money)
    if shortage:
        return Opinion(failure=f"{NOT_DONE}: {shortage}")
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
    values, _ = load_object(opinion.reply)
    if values is None or not isinstance(values.get("sentences"), list):
        return replace(untouched, failure=f"{NOT_DONE}: the reply of {opinion.by} cannot be read")
    clean = guard_of(analysis, evidence).lines

    def safe_text(entry: Mapping[str, Any], name: str) -> str:
        """The text of a field, without unsafe parts."""
        value = entry.get(name)
        return next(iter(clean([value])), "") if isinstance(value, str) else ""

    settled = list(checked)
    for entry, place in _numbered(values["sentences"], len(checked)):
        settled[place] = _with_verdict(checked[place], entry, evidence, safe_text(entry, "missing"))
    rivals: dict[Rival, None] = {}
    for entry, place in _numbered(values.get("conflicts"), len(checked)):
        item, verdict = settled[place], settled[place].verdict
        other = _find_quote(entry, evidence, but=verdict.key)
        if verdict.source is not None and other is not None:
            about = safe_text(entry, "about") or " ".join(item.claim.text.split())
            own, reason = (verdict.key, verdict.source), safe_text(entry, "reason")
            rivals[Rival(about=about, reason=reason, own=own, other=other)] = None
    return Ruling(checked=settled, rivals=tuple(rivals), usage=usage)


def _role(kb: KnowledgeBase, by: str) -> Role | None:
    names = kb.models.names()
    if kb.settings.verification.by == "off" or not names:
        return None
    if "judge_model" in names:
        return "judge_model"
    writers = (role for role, name in names.items() if name == by)
    return next(writers, "model" if "model" in names else None)


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
    """Give the sentence an entry's verdict; ``missing``: the part that its source lacks."""
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
