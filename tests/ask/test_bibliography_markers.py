"""The rendered forms of citations, and finding them again in a stored answer."""

from __future__ import annotations

import pytest
from tests.store.made import answer_of, citation_of

from wellread.ask.deliver.cite import marker
from wellread.config import Style
from wellread.types import Kind, Locator, Span
from wellread.values.answer_text import plain_text, with_markers
from wellread.values.answers import Answer, Citation, Sentence, Verdict, VerdictName

VERDICT = Verdict(name=VerdictName.SUPPORTED, method="verbatim", score=1.0)


def citation(
    number: int = 1, kind: Kind = "page", *, page: int | None = None, begin: float | None = None
) -> Citation:
    locator = Locator(label="", page=page, begin=begin)
    return citation_of(number, title="A [draft]\nof things", kind=kind, locator=locator)


@pytest.mark.parametrize(
    ("style", "cited", "shown"),
    [
        ("number", citation(3), "[3]"),
        ("title", citation(page=5), "[A (draft) of things]"),
        ("page", citation(page=5), "[A (draft) of things, p. 5]"),
        ("page", citation(), "[A (draft) of things]"),
        ("time", citation(begin=734.2), "[A (draft) of things @ 12:14]"),
        ("time", citation(begin=0.0), "[A (draft) of things @ 00:00]"),
        ("time", citation(page=5), "[A (draft) of things]"),
        ("auto", citation(kind="paper", page=5), "[A (draft) of things, p. 5]"),
        ("auto", citation(kind="transcript", begin=3734), "[A (draft) of things @ 1:02:14]"),
        ("auto", citation(kind="page", page=5), "[A (draft) of things]"),
        ("auto", citation(kind="entity"), "[Source: tools/net (loft)]"),
        ("entity", citation(kind="entity"), "[Source: tools/net (loft)]"),
        ("entity", citation(kind="paper", page=2), "[A (draft) of things, p. 2]"),
        ("title", citation(kind="entity"), "[A (draft) of things]"),
    ],
)
def test_each_style_has_its_form(style: Style, cited: Citation, shown: str) -> None:
    assert marker(cited, style, "tools/net [loft]") == shown


def answer(text: str, *sentences: Sentence) -> Answer:
    return answer_of(text=text, citations=(citation(1), citation(2)), sentences=sentences)


def sentence(text: str, whole: str, *cited: int) -> Sentence:
    start = whole.index(text)
    span = Span(start=start, end=start + len(text))
    return Sentence(text=text, span=span, verdict=VERDICT, citations=cited)


@pytest.mark.parametrize("first", ["[1]", "[A title, p. 5]", "[Source: a/b]"])
def test_markers_are_found_whatever_their_form(first: str) -> None:
    text = f"Based on little: One. {first} [B] Two [sic]. [C] [not a marker]\n- Three."
    given = answer(
        text,
        sentence("One.", text, 1, 2),
        sentence("Two [sic].", text, 2),
        sentence("Three.", text),
    )
    assert plain_text(given) == "Based on little: One. Two [sic]. [not a marker]\n- Three."
    linked = with_markers(given, lambda one: f"<{one.id}>")
    assert linked == "Based on little: One. <1> <2> Two [sic]. <2> [not a marker]\n- Three."
