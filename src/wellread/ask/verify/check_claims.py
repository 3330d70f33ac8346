"""What can be said of an answer's sentences without a model: quoted, a number not there, nearest.

A sentence that stands word for word in what it cites is *quoted*. For any other one the nearest
sentence of what it cites is found by plain word overlap, to be shown beside it: it is *not
checked*. One thing is warned of, since it is almost never wrong: an amount that stands nowhere in
the cited passages. Everything else is left to who can read (``judge.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isclose

from wellread.ask.retrieve.relax import sentences_of
from wellread.ask.understand.planted_orders import without_orders
from wellread.text.english import LOOSE_NUMBERS, NUMBER_WORDS, ROUGHLY
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.words import Quantity
from wellread.types import Span
from wellread.values.answers import Checked, Claim, Evidence, Verdict, VerdictName

VERBATIM, NUMBER, NEAREST, SPEAKER = "verbatim", "number", "nearest", "speaker"
QUOTED = "quoted from the source"
NOT_JUDGED = "nobody has judged it; the nearest sentence of its sources is shown"
NOTHING_NEAR = "nobody has judged it; no sentence of its sources shares a word with it"
UNCITED = "it cites nothing"
ROUND = 0.1  # how far a number that is said to be rough may be off, of its value
SMALL = 12  # up to which a number in words, without a unit, may count what stands there

_LOOSE = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "–": "-", "—": "-"})
_LINK = re.compile(r"!?\[([^\[\]\n]+)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*_`~])([*_`~]{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*_`~])")
_ROUGHLY = re.compile(rf"(?:{'|'.join(ROUGHLY)})\s*$", re.IGNORECASE)
_YEARS = re.compile(r"\b((?:1[6-9]|20)\d\d)[–/-]\d\d\b")  # "2018–19"
_SHORT = re.compile(r"(?<![\w.,-])(\d[\d.,]*)([MBT])(?!\w)")  # "4M tokens"; "LLaMA-13B" is a name
_SHORT_FOR = {"M": "million", "B": "billion", "T": "trillion"}
# Lengths of time that are one in other units: in minutes, and in months.
_MINUTES = {"second": 1 / 60, "minute": 1, "hour": 60, "day": 1_440, "week": 10_080}
_MONTHS = {"month": 1, "year": 12}
_ORDINAL = re.compile(r"\b\d+(?:st|nd|rd|th)\b")


def checked(
    claims: Sequence[Claim], evidence: Sequence[Evidence], voices: Sequence[str] = ()
) -> list[Checked]:
    """Each claim with its verdict, in order.

    One that cites nothing, or another passage than the one in which it stands word for word, is
    cited where it stands.
    """
    return [_check(claim, evidence, voices) for claim in claims]


def _check(claim: Claim, evidence: Sequence[Evidence], voices: Sequence[str] = ()) -> Checked:
    cited = [piece for piece in evidence if piece.key in claim.keys]
    others = [piece for piece in evidence if piece.key not in claim.keys]
    for piece in (*cited, *others):
        span = _quoted(claim, piece)
        if span is not None:
            verdict = Verdict(
                name=VerdictName.QUOTED,
                method=VERBATIM,
                score=1.0,
                key=piece.key,
                source=span,
                reason=QUOTED,
            )
            if not _said_by(piece, span, voices):
                who = f"it is quoted, but not from {' or '.join(voices)}"
                verdict = replace(
                    verdict, name=VerdictName.UNSUPPORTED, method=SPEAKER, score=0.0, reason=who
                )
            if piece.key in claim.keys:
                return Checked(claim=claim, verdict=verdict)
            return Checked(claim=replace(claim, keys=(piece.key,)), verdict=verdict, repaired=True)
    if not cited:
        uncited = Verdict(name=VerdictName.UNCITED, method=NEAREST, score=0.0, reason=UNCITED)
        return Checked(claim=claim, verdict=uncited)
    return Checked(claim=claim, verdict=against(claim.text, cited))


def _said_by(piece: Evidence, span: Span, voices: Sequence[str]) -> bool:
    """Whether one of ``voices`` says what stands there; of what nobody speaks, anybody may."""
    speakers = {turn.speaker.casefold() for turn in piece.turns if turn.span.overlaps(span)}
    return not (voices and speakers) or not speakers.isdisjoint(map(str.casefold, voices))


def against(sentence: str, pieces: Sequence[Evidence]) -> Verdict:
    """The verdict on a sentence by ``pieces`` without a model, quotations aside."""
    near = nearest(sentence, pieces)
    key, span = near or ("", None)
    missing = missing_amounts(sentence, [told(piece) for piece in pieces]) if pieces else ()
    name, method, reason = VerdictName.NOT_CHECKED, NEAREST, NOT_JUDGED if near else NOTHING_NEAR
    if missing:
        name, method = VerdictName.PARTIAL, NUMBER
        reason = f"the number {', '.join(missing)} stands nowhere in the cited text"
    return Verdict(name=name, method=method, score=0.0, key=key, source=span, reason=reason)


def quoting(sentence: str, pieces: Sequence[Evidence]) -> Verdict | None:
    """The verdict on a sentence that stands word for word in one of ``pieces``; else None."""
    found = _check(Claim(text=sentence, keys=tuple(piece.key for piece in pieces)), pieces)
    return found.verdict if found.verdict.name == VerdictName.QUOTED else None


def told(piece: Evidence) -> str:
    """A piece with what is known beside its text: title, headings, place, date, who speaks."""
    document = piece.hit.document
    beside = [document.title, *piece.locator.heading, piece.locator.label]
    beside += piece.hit.passage.speakers
    if document.published_at is not None:
        beside.append(f"{document.published_at:%Y %m %d}")
    return without_orders(f"{' '.join(beside)}\n{piece.text}")


# --- quotations ------------------------------------------------------------------------------


def plain(sentence: str) -> str:
    """``sentence`` without Markdown's emphasis, code marks and links."""
    shown = _LINK.sub(r"\1", sentence)
    for _ in range(2):  # bold inside italics
        shown = _EMPHASIS.sub(r"\2", shown)
    return shown


