"""Small evidence for tests of the ask path, without stores."""

from __future__ import annotations

from wellread.types import DocumentFacts, Hit, Locator, Passage, Span
from wellread.values.answers import Evidence


def evidence_of(*texts: str, title: str = "Notes") -> list[Evidence]:
    """One piece of evidence for each text, each from a document of its own, best first."""
    return [
        Evidence(
            key=f"e{number}",
            hit=Hit(
                passage=Passage(
                    id=f"psg_{number}",
                    document_id=f"doc_{number}",
                    version="ver_1",
                    span=Span(start=0, end=len(text)),
                    text=text,
                ),
                document=DocumentFacts(
                    id=f"doc_{number}",
                    version="ver_1",
                    collection="c",
                    uri=f"file:///{number}.md",
                    kind="page",
                    title=title,
                ),
                score=1.0 - 0.05 * number,
                similarity=0.5,
            ),
            text=text,
            span=Span(start=0, end=len(text)),
            locator=Locator(label=""),
        )
        for number, text in enumerate(texts, 1)
    ]
