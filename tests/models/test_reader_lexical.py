"""Readers that need no model: by words, and the double of the tests."""

from __future__ import annotations

import pytest

from wellread.models.base import Reader
from wellread.models.open_reader import LexicalReader
from wellread.testing.reader_contract import ReadableReader, ReaderContract


class TestReadableReader(ReaderContract):
    @pytest.fixture
    def reader(self) -> Reader:
        return ReadableReader()


class TestLexicalReader(ReaderContract):
    ALONE = False  # a word's rarity is judged among the texts of one call

    @pytest.fixture
    def reader(self) -> Reader:
        return LexicalReader()
