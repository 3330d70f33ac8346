"""A transcript cut into turns, whatever the marks are."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wellread.library.recordings import turn_spans
from wellread.types import Document, Span, SpeakerMark

WORDS = st.text(alphabet="ab \n", max_size=40)


@st.composite
def talks(draw: st.DrawFn) -> tuple[Document, list[Span]]:
    """A document with speaker marks, also overlapping ones, and passages that cover its text."""
    text = draw(WORDS)
    place = st.integers(0, len(text))
    marks = [
        SpeakerMark(start=min(ends), end=max(ends), speaker=name)
        for *ends, name in draw(
            st.lists(st.tuples(place, place, st.sampled_from(["Ana", "Ben"])), max_size=6)
        )
    ]
    cuts = sorted({0, len(text), *draw(st.lists(place, max_size=4))})
    passages = [Span(start=start, end=end) for start, end in pairwise(cuts)]
    document = Document(
        collection="c", uri="u", kind="transcript", title="t", text=text, marks=tuple(marks)
    )
    return document, passages


@given(talks())
def test_every_word_is_in_one_turn_of_who_says_it(talk: tuple[Document, list[Span]]) -> None:
    document, passages = talk
    turns = list(turn_spans(document, passages))
    covered = [place for _, span in turns for place in range(span.start, span.end)]
    assert covered == sorted(set(covered))  # in order, nothing twice
    spoken = {place for place, letter in enumerate(document.text) if letter.strip()}
    assert spoken <= set(covered)
    for speaker, span in turns:
        assert span.of(document.text) == span.of(document.text).strip() != ""
        for place in {*range(span.start, span.end)} & spoken:
            names = {
                mark.speaker
                for mark in document.marks
                if isinstance(mark, SpeakerMark) and mark.start <= place < mark.end
            }
            assert speaker in (names or {""})


def test_a_turn_ends_where_another_speaks_or_nobody_does() -> None:
    text = "Hello. Hi. Good. (music) Bye."
    document = Document(
        collection="c",
        uri="u",
        kind="transcript",
        title="t",
        text=text,
        marks=tuple(
            SpeakerMark(start=text.index(said), end=text.index(said) + len(said), speaker=name)
            for said, name in (("Hello.", "Ana"), ("Hi.", "Ben"), ("Good.", "Ben"), ("Bye.", "Ben"))
        ),
    )
    turns = turn_spans(document, [Span(start=0, end=21), Span(start=21, end=len(text))])
    assert [(speaker, span.of(text)) for speaker, span in turns] == [
        ("Ana", "Hello."),
        ("Ben", "Hi. Good."),
        ("", "(mus"),
        ("", "ic)"),
        ("Ben", "Bye."),
    ]
