"""The step that lets a reranker join in the order of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ask.retrieve.ranking import reranked
from wellread.errors import ModelError
from wellread.kb import open_kb
from wellread.models.base import Excerpt, Scores
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.reader_contract import ReadableReader
from wellread.types import DocumentFacts, Hit, ListRank, Passage, Span


class Fixed(ReadableReader):
    """Gives the scores it was made with."""

    identity = "fixed"

    def __init__(self, scores: object) -> None:
        super().__init__()
        self.scores = np.asarray(scores, dtype=np.float64)
        self.read: list[Sequence[Excerpt]] = []

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        self.read.append(texts)
        return self.scores


class Failing(ReadableReader):
    """Fails with ``error``."""

    identity = "failing"

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        raise self.error


def hit(name: str, score: float, text: str = "", context: str = "", title: str = "") -> Hit:
    return Hit(
        passage=Passage(
            id=name,
            document_id=f"doc_{name}",
            version="1",
            span=Span(start=0, end=len(text)),
            text=text,
            context=context,
        ),
        document=DocumentFacts(
            id=f"doc_{name}", version="1", collection="c", uri=name, kind="page", title=title
        ),
        score=score,
        ranks=(ListRank(name="text", rank=3, score=score),),
        similarity=0.5,
    )


def hits_of(*scores: float) -> list[Hit]:
    return [hit("abcdefgh"[at], score) for at, score in enumerate(scores)]


def names(hits: Sequence[Hit]) -> str:
    return "".join(each.passage.id for each in hits)


def test_the_reranker_alone_decides_at_weight_one() -> None:
    found, note = reranked(Fixed([1, 3, 2]), "q", hits_of(0.9, 0.8, 0.5), 10, 1.0)
    assert names(found) == "bca"
    assert note == ""


def test_title_headings_and_text_are_read() -> None:
    reranker = ReadableReader()
    hits = [
        hit("a", 0.9, text="It leaves at seven.", context="Ferries\n§ Summer", title="Ferries"),
        hit("b", 0.8, text="It leaves at nine.", title="Buses"),
        hit("c", 0.7, text="x" * 9_000, title="Long"),
        hit("d", 0.6),
    ]
    found, _ = reranked(reranker, "summer ferries", hits, 10, 1.0)
    ((query, texts),) = reranker.asked
    assert query == "summer ferries"
    assert texts[:2] == ("Ferries\n§ Summer\nIt leaves at seven.", "Buses\nIt leaves at nine.")
    assert (len(texts[2]), texts[3]) == (2_000, "")
    assert names(found)[0] == "a"


def test_a_failure_keeps_the_order_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    hits = hits_of(0.9, 0.8, 0.5)
    error = ModelError("no reply within 20 s", hint="lower reader.depth")
    found, note = reranked(Failing(error), "q", hits, 2, 1.0)
    assert found == hits
    assert "the order is the search's own" in note
    assert "no reply within 20 s" in note
    assert "lower reader.depth" in note
    assert "no reply within 20 s" in caplog.text


@pytest.mark.parametrize(
    "scores", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0, [1.0, float("nan")], [1.0, float("inf")]]
)
def test_a_reranker_that_breaks_its_promise_is_a_failure(scores: object) -> None:
    hits = hits_of(0.9, 0.8)
    found, note = reranked(Fixed(scores), "q", hits, 10, 1.0)
    assert found == hits
    assert "fixed" in note


@given(
    st.lists(st.tuples(st.floats(-1, 2), st.floats(-1e6, 1e6, width=32)), min_size=1, max_size=8),
    st.integers(1, 10),
    st.floats(0, 1),
)
def test_nothing_is_lost_and_scores_fall(
    pairs: list[tuple[float, float]], depth: int, weight: float
) -> None:
    hits = hits_of(*sorted((score for score, _ in pairs), reverse=True))
    own = [score for _, score in pairs][:depth]
    found, note = reranked(Fixed(own), "q", hits, depth, weight)
    assert note == ""
    assert sorted(names(found)) == sorted(names(hits))
    assert names(found[depth:]) == names(hits[depth:])
    scores = [each.score for each in found]
    assert all(left >= right - 1e-9 for left, right in pairwise(scores))
    assert max(scores) == pytest.approx(hits[0].score)
    assert [replace(each, score=0, ranks=()) for each in sorted(found, key=names_key)] == [
        replace(each, score=0, ranks=()) for each in hits
    ]


def names_key(each: Hit) -> str:
    return each.passage.id


def test_without_settings_the_reader_that_comes_along_reads(tmp_path: Path) -> None:
    with open_kb(tmp_path, embedder=ReadableEmbedder()) as kb:
        assert kb.reader.identity.startswith("lexical trained:")
        assert not kb.reader.reranks
        assert kb.passage_reader is not None
    plain = {"reader": {"answers": "lexical"}}
    with open_kb(tmp_path, overrides=plain, embedder=ReadableEmbedder()) as kb:
        assert kb.reader.identity == "lexical"
        assert kb.passage_reader is None
