"""Word pieces: known ids, any Unicode text, sections, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.models.word_pieces import count_tokens, word_pieces

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)


def ids(text: str, max_length: int = 1_000) -> list[int]:
    return [int(piece) for piece in word_pieces([text], max_length)[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello world", [7592, 2088]),
        ("Hello, World!", [7592, 1010, 2088, 999]),
        ("The cat sat on the mat.", [1996, 4937, 2938, 2006, 1996, 13523, 1012]),
        ("unaffable", [14477, 20961, 3468]),
        ("Café", [7668]),
        ("", []),
        (" \t\n\u00a0\u3000", []),
        ("a\x00b", [1037, 1038]),
        ("😀", [100]),
        ("hello\ud83d world", [7592, 2088]),
    ],
)
def test_ids_are_those_of_bert_uncased(text: str, expected: list[int]) -> None:
    assert ids(text) == expected


def test_special_tokens_in_a_text_are_only_text() -> None:
    assert not {101, 102} & set(ids("[CLS] hello [SEP]"))


@pytest.mark.parametrize("max_length", [0, 1, 3, 254])
def test_pieces_are_cut_at_the_length(max_length: int) -> None:
    text = "retrieval of unaffable passages " * 3_000
    assert ids(text, max_length) == ids(text[:40_000], 10**6)[:max_length]


@pytest.mark.parametrize("unit", ["x", "日", "!", "😀", "e\u0301", "\ud83d", "\x00"])
def test_a_very_long_text_without_spaces_is_counted(unit: str) -> None:
    text = unit * 150_000
    assert 0 <= count_tokens(text) <= len(text)
    assert len(ids(text, 254)) <= 254


@given(text=ANY_TEXT)
def test_any_text_has_pieces_of_the_vocabulary(text: str) -> None:
    pieces = word_pieces([text], 10_000)[0]
    assert len(pieces) == count_tokens(text)
    assert ((pieces >= 100) & (pieces < 30_522)).all()


def test_threads_get_the_same_ids() -> None:
    texts = [f"Passage {n} about the ferry, unaffable and retired. " * 20 for n in range(200)]
    expected = word_pieces(texts, 254)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: word_pieces([text], 254)[0], texts))
    assert all(np.array_equal(*pair) for pair in zip(expected, found, strict=True))
