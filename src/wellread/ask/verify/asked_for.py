"""What an answer lacks of what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.answers import Claim, Evidence
from wellread.ask.understand.answer_kind import lacking
from wellread.ask.verify.confidence import KINDLESS, UNNAMED, Cap
from wellread.ask.write.asked_names import unnamed_in
from wellread.questions import Analysis


def misses(analysis: Analysis, evidence: Sequence[Evidence], claims: Sequence[Claim]) -> list[Cap]:
    """What lowers the score of an answer: no such kind of thing, or a thing that nobody names."""
    if not claims:
        return []
    kindless = lacking(analysis.question, [one.text for one in claims]) is not None
    unnamed = unnamed_in(analysis, evidence, claims)
    return [KINDLESS] * kindless + [UNNAMED] * bool(unnamed)
