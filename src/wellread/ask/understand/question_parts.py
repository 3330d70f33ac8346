"""Parts of a question: the words that limit it, the sentences that ask, the sides it compares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.questions import Constraint, ConstraintKind, NamedEntity
from wellread.types import Filters, Span

_DANGLING = re.compile(r"\s+([,;:?.!])")
_REPEATED = re.compile(r"([,;:])\s*(?=[,;:?.!])")
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"'”’)]*(?=\s+[\"“(]?[A-Z])|$)", re.DOTALL)
_EDGE = re.compile(r"^[\s,;:.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A constraint; ``cut`` are the words that do not belong to what is searched for."""

    constraint: Constraint
    cut: Span | None


def limit(
    kind: ConstraintKind, span: Span, value: str, filters: Filters, cut: Span | None = None
) -> Limit:
    """A limit whose own words are cut, unless ``cut`` says which are."""
    constraint = Constraint(kind=kind, span=span, value=value, filters=filters)
    return Limit(constraint=constraint, cut=cut if cut is not None else span)


def asked_part(text: str) -> tuple[Span, ...]:
    """The sentences that ask, where others tell ("I moved here in 2019. What ...?"); else all."""
    spans = [
        Span(start=match.start(), end=match.end())
        for match in _SENTENCE.finditer(text)
        if match.group().strip()
    ]
    asking = tuple(span for span in spans if span.of(text).rstrip(" \"'”’)").endswith("?"))
    return asking or (Span(start=0, end=len(text)),)


def without(text: str, cuts: Sequence[Span]) -> str:
    """``text`` without the cut words and what they leave behind."""
    kept, place = [], 0
    for cut in sorted(cuts, key=lambda span: span.start):
        if cut.end > place:
            kept.append(text[place : max(place, cut.start)])
            place = cut.end
    rest = " ".join(" ".join([*kept, text[place:]]).split())
    return _EDGE.sub("", _REPEATED.sub("", _DANGLING.sub(r"\1", rest)))


LONGEST = 1_000  # characters of a question that are looked at
_MOST = 8  # words of a side
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:differences?|distinctions?|comparison|contrast|similarit(?:y|ies)|choice)\s+between\s+"
        r"(?P<one>.+?)\s+and\s+(?P<other>.+)",
        r"\b(?:compare|contrast)\s+(?!with\b|to\b)(?P<one>.+?)\s+(?:and|with|to|versus|vs\.?|against)\s+(?P<other>.+)",
        r"\b(?:do|does|did|is|are|was|were)\s+(?P<one>.+?)\s+(?:compare[ds]?|differ(?:s|ed|ent)?"
        r"|distinguished|contrast)\s+(?:to|with|from|than)\s+(?P<other>.+)",
        r"\b(?:how|where|why|in\s+what\s+way|do|does|did)\s+(?:do\s+|does\s+|did\s+)?(?P<one>.+?)\s+and\s+"
        r"(?P<other>.+?)\s+(?:differ|compare|disagree|agree|contradict|diverge)\b.*",
        r"\badvantages?\s+of\s+(?P<one>.+?)\s+over\s+(?P<other>.+)",
        r"\b(?:prefer|choose|use)\s+(?P<one>.+?)\s+(?:over|instead\s+of|rather\s+than)\s+(?P<other>.+)",
        r"\b(?:is|are|was|were|do|does|did)\s+(?P<one>.+?)\s+(?:\w+\s+)?(?:\w+\s+)?(?:better|worse|\w{2,}er"
        r"|(?:more|less)\s+\w+(?:\s+to\s+\w+)?)(?:\s+to\s+\w+)?\s+than\s+(?P<other>.+)",
        r"\b(?:is|are)\s+(?P<one>.+?)\s+the\s+same\s+as\s+(?P<other>.+)",
        r"\bwhich\s+(?:one\s+)?(?:is|are|was|were|needs?|costs?|has|have|does|do|works?)\b[^,:?]*[,:]\s*"
        r"(?P<one>.+?),?\s+or\s+(?P<other>.+)",
        r"(?P<one>.+?)\s+(?:versus|vs\.?|compared\s+(?:to|with)|as\s+opposed\s+to)\s+(?P<other>.+)",
        r"^(?P<one>[^?,:]+?)\s+or\s+(?P<other>[^?,:]+?)(?:\?|\s*[,:–-]\s*which\b.*)$",
    )
)
_LEADING = re.compile(
    r"^(?:what\s+(?:is|are)|how\s+(?:does|do|did)|is|are|do|does|between|the|an?|both|either)\s+",
    re.I,
)
_TRAILING = re.compile(
    r"\s*(?:[?.!:;,].*|\s+[–-]\s+.*|\b(?:when|in\s+terms\s+of|with\s+respect\s+to|regarding|on\s+the"
    r"\s+(?:cost|question|topic)|about|for|in\s+(?:the|their|its)|as\s+to|alone|do|does|work|better|worse|more|less)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
_ENDING = re.compile(r"[\s?.!,;:]+$")


def sides_of(text: str, entities: Sequence[NamedEntity] = ()) -> tuple[str, ...]:
    """What each of the two sides is called; empty when they cannot be told apart.

    Args:
        entities: those that the question names; two of them are the sides when no wording tells.
    """
    for pattern in _PATTERNS:
        match = pattern.search(text[:LONGEST])
        if match is None:
            continue
        sides = (_trimmed(match["one"]), _trimmed(match["other"]))
        if all(sides) and sides[0].casefold() != sides[1].casefold():
            return sides
    spans = list(dict.fromkeys((one.span.start, one.span.end) for one in entities))
    if len(spans) == 2:
        return tuple(text[start:end] for start, end in spans)
    return ()


def _trimmed(side: str) -> str:
    """A side without articles before it and without what is asked about it behind."""
    side = _ENDING.sub("", side)
    shorter = _TRAILING.sub("", side)
    side = shorter if shorter.strip() else side
    while _LEADING.match(side):
        side = _LEADING.sub("", side, count=1)
    return side.strip() if len(side.split()) <= _MOST else ""
