"""Text files in detail: what is stored, which facts are read, what is no transcript."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline.kinds import load, loader_name
from wellread.testing.loader import source_of
from wellread.types import Document, HeadingMark, SpeakerMark, TimeMark


def only(name: str, data: str | bytes) -> Document:
    documents = load(source_of(name, data), LoaderLimits())
    assert len(documents) == 1
    return documents[0]


@pytest.mark.parametrize(
    ("name", "body", "title"),
    [
        ("a.md", "Text.\n\n# The *first* heading\n", "The first heading"),
        ("2024-05-06-some_old-post.md", "Text.\n", "Some old post"),
        ("a.md", "---\ntitle: Given\n---\n# Other\n", "Given"),
    ],
)
def test_a_title_comes_from_front_matter_heading_or_name(name: str, body: str, title: str) -> None:
    assert only(name, body).title == title


def test_a_post_is_dated_by_its_name_when_nothing_else_dates_it() -> None:
    assert only("2024-05-06-post.md", "Text.\n").published_at == datetime(2024, 5, 6, tzinfo=UTC)
    assert only("2024-99-06-post.md", "Text.\n").published_at is None


def test_front_matter_without_a_body_is_the_text() -> None:
    page = only(
        "acc.md", "---\ntitle: Nets\ntitle-aliases: [Webs]\nexcerpt: They *catch* fish.\n---\n"
    )
    assert page.text.startswith("They catch fish.") or "They catch fish." in page.text
    bare = only("acc.md", "---\ntitle: Nets\ntitle-aliases: [Webs, Meshes]\nlayout: topic\n---\n")
    assert bare.text == "Nets\n\nWebs, Meshes"


def test_malformed_front_matter_names_the_line() -> None:
    with pytest.raises(SourceError, match=r"malformed front matter, line 4"):
        only("a.md", "---\ntitle: x\nwhat is this\n- [\n---\nText.\n")


def test_names_in_bold_open_turns_and_emphasised_lines_open_sections() -> None:
    body = (
        "**Ada Moss**: Hello *there*.\n\n**Ben Ray**: Hi.\nAnd hi.\n\n_The nets_\n\n"
        "**Ada Moss**: They tear.\n\n**Ben Ray**: They do.\n\nOften.\n"
    )
    talk = only("talk.md", body)
    assert talk.kind == "transcript"
    assert talk.text == (
        "Hello there.\n\nHi. And hi.\n\nThe nets\n\nThey tear.\n\nThey do.\n\nOften."
    )
    said = [
        (mark.speaker, talk.text[mark.start : mark.end].strip())
        for mark in talk.marks
        if isinstance(mark, SpeakerMark)
    ]
    assert said == [
        ("Ada Moss", "Hello there."),
        ("Ben Ray", "Hi. And hi."),
        ("Ada Moss", "They tear."),
        ("Ben Ray", "They do.\n\nOften."),
    ]
    assert not [mark for mark in talk.marks if isinstance(mark, TimeMark)]
    assert [m.path for m in talk.marks if isinstance(m, HeadingMark)] == [("The nets",)]


@pytest.mark.parametrize(
    "body",
    [
        "**Note**: one.\n\n**Note**: two.\n\n**Warning**: three.\n",
        "**Deliverable**: a.\n\n**Deliverable**: b.\n\n**Need**: c.\n\n**Deliverable**: d.\n",
        "**Red Wine**: from grapes.\n\n**Pale Ale**: from malt.\n\n**Cold Tea**: from leaves.\n",
        "Example: one\n\nSteps:\n\nResult: two\n\nExample: three\n",
        ("**Ada Moss**: Hello.\n\n" + "A paragraph of prose.\n\n" * 9) * 4,
    ],
)
def test_ordinary_markdown_is_no_transcript(body: str) -> None:
    assert loader_name(source_of("a.md", body)) == "markdown"
