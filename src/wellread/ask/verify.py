"""Checks each sentence of an answer against the passages it cites (SPEC 7).

Steps, each cheaper than the next, the first that decides gives the verdict:

1. ``verbatim``: the sentence stands in the passage, letter by letter or but for white space,
   quotation marks and case.
2. ``fuzzy``: it stands there but for a few characters, and every number and name agrees.
3. ``facts``: a number of the sentence is nowhere in the passage, or the passage negates it.
4. ``support``: the share of its words that the best one or two sentences of the passage hold,
   together with the nearness of the two vectors.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rapidfuzz import fuzz

from wellread.answers import Claim, Verdict, VerdictName
from wellread.ask import words
from wellread.models.base import Embedder
from wellread.sentences import sentence_spans
from wellread.types import Evidence, Span

FUZZY = 92.0  # per cent of characters that agree, from which a sentence counts as quoted
SUPPORTED, PARTIAL = 0.62, 0.45  # of the support score
WEIGHT_WORDS, WEIGHT_MEANING = 0.55, 0.45
CHECKED_WINDOWS = 4  # of a passage, the best by words, that are embedded

_LOOSE = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "–": "-", "—": "-"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """One or two neighbouring sentences of a piece of evidence."""

    evidence: Evidence
    span: Span  # in the document
    text: str
    lexical: float


def verify(
    claims: Sequence[Claim], evidence: Sequence[Evidence], embedder: Embedder
) -> list[Verdict]:
    """A verdict for each claim, in order.

    A claim that cites nothing is checked against all evidence: borne out, it gets the citation
    it deserves (the verdict's ``key``); otherwise it is ``uncited``.
    """
    by_key = {piece.key: piece for piece in evidence}
    verdicts = []
    for claim in claims:
        cited = [by_key[key] for key in claim.keys if key in by_key]
        verdict = _check(claim, cited or list(evidence), embedder)
        if not cited and verdict.name != "supported":
            verdict = replace(verdict, name="uncited", key="", source=None)
        verdicts.append(verdict)
    return verdicts


def _check(claim: Claim, cited: Sequence[Evidence], embedder: Embedder) -> Verdict:
    for piece in cited:
        found = _verbatim(claim, piece)
        if found:
            return found
    for piece in cited:
        found = _fuzzy(claim, piece)
        if found:
            return found
    return _supported(claim, cited, embedder)


def _verbatim(claim: Claim, piece: Evidence) -> Verdict | None:
    if claim.source is not None:
        start = claim.source.start - piece.span.start
        if start >= 0 and piece.text[start : start + len(claim.text)] == claim.text:
            return _quoted("verbatim", 1.0, piece, claim.source)
        return None
    place = piece.text.find(claim.text)
    if place >= 0:
        span = Span(start=place, end=place + len(claim.text))
    else:
        loose = _loose_find(claim.text, piece.text)
        if loose is None:
            return None
        span = loose
    return _quoted("verbatim", 1.0, piece, _in_document(piece, span))


def _loose_find(wanted: str, text: str) -> Span | None:
    """Where ``wanted`` stands but for white space, quotation marks, case and a final stop."""
    parts = wanted.translate(_LOOSE).rstrip(" .!?").split()
    if len(parts) < 3:
        return None
    pattern = r"\s+".join(re.escape(part) for part in parts)
    found = re.search(pattern, text.translate(_LOOSE), re.IGNORECASE)
    return Span(start=found.start(), end=found.end()) if found else None


def _fuzzy(claim: Claim, piece: Evidence) -> Verdict | None:
    if len(claim.text) > len(piece.text) or len(claim.text.split()) < 4:
        return None
    found = fuzz.partial_ratio_alignment(claim.text, piece.text, score_cutoff=FUZZY)
    if found is None:
        return None
    span = _grow_to_words(Span(start=found.dest_start, end=found.dest_end), piece.text)
    if _disagreement(claim.text, span.of(piece.text), ""):
        return None
    return _quoted("fuzzy", found.score / 100, piece, _in_document(piece, span))


def _supported(claim: Claim, cited: Sequence[Evidence], embedder: Embedder) -> Verdict:
    windows = _best_windows(claim, cited)
    if not windows:
        return Verdict(
            name="unsupported",
            method="support",
            score=0.0,
            reason="the cited passage shares no word with the sentence",
        )
    vectors = embedder.embed([claim.text, *(window.text for window in windows)], "passage")
    nearness = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
    scores = [
        WEIGHT_WORDS * window.lexical + WEIGHT_MEANING * float(near)
        for window, near in zip(windows, nearness, strict=True)
    ]
    best = int(np.argmax(scores))
    window, score = windows[best], scores[best]
    whole = " ".join(piece.text for piece in cited)
    titles = " ".join(piece.hit.document.title for piece in cited)
    trouble = _disagreement(claim.text, whole, titles) or _negated(claim.text, window.text)
    if trouble:
        close = score >= SUPPORTED and not trouble.startswith("number")
        return Verdict(
            name="partial" if close else "unsupported",
            method="facts",
            score=min(score, PARTIAL),
            key=window.evidence.key,
            source=window.span,
            reason=trouble,
        )
    return Verdict(
        name=_name_for(score),
        method="support",
        score=score,
        key=window.evidence.key,
        source=window.span,
        reason=f"{window.lexical:.0%} of its words stand in the passage's best sentences",
    )


def _name_for(score: float) -> VerdictName:
    if score >= SUPPORTED:
        return "supported"
    return "partial" if score >= PARTIAL else "unsupported"


def _best_windows(claim: Claim, cited: Sequence[Evidence]) -> list[_Window]:
    """The one- and two-sentence windows with the largest share of the claim's words."""
    wanted = frozenset(words.stems(claim.text))
    if not wanted:
        return []
    found = []
    for piece in cited:
        title = frozenset(words.stems(piece.hit.document.title))
        spans = sentence_spans(piece.text)
        pairs = [Span(start=one.start, end=two.end) for one, two in itertools.pairwise(spans)]
        for span in [*spans, *pairs]:
            text = span.of(piece.text)
            inside = frozenset(words.stems(text))
            lexical = (len(wanted & inside) + 0.5 * len((wanted - inside) & title)) / len(wanted)
            found.append(
                _Window(evidence=piece, span=_in_document(piece, span), text=text, lexical=lexical)
            )
    found.sort(key=lambda window: (-window.lexical, len(window.text), window.span.start))
    return [window for window in found[:CHECKED_WINDOWS] if window.lexical > 0]


def _disagreement(claim: str, passage: str, titles: str) -> str:
    """Which fact of the claim the passage does not hold, in words; empty when none."""
    missing = words.numbers(claim) - words.numbers(f"{passage} {titles}")
    if missing:
        return f"number {', '.join(sorted(missing))} is not in the cited passage"
    around = f"{passage} {titles}".lower()
    absent = [
        name
        for name in words.names(claim)
        if not any(part.lower() in around for part in name.split() if len(part) > 2)
    ]
    return f"{', '.join(absent)} is not named in the cited passage" if absent else ""


def _negated(claim: str, window: str) -> str:
    if words.negations(claim) % 2 != words.negations(window) % 2:
        return "one of the two is negated"
    return ""


def _quoted(method: str, score: float, piece: Evidence, source: Span) -> Verdict:
    return Verdict(
        name="supported",
        method=method,
        score=score,
        key=piece.key,
        source=source,
        reason="quoted from the source" if method == "verbatim" else "nearly word for word",
    )


def _in_document(piece: Evidence, span: Span) -> Span:
    return Span(start=piece.span.start + span.start, end=piece.span.start + span.end)


def _grow_to_words(span: Span, text: str) -> Span:
    start, end = span.start, span.end
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return Span(start=start, end=end)
