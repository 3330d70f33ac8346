"""What a paper says that it found: only its own sentences, and only those that state a result."""

from __future__ import annotations

import pytest

from wellread.ask.aggregate.document_parts import MOST, key_findings
from wellread.types import Document, HeadingMark, Kind

ABSTRACT = (
    "Reed beds clean water better than tanks. We measured eleven beds for a year. "
    "We found that old beds hold twice the phosphate."
)
PARTS = {
    "Abstract": ABSTRACT,
    "1 Introduction": "Earlier work showed that reeds grow fast. Beds are cheaper than tanks.",
    "2 Methods": "We took 40 per cent of the samples in spring.",
    "3 Results": "Old beds kept 61 per cent of it. Table 2 shows all beds, 12 per cent cut. "
    "The weather was mild. Young beds lost 8 per cent in winter.",
    "4 Conclusion": "We found that old beds hold twice the phosphate. It remains to be seen "
    "whether cutting improves this. Managers should cut less of them than they do today.",
    "References": "Marsh et al. We show that reeds are better than rushes.",
}


def paper(parts: dict[str, str], *, kind: Kind = "paper", summary: str = ABSTRACT) -> Document:
    """A document of these parts, each under its heading."""
    text, marks = "", []
    for heading, said in parts.items():
        begin = len(text)
        text += f"{heading}\n\n{said}\n\n"
        marks.append(HeadingMark(start=begin, end=len(text), path=(heading,)))
    return Document(
        collection="c", uri="file:///p", kind=kind, title="Reeds", text=text, marks=tuple(marks),
        summary=summary,
    )  # fmt: skip


def test_results_are_told_verbatim_once_and_in_reading_order() -> None:
    document = paper(PARTS)
    found = key_findings(document)
    assert [span.of(document.text) for span in found] == [
        "We found that old beds hold twice the phosphate.",
        "Old beds kept 61 per cent of it.",
        "Young beds lost 8 per cent in winter.",
        "Managers should cut less of them than they do today.",
    ]


def test_there_are_at_most_five() -> None:
    told = (
        "We found reeds in nine ponds. Ducks ate 12 per cent of them. "
        "Frogs were better than any toads. These pipes showed many cracks. "
        "Boats lost 3% of their paint. Our model outperforms walking. Mills turn 4 times a day."
    )
    assert len(key_findings(paper({"Results": told}, summary=""))) == MOST


@pytest.mark.parametrize(
    "document",
    [
        paper({"Results": "The weather was mild all year. We walked along the water."}, summary=""),
        paper({"Text": "We found that old beds hold twice the phosphate."}, summary=""),
        paper(PARTS, kind="page"),
        paper({}, summary=""),
    ],
)
def test_without_a_stated_result_there_is_none(document: Document) -> None:
    assert key_findings(document) == ()