def verbatim(words: str, text: str) -> Span | None:
    """Where ``words`` stand in ``text``, but for white space, quotation marks and a final stop."""
    parts = words.translate(_LOOSE).strip().rstrip(" .!?").split()
    if not parts:
        return None
    pattern = r"(?<!\w)" + r"\s+".join(re.escape(part) for part in parts) + r"(?!\w)"
    found = re.search(pattern, text.translate(_LOOSE))
    return Span(start=found.start(), end=found.end()) if found else None


def is_quotation(sentence: str, text: str) -> bool:
    """Whether ``sentence`` is one of ``text``, or several in a row, word for word.

    A part of one is not: what it leaves out may deny or limit it.
    """
    return _whole_in(sentence, text) is not None


def _whole_in(sentence: str, text: str) -> Span | None:
    span = verbatim(sentence, text)
    if span is None:
        return None
    around = [one for one in sentence_spans(text) if one.overlaps(span)]
    if not around:
        return None
    rest = text[around[0].start : span.start] + text[span.end : max(span.end, around[-1].end)]
    end = max(span.end, around[-1].end)  # with its final stop
    return None if any(map(str.isalnum, rest)) else Span(start=span.start, end=end)


def _quoted(claim: Claim, piece: Evidence) -> Span | None:
    """Where in its document the claim stands word for word; orders planted there are blank."""
    text = without_orders(piece.text)
    if claim.source is not None:  # it was taken from there
        start, end = (at - piece.span.start for at in (claim.source.start, claim.source.end))
        if start >= 0 and text[start:end].split() == claim.text.split():
            return claim.source
    span = _whole_in(plain(claim.text), text)
    if span is None or len(plain(claim.text).split()) < 2:
        return None
    return Span(start=piece.span.start + span.start, end=piece.span.start + span.end)


