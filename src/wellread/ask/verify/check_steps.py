"""One claim against some runs of evidence: the steps, each cheaper than the next (SPEC 7).

1. ``verbatim``: the claim stands there, letter by letter or but for white space, quotation marks
   and case.
2. ``fuzzy``: it stands there but for a few characters, and every number and name agrees.
3. ``facts``: a number or name of the claim is missing, or the best sentence says the opposite.
4. ``support``: a score learned from what the two share (``verify/support``).
"""

from __future__ import annotations

from collections.abc import Sequence

from wellread.answers import Verdict, VerdictName
from wellread.ask.verify import align
from wellread.ask.verify.evidence_runs import Part, about
from wellread.ask.verify.facts import missing_fact
from wellread.ask.verify.support.support_score import Support, learned, support
from wellread.models.base import Embedder
from wellread.types import Span

NOTHING = "the cited passage shares no word with the sentence"


def settle(claim: str, parts: Sequence[Part], embedder: Embedder) -> Verdict:
    """The verdict on ``claim`` by ``parts``.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    return quotation(claim, parts) or weighed(claim, parts, embedder)


def quotation(claim: str, parts: Sequence[Part]) -> Verdict | None:
    """The verdict on a claim that stands in one of ``parts`` word for word, or nearly."""
    for part in parts:
        span = align.verbatim(claim, part.text)
        if span is not None and not align.taken_back(part.text, span):
            return _quoted("verbatim", 1.0, part, span)
    for part in parts:
        near = align.fuzzy(claim, part.text)
        if near is None or align.taken_back(part.text, near[0]):
            continue
        if not missing_fact(claim, near[0].of(part.text)):
            return _quoted("fuzzy", near[1], part, near[0])
    return None


def weighed(claim: str, parts: Sequence[Part], embedder: Embedder) -> Verdict:
    """The verdict by facts and support."""
    found = support(claim, [part.source() for part in parts], embedder)
    if found.source is None:
        return Verdict(name=VerdictName.UNSUPPORTED, method="support", score=0.0, reason=NOTHING)
    part = parts[found.source]
    name = _name_for(found.score)
    reason = _said(found)
    trouble = _trouble(claim, parts, found)
    if trouble is not None:
        reason, name = trouble
    elif found.contained and name == "partial":
        name = VerdictName.SUPPORTED
    return Verdict(
        name=name,
        method="facts" if trouble else "support",
        score=found.score,
        key=part.piece.key,
        source=part.in_document(found.span),
        reason=reason,
    )


def _said(found: Support) -> str:
    if found.contained:
        return "one sentence of the passage holds all its words, in this order"
    return f"{found.readings['cover_plain']:.0%} of its words stand in the passage"


def _trouble(claim: str, parts: Sequence[Part], found: Support) -> tuple[str, VerdictName] | None:
    """What speaks against the claim, in words, and the best verdict in spite of it.

    A name may be put in other words, and a direction or a negation be misread; a number not.
    """
    name = _name_for(found.score)
    misread = VerdictName.PARTIAL if name == VerdictName.SUPPORTED else VerdictName.UNSUPPORTED
    text = " ".join(part.text for part in parts)
    known = " ".join(dict.fromkeys(about(part.piece) for part in parts))
    missing = missing_fact(claim, text, known)
    if missing is not None:
        named = VerdictName.PARTIAL if name.supports else VerdictName.UNSUPPORTED
        return missing.words, named if missing.kind == "name" else VerdictName.UNSUPPORTED
    if found.readings["denied"]:
        return "one of the two is negated", misread
    if found.readings["opposed"]:
        return "the passage says the opposite direction", misread
    return None


def _name_for(score: float) -> VerdictName:
    limits = learned()
    if score >= limits.supported:
        return VerdictName.SUPPORTED
    return VerdictName.PARTIAL if score >= limits.partial else VerdictName.UNSUPPORTED


def _quoted(method: str, score: float, part: Part, span: Span) -> Verdict:
    return Verdict(
        name=VerdictName.SUPPORTED,
        method=method,
        score=score,
        key=part.piece.key,
        source=part.in_document(span),
        reason="quoted from the source" if method == "verbatim" else "nearly word for word",
    )
