"""Strict Open XML, as Word and Excel save it on demand, is read like the usual form."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from tests.ingest.office_files import changed, saved, slides, word, workbook

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.parsing import kinds
from wellread.testing.loader import source_of
from wellread.types import Document

USUAL = re.compile(rb"http://schemas\.openxmlformats\.org/(officeDocument|\w+ml)/2006/(?!math)")
FILES = {"rules.docx": saved(word()), "talk.pptx": slides(), "book.xlsx": workbook()}


def strict(data: bytes) -> bytes:
    """The file as a program saves it in the strict form."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(held, "w") as new:
        for name in old.namelist():
            new.writestr(name, USUAL.sub(rb"http://purl.oclc.org/ooxml/\1/", old.read(name)))
    return held.getvalue()


def load(name: str, data: bytes) -> Document:
    (document,) = kinds.load(source_of(name, data), LoaderLimits())
    return document


@pytest.mark.parametrize("name", FILES)
def test_a_strict_file_is_read_like_the_usual_one(name: str) -> None:
    data = strict(FILES[name])
    assert b"purl.oclc.org" in zipfile.ZipFile(io.BytesIO(data)).read("_rels/.rels")
    assert load(name, data) == load(name, FILES[name])


def test_a_date_of_a_strict_workbook_is_a_date() -> None:
    book = changed(
        strict(FILES["book.xlsx"]),
        "xl/worksheets/sheet1.xml",
        b"</sheetData>",
        b'<row r="90"><c r="A90" t="d"><v>2026-03-04</v></c></row></sheetData>',
    )
    assert "2026-03-04" in load("book.xlsx", book).text
