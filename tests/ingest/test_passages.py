"""Passages: spans of the stored text, for any text and any structure."""

import re

from hypothesis import given
from hypothesis import strategies as st

from wellread.identity import passage_id
from wellread.ingest.pipeline.parse import split
from wellread.types import Document, HeadingMark, Mark, SpeakerMark


def words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def document(text: str, marks: tuple[Mark, ...] = ()) -> Document:
    return Document(
        collection="c", uri="file:///a.txt", kind="page", title="T", text=text, marks=marks
    )


@given(st.text(max_size=3000), st.integers(min_value=20, max_value=80))
def test_every_passage_is_a_span_of_the_text(text: str, size: int) -> None:
    passages = split(document(text), size, words)
    for passage in passages:
        assert passage.text == text[passage.span.start : passage.span.end]
        assert passage.text.strip()
    ends = [0, *(passage.span.end for passage in passages)]
    for end, passage in zip(ends, passages, strict=False):
        assert end <= passage.span.start
    covered = sum(sum(map(str.isalnum, passage.text)) for passage in passages)
    assert covered == sum(map(str.isalnum, _without_list_numbers(text)))


def _without_list_numbers(text: str) -> str:
    """List numbers at a line's start are layout, not words of the sentence."""
    lines = re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    return "\n".join(re.sub(r"^\s*\d{1,3}[.)]\s+(?=\S)", "", line) for line in lines)


@given(st.lists(st.sampled_from(["One two three.", "Four five!", "\n\n", " "]), max_size=200))
def test_a_passage_is_not_larger_than_asked(parts: list[str]) -> None:
    text = " ".join(parts)
    for passage in split(document(text), 30, words):
        assert words(passage.text) <= 30


def test_a_sentence_larger_than_a_passage_is_cut_at_spaces() -> None:
    text = "word " * 400
    passages = split(document(text), 50, words)
    assert len(passages) > 5
    assert all(words(passage.text) <= 50 for passage in passages)
    assert all(passage.text.split(" ")[0] == "word" for passage in passages)


def test_ids_are_the_same_on_every_run_and_differ_by_version() -> None:
    first = split(document("Alpha beta. Gamma delta."), 50, words)
    again = split(document("Alpha beta. Gamma delta."), 50, words)
    other = split(document("Alpha beta. Gamma delta!"), 50, words)
    assert first == again
    assert first[0].id != other[0].id
    assert first[0].id == passage_id(first[0].document_id, first[0].version, first[0].span)
    assert first[0].id == "psg_e6b148ca0183a9ed56aa2311"


def test_sections_are_borders_and_give_the_context() -> None:
    one, two = "Alpha beta gamma. " * 10, "Delta epsilon zeta. " * 10
    text = one + "\n\n" + two
    marks = (
        HeadingMark(start=0, end=len(one), path=("Setup",)),
        HeadingMark(start=len(one) + 2, end=len(text), path=("Setup", "Windows")),
    )
    passages = split(document(text, marks=marks), 60, words)
    assert [passage.context for passage in passages] == ["T — Setup", "T — Setup › Windows"]


def test_a_transcript_passage_names_who_speaks() -> None:
    text = "Hello there everyone.\n\nGood morning to you."
    marks = (
        SpeakerMark(start=0, end=21, speaker="Ada"),
        SpeakerMark(start=23, end=len(text), speaker="Bo"),
    )
    (passage,) = split(document(text, marks=marks), 60, words)
    assert passage.speakers == ("Ada", "Bo")
    assert passage.context == "T\nAda, Bo"


def test_a_full_passage_ends_at_a_paragraph_when_it_can() -> None:
    first, second = "Alpha beta gamma delta. " * 6, "Epsilon zeta eta theta. " * 5
    passages = split(document(first.strip() + "\n\n" + second.strip()), 45, words)
    assert passages[0].text == first.strip()
