"""One claim against some runs of evidence: the steps, each cheaper than the next.

1. ``verbatim``: the claim stands there, letter by letter or but for white space, quotation marks
   and case. A whole sentence that does is quoted, which ``check_claims`` says of it.
2. ``fuzzy``: it stands there but for a few characters, and every number and name agrees.
3. ``facts``: a number or name of the claim is missing, or the best sentence says the opposite.
4. ``support``: a score learned from what the two share (``support_score``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal

from rapidfuzz import fuzz

from wellread.answers import Verdict, VerdictName
from wellread.ask.retrieve.reported_speech import Part, about
from wellread.ask.understand.answer_kind import spells
from wellread.ask.verify.alignment import objection
from wellread.ask.verify.clauses import states
from wellread.models.reader import Case, Checking, Entailment
from wellread.text.english import DOUBTING, ROUGHLY, SCALES
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.words import LETTERS
from wellread.types import Span

NOTHING = "the cited passage shares no word with the sentence"
FRAGMENT = "the passage has the words, but by themselves they state nothing"
ROUNDED = 0.1  # how far a number said to be rough may be from the passage's, of its value
ENDING = 3  # letters in which a name and its adjective differ: Canada, Canadian
LEAST_STEM = 4
LEAST_CAPITALS, LEAST_SPELT = 2, 3  # letters of a short form; two are spelt anywhere by chance

_LETTERS = LETTERS | {"m": 1e6}
_SCALED = re.compile(
    rf"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?:[\s-]?({'|'.join(SCALES)})|({'|'.join(_LETTERS)}))\b",
    re.IGNORECASE,
)
_ROUGH = re.compile(
    rf"\b(?:{'|'.join(ROUGHLY)}|some|less\s+than|under)\s+[$€£~]?(\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
# "2018–19": the second year, in short.
_YEARS = re.compile(r"\b((?:1[6-9]|20)\d\d)[–/-](\d\d)\b")


def settle(claim: str, parts: Sequence[Part], lexical: Checking) -> Verdict:
    """The verdict on ``claim`` by ``parts``.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    return quotation(claim, parts) or weighed(claim, parts, lexical)


def quotation(claim: str, parts: Sequence[Part]) -> Verdict | None:
    """The verdict on a claim that stands in one of ``parts`` word for word, or nearly."""
    if not states(claim):
        return None
    for part in parts:
        span = verbatim(claim, part.text)
        if span is not None and not taken_back(part.text, span):
            return _quoted("verbatim", 1.0, part, span)
    for part in parts:
        near = fuzzy(claim, part.text)
        if near is None or taken_back(part.text, near[0]):
            continue
        otherwise = missing_fact(claim, near[0].of(part.text)) or objection(claim, [part.excerpt()])
        if otherwise is None:
            return _quoted("fuzzy", near[1], part, near[0])
    return None


def weighed(claim: str, parts: Sequence[Part], lexical: Checking) -> Verdict:
    """The verdict by facts and support."""
    (found,) = lexical.entails(
        [Case(claim=claim, passages=tuple(each.excerpt() for each in parts))]
    )
    if found.source is None:
        return Verdict(name=VerdictName.UNSUPPORTED, method="support", score=0.0, reason=NOTHING)
    part = parts[found.source]
    name = VerdictName(found.name)
    trouble = _trouble(claim, parts, found)
    if not states(claim):
        trouble = (FRAGMENT, VerdictName.PARTIAL) if name.supports else trouble
    elif found.literal and name == VerdictName.PARTIAL:
        name = VerdictName.SUPPORTED
    reason, name = trouble or (_said(found, name), name)
    return Verdict(
        name=name,
        method="facts" if trouble else "support",
        score=found.supports,
        key=part.piece.key,
        source=part.in_document(found.span),
        reason=reason,
    )


def _said(found: Entailment, name: VerdictName) -> str:
    if name == VerdictName.UNSUPPORTED:
        return f"the passage does not say so; {found.reason.removesuffix(' in the passage')} there"
    if found.literal:
        return "one sentence of the passage holds all its words, in this order"
    return found.reason


