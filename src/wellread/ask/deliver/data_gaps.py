"""What the material lacks for a question, in words a person would use, and what to add."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.answers import Evidence
from wellread.questions import Analysis
from wellread.text.parsed import parse

HELD = 0.5  # of a part's own words, from which a passage counts as about it
LONGEST = 6  # words of a term that is named as missing

_PARTS = re.compile(
    r"(?:[,;]?\s+and\s+(?=(?:also\s+)?(?:who|whom|whose|what|when|where|why|which|how"
    r"|is|are|was|were|does|do|did|can|has|have)\b)|\?\s+)",
    re.IGNORECASE,
)
_HELP = (
    (
        re.compile(r"\b(?:say|said|says|think|thinks|told|opinion|views?)\b", re.I),
        "transcripts, interviews or minutes",
    ),
    (re.compile(r"\bhow (?:do|can|should|to)\b", re.I), "guides or documentation"),
    (
        re.compile(
            r"\bhow (?:many|much|large|big|high|long|far|often)\b|\bshare of\b|\bcosts?\b", re.I
        ),
        "reports, budgets or statistics",
    ),
    (re.compile(r"\bwhy\b|\breasons?\b|\bcauses?d?\b", re.I), "reports or papers"),
    (
        re.compile(r"\bwhen\b|\bdate\b|\bwhat (?:year|day|time)\b|\bwill\b", re.I),
        "news or announcements",
    ),
    (re.compile(r"\bwho\b|\bwhose\b|\bwhom\b", re.I), "news, minutes or directories"),
)


def missing(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The names and terms of the question that no piece of evidence holds.

    Neighbouring words are named together, as the question has them.
    """
    held = _stems(evidence)
    matter = frozenset(parse(analysis.subject or analysis.question).topic_stems)
    found: list[str] = []
    run: list[str] = []
    for word in [*parse(analysis.subject or analysis.question).words, ""]:
        own = matter.intersection(parse(word).stems)
        absent = bool(own) and not held.issuperset(own)
        if absent and len(run) < LONGEST:
            run.append(word)
            continue
        if run:
            found.append(" ".join(run))
        run = [word] if absent else []
    return tuple(f"nothing found about “{term}”" for term in dict.fromkeys(found))


def unanswered(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The parts of a question with several of which no piece of evidence holds the words."""
    parts = [part.strip(" ?.,;") for part in _PARTS.split(analysis.question)]
    parts = [part for part in parts if parse(part).stems]
    if len(parts) < 2:
        return ()
    asked = [parse(part).stem_set for part in parts]
    pieces = [parse(f"{one.hit.document.title} {one.text}").stem_set for one in evidence]
    found = []
    for place, (part, stems) in enumerate(zip(parts, asked, strict=True)):
        own = stems.difference(*(other for at, other in enumerate(asked) if at != place))
        best = max((len(own & piece) for piece in pieces), default=0)
        if own and best < HELD * len(own):
            found.append(f"no source answers the part “{part}”")
    return tuple(found)


def about(analysis: Analysis) -> str:
    """What the question is about: its names, else its terms."""
    matter = frozenset(parse(analysis.subject or analysis.question).topic_stems)
    topic = analysis.names or [term for term in analysis.terms if matter & {*parse(term).stems}]
    return ", ".join(f"“{one}”" for one in topic[:3]) or "the topic"


def would_help(analysis: Analysis) -> str:
    """Which kind of source holds answers to questions like this one."""
    for pattern, kind in _HELP:
        if pattern.search(analysis.question):
            return kind
    return "articles, papers or pages"


def _stems(evidence: Sequence[Evidence]) -> frozenset[str]:
    return frozenset(
        stem
        for piece in evidence
        for stem in parse(f"{piece.hit.document.title} {piece.text}").stems
    )
