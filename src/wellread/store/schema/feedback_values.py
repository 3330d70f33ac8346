"""The values of expert feedback: one person's word on one answer, sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from wellread.types import Span

Score = int | float  # in this order: a rating comes back as it was given, 0 as 0 and 0.0 as 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BetterCitation:
    """The place that an expert gives as the proof of a sentence, or of their correction.

    Attributes:
        version: of the document as the expert read it.
        content: a hash of the words at ``span``; when these change, what rests on them expires.
    """

    document_id: str
    version: str
    span: Span
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRating:
    """An expert's judgement of one sentence.

    Attributes:
        sentence: its place, from 0, in ``Answer.sentences``.
        content: a hash of its words, by which it is known again.
        score: 0-100; None: not rated. 0 is the worst rating, and not the same.
        harmful, content_issue: None: not said.
        source_fault: whether the cited source itself is wrong; False: it is right and was misread;
            None: not said.
        correction: what it should say, in the expert's words; empty when nothing is put right.
    """

    sentence: int
    content: str
    score: Score | None = None
    explanation: str = ""
    harmful: bool | None = None
    content_issue: bool | None = None
    source_fault: bool | None = None
    correction: str = ""
    citation: BetterCitation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One person's word on one answer of this knowledge base.

    Attributes:
        author: who gave it, as the system knows them; never what a client says of itself.
        question: of the answer, as it is understood without earlier turns.
        score: of the whole answer, 0-100; None: not rated.
        correction: what the answer should say instead; empty when it is not put right.
        citations: what the correction rests on.
        by: whom an imported file names as the expert: words to show, no identity.
        expired: why it counts no more, in words; empty while it does.
    """

    id: str
    answer_id: str
    author: str
    question: str
    created_at: datetime
    updated_at: datetime
    score: Score | None = None
    comment: str = ""
    correction: str = ""
    citations: tuple[BetterCitation, ...] = ()
    sentences: tuple[SentenceRating, ...] = ()
    by: str = ""
    expired: str = ""