def _trouble(
    claim: str, parts: Sequence[Part], found: Entailment
) -> tuple[str, VerdictName] | None:
    """What speaks against the claim, in words, and the best verdict in spite of it.

    A name may be put in other words, and a direction or a negation be misread; a number not.
    """
    name = VerdictName(found.name)
    misread = VerdictName.PARTIAL if name == VerdictName.SUPPORTED else VerdictName.UNSUPPORTED
    text = " ".join(part.text for part in parts)
    known = " ".join(dict.fromkeys(about(part.piece) for part in parts))
    missing = missing_fact(claim, text, known)
    if missing is not None and missing.kind == "number":
        return missing.words, VerdictName.UNSUPPORTED
    veto = objection(claim, [part.excerpt() for part in parts]) if name.supports else None
    if veto is not None:
        return veto.words, misread if veto.doubt else VerdictName.UNSUPPORTED
    if missing is not None:
        return missing.words, VerdictName.PARTIAL if name.supports else VerdictName.UNSUPPORTED
    return (found.against, misread) if found.against else None


def _quoted(method: str, score: float, part: Part, span: Span) -> Verdict:
    return Verdict(
        name=VerdictName.SUPPORTED,
        method=method,
        score=score,
        key=part.piece.key,
        source=part.in_document(span),
        reason="its words stand in the source" if method == "verbatim" else "nearly word for word",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A fact of a claim that the passage does not hold."""

    kind: Literal["number", "name"]
    words: str


def missing_fact(claim: str, passage: str, about: str = "") -> Missing | None:
    """Which fact of the claim neither the passage nor what is known about it holds.

    None when none is missing. "2.5 million" and "2,500,000" are one number; one that the claim
    calls rough ("about 300") may be a little off. A number counts with its unit, where both
    sides give one.
    """
    around = f"{passage} {about}"
    missing = _missing_numbers(claim, around)
    if missing:
        listed = ", ".join(sorted(missing))
        return Missing(kind="number", words=f"number {listed} is not in the cited passage")
    other = _other_unit(claim, around)
    if other:
        words = f"number stands there with another unit: {other[1]}, not {other[0]}"
        return Missing(kind="number", words=words)
    lower = around.lower()
    absent = [
        name
        for name in parse(claim).names
        if not _named(name, lower) and not _said_in_full(name, claim, around)
    ]
    if not absent:
        return None
    return Missing(kind="name", words=f"{', '.join(absent)} is not named in the cited passage")


def _missing_numbers(claim: str, around: str) -> frozenset[str]:
    claim, around = _YEARS.sub(r"\1", claim), _YEARS.sub(r"\1", around)
    held = parse(around).numbers
    values = [*map(float, held), *_scaled(around).values()]
    missing = set(parse(claim).amounts - held)
    mantissas = {said.group(1).replace(",", "") for said in _SCALED.finditer(around)}
    for said, value in _scaled(claim).items():
        parts = parse(said).numbers
        if any(isclose(value, other) for other in values):
            # Digits and scale were read as two numbers; together they are in the passage.
            missing -= parts
        elif parts & mantissas:
            missing.add(said)  # 2.6 billion, where the passage has 2.6 million
    rough = {number for found in _ROUGH.finditer(claim) for number in parse(found.group(1)).numbers}
    return frozenset(
        number for number in missing if not _near(number, values, loose=number in rough)
    )


def _near(number: str, values: Iterable[float], *, loose: bool) -> bool:
    try:
        value = float(number)
    except ValueError:  # said with a scale
        return False
    return any(isclose(value, other, rel_tol=ROUNDED if loose else 1e-9) for other in values)


def _scaled(text: str) -> dict[str, float]:
    """The numbers of ``text`` that are said with a scale, in full, by how they are said."""
    found = {}
    for match in _SCALED.finditer(text):
        digits, word, letter = match.groups()
        scale = SCALES[word.lower()] if word else _LETTERS[letter.lower()]
        found[match.group()] = float(digits.replace(",", "")) * scale
    return found


def _named(name: str, lower: str) -> bool:
    """Whether a part of ``name`` is in ``lower``, be it as an adjective or a plural; initials and
    digits are not looked for.
    """
    parts = [re.sub(r"['’]s?$", "", part.lower()) for part in name.split()]
    long = [part for part in parts if len(part) > 2 and not part.isdigit()]
    if not long or any(_stem(part) in lower for part in long):
        return True
    joined = _joined(name)  # BERT-large, BERT large, BERTLARGE
    return len(joined) >= LEAST_STEM and joined in _joined(lower)


def _said_in_full(name: str, claim: str, around: str) -> bool:
    """Whether a short form says nothing more: the claim gives it in brackets behind what it is
    short for, or the passage says all its words ("MRI" for "magnetic resonance imaging").
    """
    if " " in name or sum(char.isupper() for char in name) < LEAST_CAPITALS:
        return False
    letters = name.removesuffix("s")
    return f"({name})" in claim or (len(letters) >= LEAST_SPELT and spells(letters, around))


def _joined(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _stem(part: str) -> str:
    return part[: max(LEAST_STEM, len(part) - ENDING)] if part.isalpha() else part


def _other_unit(claim: str, passage: str) -> tuple[str, str] | None:
    """A quantity of ``claim`` whose number the passage has of other units only, and how it has it.

    A number without a known unit, on either side, decides nothing.
    """
    held = parse(passage).quantities
    for mine in parse(claim).quantities:
        same = [other for other in held if other.value == mine.value]
        if mine.unit and same and all(other.unit not in ("", mine.unit) for other in same):
            return mine.said, same[0].said
    return None


FUZZY = 92.0  # per cent of characters that agree, from which a sentence counts as quoted
LEAST_LOOSE, LEAST_FUZZY = 3, 4  # words; fewer are found anywhere by chance

_LOOSE = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "–": "-", "—": "-"})
_LINK = re.compile(r"!?\[([^\[\]\n]+)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*_`~])([*_`~]{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*_`~])")
# What takes back the words that follow it in the same sentence.
_DOUBTING = re.compile(rf"\b(?:{'|'.join(DOUBTING)})\b", re.IGNORECASE)


def plain(sentence: str) -> str:
    """``sentence`` without Markdown's emphasis, code marks and links."""
    shown = _LINK.sub(r"\1", sentence)
    for _ in range(2):  # bold inside italics
        shown = _EMPHASIS.sub(r"\2", shown)
    return shown


def verbatim(sentence: str, text: str) -> Span | None:
    """Where ``sentence`` stands in ``text``, but for white space, quotation marks, case and a
    final stop.
    """
    place = text.find(sentence)
    if place >= 0:
        return Span(start=place, end=place + len(sentence))
    if len(sentence.split()) < LEAST_LOOSE:
        return None
    return _same_words(sentence, text, re.IGNORECASE)


def is_quotation(sentence: str, text: str) -> bool:
    """Whether all of ``sentence`` stands in ``text`` word for word, and is not taken back there."""
    span = _same_words(sentence, text)
    return span is not None and not taken_back(text, span)


def _same_words(sentence: str, text: str, flags: int = 0) -> Span | None:
    parts = sentence.translate(_LOOSE).rstrip(" .!?").split()
    if not parts:
        return None
    pattern = r"(?<!\w)" + r"\s+".join(re.escape(part) for part in parts) + r"(?!\w)"
    found = re.search(pattern, text.translate(_LOOSE), flags)
    return Span(start=found.start(), end=found.end()) if found else None


def fuzzy(sentence: str, text: str) -> tuple[Span, float] | None:
    """Where ``sentence`` stands in ``text`` but for a few characters, and how alike, 0-1."""
    if len(sentence) > len(text) or len(sentence.split()) < LEAST_FUZZY:
        return None
    found = fuzz.partial_ratio_alignment(sentence, text, score_cutoff=FUZZY)
    if found is None:
        return None
    return _grow_to_words(Span(start=found.dest_start, end=found.dest_end), text), found.score / 100


def taken_back(text: str, span: Span) -> bool:
    """Whether the rest of the sentence around ``span`` denies or doubts what stands there.

    "It is not true that the bridge is closed" quotes "the bridge is closed" and says the opposite.
    """
    around = [each for each in sentence_spans(text) if each.overlaps(span)]
    if not around:
        return False
    before = text[around[0].start : span.start] if around[0].start < span.start else ""
    return parse(before).negations % 2 == 1 or _DOUBTING.search(before) is not None


def _grow_to_words(span: Span, text: str) -> Span:
    start, end = span.start, span.end
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return Span(start=start, end=end)
