"""Helpers of the index contract tests: example rows, and a model index to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from numpy.typing import NDArray

from wellread.store.base import IndexRow, KeptIndex
from wellread.types import Candidate, Filters, Span

DIMENSIONS = 8
WORDS = ("ferry", "gannet", "harbour", "kelp", "lichen")
NAMES = ("Ann", "ann", "O'Brien", "Jörg")
DATES = (None, datetime(1950, 1, 1, tzinfo=UTC), datetime(2024, 5, 6, 7, tzinfo=UTC))
MAX_EXAMPLES = 12  # random sequences of calls
MAX_STEPS = 14  # calls in one sequence
ANY = Filters()
MANY = 700  # rows; above the limit for exhaustive search that some tests set


# Opens the index with a name; the same name opens the same rows again.
OpenIndex = Callable[[str], KeptIndex]


def axes(*numbers: int) -> NDArray[np.float32]:
    """Unit vectors along the numbered axes."""
    return np.eye(DIMENSIONS, dtype=np.float32)[list(numbers)]


def random_vectors(rows: int) -> NDArray[np.float32]:
    """Random vectors that are the same in every run."""
    return np.random.default_rng(11).standard_normal((rows, DIMENSIONS)).astype(np.float32)


def write(index: KeptIndex, rows: Sequence[IndexRow]) -> None:
    """Write rows with unit vectors, for tests in which the vectors do not matter."""
    index.write(rows, axes(*(number % DIMENSIONS for number in range(len(rows)))))


def ids(candidates: Iterable[Candidate]) -> list[str]:
    """The passage ids of the candidates, in order."""
    return [candidate.passage_id for candidate in candidates]


def stored_ids(index: KeptIndex) -> list[str]:
    """The passage ids of all rows, sorted."""
    return sorted(key.passage_id for key in list(index.keys()))


def make_row(passage_id: str, text: str, **fields: Any) -> IndexRow:
    """A row with default values for missing fields; its document is ``doc-<id>``."""
    values: dict[str, Any] = {
        "document_id": f"doc-{passage_id}",
        "version": "v1",
        "span": Span(start=0, end=len(text)),
        "collection": "main",
        "kind": "page",
        **fields,
    }
    return IndexRow(passage_id=passage_id, text=text, **values)


def bad_vectors() -> list[NDArray[np.float32]]:
    """Invalid vectors for two rows: NaN, infinite, too few, too long."""
    nan, infinite = axes(0, 1), axes(0, 1)
    nan[1, 3], infinite[1, 2] = np.nan, np.inf
    return [nan, infinite, axes(0), np.ones((2, DIMENSIONS + 1), dtype=np.float32)]


class IndexTests:
    """The fixtures of all contract tests."""

    @pytest.fixture
    def open_index(self) -> OpenIndex:
        """Overridden by the back end's tests."""
        raise TypeError(f"{type(self).__name__} must override the fixture open_index")

    @pytest.fixture
    def index(self, open_index: OpenIndex) -> KeptIndex:
        """A new, empty index."""
        return open_index("contract")


def matches(row: IndexRow, filters: Filters) -> bool:
    """Whether ``row`` passes ``filters``; defines the meaning of ``types.Filters``."""
    plain = (
        (filters.collections, row.collection),
        (filters.kinds, row.kind),
        (filters.document_ids, row.document_id),
        (filters.source_types, row.source_type),
        (filters.languages, row.language),
    )
    by_dimension: dict[str, set[str]] = {}
    for dimension, value in filters.taxonomy:
        by_dimension.setdefault(dimension, set()).add(f"{dimension}={value}")
    return (
        all(not allowed or value in allowed for allowed, value in plain)
        and _share(filters.authors, row.authors)
        and _share(filters.speakers, row.speakers)
        and _between(row.published_at, filters.published_from, filters.published_to)
        and all(allowed.intersection(row.taxonomy) for allowed in by_dimension.values())
    )


def check_against_model(open_index: OpenIndex) -> None:
    """Check that the index agrees with a dictionary after each of many random calls."""

    class Machine(IndexMachine):
        numbers = count()

    Machine.open_index = staticmethod(open_index)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=MAX_EXAMPLES,
            stateful_step_count=MAX_STEPS,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def _share(allowed: tuple[str, ...], values: tuple[str, ...]) -> bool:
    folded = {name.casefold() for name in values}
    return not allowed or any(name.casefold() in folded for name in allowed)


