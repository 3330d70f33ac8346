"""The sides of a comparison, as the question calls them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.questions import NamedEntity

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
