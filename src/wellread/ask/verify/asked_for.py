"""What an answer lacks of what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.answers import Claim, Evidence
from wellread.ask.understand.answer_kind import lacking
from wellread.ask.verify.confidence import KINDLESS, OTHER_YEAR, UNNAMED, Cap
from wellread.ask.write.asked_names import tells_another_year, unnamed_in
from wellread.questions import Analysis


def misses(analysis: Analysis, evidence: Sequence[Evidence], claims: Sequence[Claim]) -> list[Cap]:
    """What lowers the score of an answer: no such kind of thing, another thing or another year."""
    if not claims:
        return []
    kindless = lacking(analysis.question, [one.text for one in claims]) is not None
    unnamed = unnamed_in(analysis, evidence, claims)
    dated = tells_another_year(analysis.question, evidence, claims)
    return [KINDLESS] * kindless + [UNNAMED] * bool(unnamed) + [OTHER_YEAR] * dated
