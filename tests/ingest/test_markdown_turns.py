"""Turns of talks as people write them, and links and titles in Markdown."""

from __future__ import annotations

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.loaders.text import markdown_files as markdown
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of
from wellread.types import Document, HeadingMark, Locator, Span, SpeakerMark
from wellread.values.locators import Marks

TALK = """---
title: "Rope `#4` and *paint*"
---
**Ida Lund (harbour master)**: We begin.

_`ROPE_4` and the rest_

**Tor Vik**: It is old.

_ Pull request #7 _

**Ida Lund**: It is new.

**Tor Vik (remote)**: Really?

Not _a_ title of _its_ own.
"""

STAMPED = """Ida Lund: 00:00:19

Good evening.

Tor Vik (remote): 00:00:31

Good evening, Ida.

Ida Lund 00:01:02

Shall we begin?
At 00:02:00 it rains.

Tor Vik : 00:01:40

Yes.

Ida Lund: 00:01:50

No.
"""


def load(text: str) -> Document:
    (document,) = kinds.load(source_of("talk.md", text), LoaderLimits())
    assert document.kind == "transcript"
    return document


def at(document: Document, words: str) -> Locator:
    place = document.text.index(words)
    return Marks(document.marks).locate(Span(start=place, end=place + len(words)))


def test_a_role_in_brackets_makes_no_other_speaker() -> None:
    talk = load(TALK)
    speakers = {mark.speaker for mark in talk.marks if isinstance(mark, SpeakerMark)}
    assert speakers == {"Ida Lund", "Tor Vik"}
    assert at(talk, "We begin.").speaker == at(talk, "It is new.").speaker == "Ida Lund"


def test_lines_of_emphasis_are_headings_also_with_code_and_blanks() -> None:
    talk = load(TALK)
    headings = [mark.path[-1] for mark in talk.marks if isinstance(mark, HeadingMark)]
    assert headings == ["ROPE_4 and the rest", "Pull request #7"]
    assert talk.title == "Rope #4 and paint"


@pytest.mark.parametrize(
    ("words", "speaker", "begin"),
    [
        ("Good evening.", "Ida Lund", 19),
        ("Good evening, Ida.", "Tor Vik", 31),
        ("Shall we begin?", "Ida Lund", 62),
        ("it rains", "Ida Lund", 62),
        ("Yes.", "Tor Vik", 100),
    ],
)
def test_a_time_after_the_name(words: str, speaker: str, begin: float) -> None:
    found = at(load(STAMPED), words)
    assert (found.speaker, found.begin) == (speaker, begin)


def test_links_with_their_labels() -> None:
    body = """A [rope](section:rope "why"), a [pier][topic piers], [Gulls][] and [ice][].

<div>
the [mast](term:mast)
</div>

[ice]: https://ice.example/a
"""
    assert markdown.links(markdown.parse(body)) == [
        markdown.Link(href="section:rope"),
        markdown.Link(label="topic piers"),
        markdown.Link(label="Gulls"),
        markdown.Link(href="https://ice.example/a", label="ice"),
        markdown.Link(href="term:mast"),
    ]