def _between(moment: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    if start is None and end is None:
        return True
    if moment is None:
        return False
    return (start is None or _utc(start) <= _utc(moment)) and (
        end is None or _utc(moment) <= _utc(end)
    )


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


_versions = st.sampled_from(("v1", "v2"))
_documents = st.sampled_from(("d1", "d2", "d3"))
_collections = st.sampled_from(("main", "side"))
_taxonomy = st.sampled_from(("s=1", "s=2", "t=1"))


@st.composite
def _rows(draw: st.DrawFn) -> IndexRow:
    return make_row(
        f"p{draw(st.integers(0, 11))}",
        " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=4))),
        document_id=draw(_documents),
        version=draw(_versions),
        collection=draw(_collections),
        kind=draw(st.sampled_from(("page", "article"))),
        authors=tuple(draw(st.lists(st.sampled_from(NAMES), max_size=2))),
        speakers=tuple(draw(st.lists(st.sampled_from(NAMES), max_size=2))),
        taxonomy=tuple(draw(st.lists(_taxonomy, max_size=2, unique=True))),
        published_at=draw(st.sampled_from(DATES)),
    )


_filters = st.builds(
    Filters,
    collections=st.lists(_collections, max_size=1).map(tuple),
    kinds=st.lists(st.sampled_from(("page", "article")), max_size=1).map(tuple),
    document_ids=st.lists(_documents, max_size=2).map(tuple),
    authors=st.lists(st.sampled_from(NAMES), max_size=1).map(tuple),
    speakers=st.lists(st.sampled_from(NAMES), max_size=1).map(tuple),
    published_from=st.sampled_from(DATES),
    taxonomy=st.lists(st.sampled_from((("s", "1"), ("s", "2"), ("t", "1"))), max_size=2).map(tuple),
)
_vectors = st.lists(
    st.sampled_from((-1.0, 0.0, 0.5, 1.0)), min_size=DIMENSIONS, max_size=DIMENSIONS
)


class IndexMachine(RuleBasedStateMachine):
    """A state machine that applies random calls to an index and to a dictionary."""

    open_index: OpenIndex
    numbers: Iterator[int]

    def __init__(self) -> None:
        super().__init__()
        self._name = f"machine-{next(self.numbers)}"
        self._index = self._open()
        self._model: dict[str, tuple[IndexRow, NDArray[np.float64] | None]] = {}

    def _open(self) -> KeptIndex:
        return type(self).open_index(self._name)

    @rule(rows=st.lists(st.tuples(_rows(), _vectors), max_size=6))
    def write(self, rows: list[tuple[IndexRow, list[float]]]) -> None:
        """Add and replace rows."""
        numbers = np.array([vector for _, vector in rows], dtype=np.float32)
        self._index.write([row for row, _ in rows], numbers.reshape(-1, DIMENSIONS))
        for row, vector in rows:
            self._model[row.passage_id] = (row, np.array(vector))

    @rule(rows=st.lists(_rows(), max_size=6))
    def write_words(self, rows: list[IndexRow]) -> None:
        """Add and replace rows without vectors."""
        self._index.write(rows, None)
        for row in rows:
            self._model[row.passage_id] = (row, None)

    @rule(entries=st.lists(st.tuples(st.integers(0, 11), _vectors), max_size=6))
    def set_vectors(self, entries: list[tuple[int, list[float]]]) -> None:
        """Set vectors, including those of missing rows."""
        numbers = np.array([vector for _, vector in entries], dtype=np.float32)
        passage_ids = [f"p{number}" for number, _ in entries]
        self._index.set_vectors(passage_ids, numbers.reshape(-1, DIMENSIONS))
        for passage_id, (_, vector) in zip(passage_ids, entries, strict=True):
            if passage_id in self._model:
                self._model[passage_id] = (self._model[passage_id][0], np.array(vector))

    @rule(keys=st.lists(st.tuples(_documents, _versions), max_size=3))
    def remove(self, keys: list[tuple[str, str]]) -> None:
        """Remove versions of documents."""
        gone = [
            passage_id
            for passage_id, (row, _) in self._model.items()
            if (row.document_id, row.version) in keys
        ]
        assert self._index.remove(keys) == len(gone)
        for passage_id in gone:
            del self._model[passage_id]

    @rule()
    def optimize(self) -> None:
        """Optimize the index."""
        self._index.optimize()

    @rule()
    def purge(self) -> None:
        """Delete removed rows from the disk."""
        self._index.purge()
        assert self._index.purged()

    @rule()
    def reopen(self) -> None:
        """Open the index again."""
        self._index = self._open()

    @rule(word=st.sampled_from(WORDS), filters=_filters)
    def search_text(self, word: str, filters: Filters) -> None:
        """A word search finds exactly the rows with the word."""
        expected = {
            passage_id
            for passage_id, (row, _) in self._model.items()
            if word in row.text.split() and matches(row, filters)
        }
        hits = self._index.search_text(word, filters, 50)
        assert len(hits) == len(expected)
        assert {hit.passage_id for hit in hits} == expected

    @rule(numbers=_vectors, filters=_filters)
    def search_vector(self, numbers: list[float], filters: Filters) -> None:
        """A vector search finds all rows with their cosines, best first."""
        query = np.array(numbers)
        expected = {
            passage_id: _cosine(query, vector)
            for passage_id, (row, vector) in self._model.items()
            if vector is not None and matches(row, filters)
        }
        hits = self._index.search_vector(query.astype(np.float32), filters, 50)
        assert len(hits) == len(expected)
        for hit in hits:
            assert abs(hit.score - expected[hit.passage_id]) < 1e-4
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)

    @invariant()
    def keys_agree(self) -> None:
        """The index contains the rows of the dictionary."""
        rows = list(self._index.keys())
        actual = sorted((key.passage_id, key.document_id, key.version) for key in rows)
        expected = sorted(
            (passage_id, row.document_id, row.version)
            for passage_id, (row, _) in self._model.items()
        )
        assert actual == expected
        assert self._index.rows() == len(rows)


def _cosine(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else 0.0
