"""The runs of evidence that a claim may rest on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.verify.support.support_features import Source
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A run of a piece of evidence: the whole piece, or what one person says in it.

    Attributes:
        span: of the piece's text.
    """

    piece: Evidence
    span: Span

    @property
    def text(self) -> str:
        """The run's text."""
        return self.span.of(self.piece.text)

    def in_document(self, span: Span) -> Span:
        """``span`` of the run's text as one of the document's."""
        moved = self.piece.span.start + self.span.start
        return Span(start=moved + span.start, end=moved + span.end)

    def source(self) -> Source:
        """What the support score reads."""
        return Source(text=self.text, title=about(self.piece))


def whole(pieces: Iterable[Evidence]) -> list[Part]:
    """Each piece as one run."""
    return [Part(piece=piece, span=Span(start=0, end=len(piece.text))) for piece in pieces]


def about(piece: Evidence) -> str:
    """What is known of a piece beside its text: title, headings, date, who speaks."""
    document = piece.hit.document
    told = [document.title, *piece.locator.heading, *piece.hit.passage.speakers]
    if document.published_at is not None:
        told.append(f"{document.published_at:%B} {document.published_at.day}")
        told.append(str(document.published_at.year))
    return " ".join(told)
