"""Stored documents as ``verify`` reads them: the version is computed from what is stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.made import kept, passages_of

from wellread.identity import version_of
from wellread.store.catalogue import Catalogue
from wellread.store.schema.tables import PIECE
from wellread.types import (
    Box,
    Document,
    HeadingMark,
    LineMark,
    Mark,
    PageMark,
    Span,
    SpeakerMark,
    TimeMark,
)

MARKS: tuple[Mark, ...] = (
    PageMark(start=2, end=9, page=1),
    PageMark(start=2, end=9, page=2, box=Box(left=0, top=0.5, right=1e-7, bottom=3)),
    TimeMark(start=2, end=9, begin=1.5, finish=None),
    SpeakerMark(start=2, end=9, speaker="Änne"),
    HeadingMark(start=2, end=9, path=("a", "b")),
    LineMark(start=2, end=9, line=4),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bodies") / "catalogue.db"


@pytest.fixture(scope="module")
def catalogue(path: Path) -> Iterator[Catalogue]:
    opened = Catalogue.open(path)
    yield opened
    opened.close()


def keep(catalogue: Catalogue, said: str, marks: tuple[Mark, ...] = ()) -> Document:
    document = Document(
        collection="main", uri="file:///a", kind="page", title="A", text=said, marks=marks
    )
    passages = passages_of(document, [Span(start=0, end=len(said))], context="A")
    catalogue.commit([kept(document, passages)])
    return document


@pytest.mark.parametrize("marks", [(), MARKS])
def test_the_version_is_that_of_text_and_marks(
    catalogue: Catalogue, marks: tuple[Mark, ...]
) -> None:
    said = "Nine o'clock"
    keep(catalogue, said, marks)
    (body,) = catalogue.integrity.bodies()
    assert body.broken == ""
    assert body.computed == body.version == version_of(said, marks)
    assert body.reach == max((mark.end for mark in marks), default=0)
    assert body.text == said
    assert [(row.start, row.end, row.context) for row in body.passages] == [(0, len(said), "A")]


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DELETE FROM texts WHERE piece = 1", "a piece of its text is missing"),
        ("UPDATE texts SET text = 'x' WHERE piece = 2", "its text has"),
        ("UPDATE marks SET blob = x'00'", "its marks cannot be read"),
        ("DELETE FROM marks", "its marks are missing"),
    ],
)
def test_what_cannot_be_read_is_said(
    catalogue: Catalogue, path: Path, statement: str, reason: str
) -> None:
    keep(catalogue, "kelp " * PIECE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    (body,) = catalogue.integrity.bodies()
    assert body.broken.startswith(reason)
    assert body.computed == ""
