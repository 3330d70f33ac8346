"""Stems are the same whichever thread asks for them, and however many ask at a time."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from wellread.ingest.joining import story_clusters
from wellread.text.parsed import stem

THREADS = 8
ENDINGS = (
    "s es ed ing ings er ers ly ness nesses ful fully ation ations ization ational ity".split()
)
BEGINNINGS = "coffee invit harbour relat condition nation generous happi operat develop".split()
WORDS = [
    beginning + ending + more for beginning in BEGINNINGS for ending in ENDINGS for more in ENDINGS
]

STEMMED: dict[str, Callable[[str], str]] = {
    "as questions are": stem,
    "as stories are": lambda word: next(one for one, _ in story_clusters.content_words(word)),
}


@pytest.fixture(autouse=True)
def _busy_switching() -> Iterator[None]:
    """Threads take turns a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("stem", STEMMED.values(), ids=STEMMED)
def test_parallel_equals_serial(stem: Callable[[str], str]) -> None:
    forget()
    expected = {word: stem(word) for word in WORDS}
    forget()
    start = Barrier(THREADS)

    def stem_all(place: int) -> list[tuple[str, str]]:
        """Each thread begins at another word, so that all are at words that no cache has."""
        first = place * len(WORDS) // THREADS
        start.wait()
        return [(word, stem(word)) for word in WORDS[first:] + WORDS[:first]]

    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(stem_all, range(THREADS)):
            assert dict(found) == expected
    assert {word: stem(word) for word in WORDS} == expected  # what the caches keep


def forget() -> None:
    stem.cache_clear()