def nearest(sentence: str, pieces: Sequence[Evidence]) -> tuple[str, Span] | None:
    """The sentence of ``pieces`` that holds most of the words of ``sentence``: key and span."""
    wanted = parse(sentence).stem_set
    found: tuple[float, str, Span] | None = None
    for piece in pieces:
        for _, span in sentences_of(piece):
            stems = parse(span.of(piece.text)).stem_set
            shared = len(wanted & stems)
            score = shared + shared / (len(stems) or 1)  # of two with as many, the shorter one
            if shared and (found is None or score > found[0]):
                moved = Span(start=piece.span.start + span.start, end=piece.span.start + span.end)
                found = (score, piece.key, moved)
    return found[1:] if found else None


# --- amounts ---------------------------------------------------------------------------------


def missing_amounts(sentence: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The amounts of ``sentence`` that stand nowhere in ``texts``, as they are said.

    "66 million" and "66,000,000" are one amount; one said with a scale may be rounded, one called
    rough ("about 300") be a little off. Words such as "one" and "first" are no amounts.
    """
    held = list(_amounts("\n".join(texts)))
    values = [one.value for one in held]
    # A table may say the scale in its head.
    unscaled = [one.value for one in held if not _scaled(one)]
    said = _spelt_out(_ORDINAL.sub(" ", sentence))
    counted = [float(number) for number in parse(said).amounts]
    missing = []
    for one in _amounts(said):
        digits, value = _digits(one), one.value
        named = digits is not None and not _scaled(one) and digits not in counted  # "GPT-4"
        if named or _counts_things(one):
            continue
        loose = ROUND if _ROUGHLY.search(said[: said.find(one.said)]) else 1e-9
        near = max(loose, _step(digits) / 2 if digits and _scaled(one) else 0.0)
        lasting = _same_length(one, held)
        there = any(isclose(value, other, rel_tol=near) for other in (*values, *lasting))
        if not there and (digits is None or digits not in unscaled):
            missing.append(one.said)
    return tuple(dict.fromkeys(missing))


def _amounts(text: str) -> Iterator[Quantity]:
    """The quantities of ``text``; "twenty-five" is one."""
    text = _spelt_out(_YEARS.sub(r"\1", text))
    found = list(parse(text).quantities)
    lower = text.casefold()
    while found:
        first = found.pop(0)
        word = found[0].said.partition(" ")[0] if found else ""
        joined = f"{first.said}-{word}"
        if first.said.isalpha() and word.isalpha() and joined.casefold() in lower:
            second = found.pop(0)
            yield replace(second, said=joined, value=first.value + second.value)
        else:
            yield first


def _spelt_out(text: str) -> str:
    return _SHORT.sub(lambda found: f"{found[1]} {_SHORT_FOR[found[2]]}", text)


def _same_length(length: Quantity, held: Sequence[Quantity]) -> list[float]:
    """The lengths of time among ``held``, in the unit of ``length``: 21 days are three weeks."""
    return [
        other.value * units[other.unit] / units[length.unit]
        for units in (_MINUTES, _MONTHS)
        for other in held
        if length.unit in units and other.unit in units
    ]


def _digits(quantity: Quantity) -> float | None:
    """The number before the scale of a quantity that is written in digits."""
    found = re.search(r"\d[\d,]*(?:\.\d+)?", quantity.said)
    return float(found.group().replace(",", "")) if found else None


def _scaled(quantity: Quantity) -> bool:
    """Whether it is said with a scale: "66 million"."""
    digits = _digits(quantity)
    return digits is not None and not isclose(digits, quantity.value)


def _step(number: float) -> float:
    """The size of the last digit of ``number``, as a share of it."""
    shown = f"{number:f}".rstrip("0").rstrip(".")
    return float(10 ** -len(shown.partition(".")[2]) / (number or 1))


def _counts_things(quantity: Quantity) -> bool:
    """Whether it may be no amount of the source: "one", "the first", "three reasons"."""
    word = quantity.said.split()[0].casefold() if quantity.said else ""
    if word in LOOSE_NUMBERS:
        return True
    return word in NUMBER_WORDS and not quantity.unit and quantity.value <= SMALL
