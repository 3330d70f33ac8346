from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wellread.serve.web.document_layout import Page, page_of
from wellread.types import Document, HeadingMark, Mark, PageMark, Span, SpeakerMark, TimeMark


def document(text: str, *marks: Mark, uri: str = "file:///a.md", media_url: str = "") -> Document:
    return Document(
        collection="c",
        uri=uri,
        kind="page",
        title="A title",
        text=text,
        marks=marks,
        media_url=media_url,
    )


def all_text(page: Page) -> str:
    return "".join(piece.text for block in page.blocks for piece in block.pieces)


def cited_text(page: Page) -> str:
    return "".join(piece.text for block in page.blocks for piece in block.pieces if piece.cited)


TEXTS = st.text(min_size=1, max_size=60)


@st.composite
def documents_with_a_span(draw: st.DrawFn) -> tuple[Document, Span]:
    text = draw(TEXTS)
    places = st.integers(0, len(text))
    ranges = st.tuples(places, places).map(sorted)
    marks: list[Mark] = []
    for start, end in draw(st.lists(ranges, max_size=6)):
        shape = draw(st.sampled_from(("page", "time", "speaker", "heading")))
        if shape == "page":
            marks.append(PageMark(start=start, end=end, page=draw(st.integers(1, 3))))
        elif shape == "time":
            marks.append(TimeMark(start=start, end=end, begin=draw(st.floats(0, 200))))
        elif shape == "speaker":
            marks.append(SpeakerMark(start=start, end=end, speaker=draw(st.sampled_from("AB"))))
        else:
            marks.append(HeadingMark(start=start, end=end, path=(draw(st.sampled_from("XY")),)))
    start, end = draw(ranges)
    return document(text, *marks), Span(start=start, end=end)


@given(documents_with_a_span())
def test_no_character_is_lost_or_added_and_exactly_the_span_is_marked(
    given_pair: tuple[Document, Span],
) -> None:
    doc, span = given_pair
    page = page_of(doc, span)
    assert all_text(page) == doc.text
    assert cited_text(page) == span.of(doc.text)
    firsts = [piece for block in page.blocks for piece in block.pieces if piece.first]
    assert len(firsts) == (1 if len(span) else 0)


def test_only_web_links_are_offered() -> None:
    doc = document("text", TimeMark(start=0, end=4, begin=1.0), media_url="javascript:alert(1)//")
    page = page_of(doc, Span(start=0, end=4))
    assert page.link == ""
    assert [mark.link for block in page.blocks for mark in block.landmarks] == [""]
    web = page_of(document("text", uri="https://a.example/b"), Span(start=0, end=4))
    assert web.link == "https://a.example/b#:~:text=text"
