from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.joining.story_refresh import news_items
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline.kinds import load
from wellread.types import Document

DIGEST = """---
title: "Harbour newsletter #4"
kind: article
---
This week's letter tells of the ferry, of the quay, and has our regular sections below.

## News

- **Ferry sold:** the Osprey was sold to an island firm for 2.6 million euros.

  The firm wants to run it from May on, with the same crew.

- **Quay closed:** the north quay is closed, since its piles are rotten below the water.

## Short notes

Short notes of the week, collected by the harbour master.

- The lamp on the mole was mended on Tuesday by the harbour master himself.
- and this goes on with the sentence that was begun in the line before it.
- Too short

## Portrait

The diver Ida Holm has looked after the harbour's chains for thirty years, and will not stop.

## Footnotes

A list of places where the words of this letter are explained to people from inland.
"""

ARTICLE = """---
title: The long road to a new quay
kind: article
---
The council has agreed on a new quay.

## What it costs

The quay costs four million euros, of which the region pays one half.

## What comes next

- a survey
- a tender
- the works, which take two years and will close the north side of the harbour
"""


def read(text: str, name: str = "letter.md") -> Document:
    source = Source(uri=f"file:///{name}", name=name, data=text.encode(), collection="news")
    return load(source, LoaderLimits())[0]


def parts(text: str) -> list[str]:
    document = read(text)
    return [span.of(document.text) for span in news_items(document)]


def test_a_digest_is_cut_into_its_list_items_and_sections() -> None:
    found = parts(DIGEST)
    assert [part.partition("\n")[0][:12] for part in found] == [
        "Ferry sold: ",
        "Quay closed:",
        "The lamp on ",
        "Portrait",
    ]


def test_a_list_item_that_goes_on_with_a_sentence_is_not_cut_off() -> None:
    found = parts(DIGEST)
    lamp = next(part for part in found if part.startswith("The lamp"))
    assert lamp.endswith("in the line before it.")


def test_an_article_with_headings_and_a_list_is_one_item() -> None:
    document = read(ARTICLE)
    (span,) = news_items(document)
    assert span.of(document.text) == document.text.strip()


def test_a_long_section_is_cut_at_paragraphs() -> None:
    paragraph = "The harbour was built in stone by people who came from the hills. " * 14
    blocks = ["# Weekly letter", "## History", paragraph, paragraph, paragraph, "## B", paragraph]
    text = "\n\n".join(blocks)
    found = parts(text)
    assert [len(part) // 900 for part in found] == [2, 1, 1]


def test_a_digest_of_stubs_is_kept_whole() -> None:
    assert parts("# Weekly digest\n\n- one\n- two\n") == ["Weekly digest\n\n- one\n- two"]


lines = st.sampled_from(
    ["# Weekly", "## News", "- item " * 9, "words of a paragraph " * 40, "x", ""]
)


@given(st.lists(lines, min_size=1, max_size=14))
def test_items_are_in_order_apart_and_without_white_space_around(chosen: list[str]) -> None:
    text = "\n\n".join(chosen).strip() or "x"
    document = read(text)
    spans = news_items(document)
    assert spans
    for span in spans:
        assert span.of(document.text) == span.of(document.text).strip() != ""
    for one, other in pairwise(spans):
        assert one.end <= other.start
