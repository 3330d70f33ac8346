"""Readers that need no model: by words, and the double of the tests."""

from __future__ import annotations

import pytest

from wellread.models.reader import Case, Reader, excerpts
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.reader_contract import ReadableReader, ReaderContract


class TestReadableReader(ReaderContract):
    @pytest.fixture
    def reader(self) -> Reader:
        return ReadableReader()


class TestLexicalReader(ReaderContract):
    ALONE = False  # a word's rarity is judged among the texts of one call

    @pytest.fixture
    def reader(self) -> Reader:
        return LexicalReader(ReadableEmbedder)


def test_a_negation_speaks_against_a_claim() -> None:
    passages = excerpts("The ferry leaves the harbour at seven.")
    reader = LexicalReader(ReadableEmbedder)
    (plain,) = reader.entails([Case(claim="The ferry leaves the harbour.", passages=passages)])
    (denied,) = reader.entails(
        [Case(claim="The ferry never leaves the harbour.", passages=passages)]
    )
    assert plain.contradicts == 0
    assert denied.contradicts > 0
