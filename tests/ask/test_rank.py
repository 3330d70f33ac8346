"""Fusion and diversity, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.doubles.evidence import evidence_of

from wellread.ask.retrieve import ranking
from wellread.ask.retrieve.ranking import pack, varied
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Candidate, Hit, Span


def listed(*scores: tuple[str, float]) -> list[Candidate]:
    return [
        Candidate(
            passage_id=name,
            document_id=f"doc_{name}",
            version="v",
            span=Span(start=0, end=1),
            score=score,
        )
        for name, score in scores
    ]


def order(fused: list[ranking.Fused]) -> list[str]:
    return [item.candidate.passage_id for item in fused]


def test_weighted_adds_scaled_scores() -> None:
    lists = {
        "text": listed(("a", 10.0), ("b", 5.0), ("c", 0.0)),
        "vector": listed(("b", 0.9), ("d", 0.5), ("a", 0.1)),
    }
    fused = ranking.weighted(lists, {"text": 0.5, "vector": 0.5})
    assert order(fused) == ["b", "a", "d", "c"]
    assert [round(item.score, 3) for item in fused] == [0.75, 0.5, 0.25, 0.0]
    assert [(place.name, place.rank) for place in fused[0].ranks] == [("text", 2), ("vector", 1)]


def test_weight_zero_leaves_the_other_order() -> None:
    lists = {"text": listed(("a", 3.0), ("b", 2.0)), "vector": listed(("b", 1.0), ("a", 0.5))}
    assert order(ranking.weighted(lists, {"text": 1.0, "vector": 0.0})) == ["a", "b"]
    assert order(ranking.weighted(lists, {"text": 0.0, "vector": 1.0})) == ["b", "a"]


def test_reciprocal_rank_uses_places_only() -> None:
    lists = {"text": listed(("a", 99.0), ("b", 1.0)), "vector": listed(("b", 0.9), ("c", 0.8))}
    fused = ranking.reciprocal_rank(lists)
    assert order(fused) == ["b", "a", "c"]
    assert fused[0].score == 1 / 62 + 1 / 61


names = st.text(alphabet="abcdefgh", min_size=1, max_size=2)
lists = st.dictionaries(names, st.floats(0, 1), max_size=12).map(
    lambda scores: listed(*sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
)


@given(lists, lists, st.floats(0, 1))
def test_fusion_keeps_every_candidate_once(
    one: list[Candidate], two: list[Candidate], weight: float
) -> None:
    both = {"text": one, "vector": two}
    expected = {candidate.passage_id for candidate in one + two}
    for fused in (
        ranking.weighted(both, {"text": 1 - weight, "vector": weight}),
        ranking.reciprocal_rank(both),
    ):
        assert sorted(order(fused)) == sorted(expected)
        scores = [item.score for item in fused]
        assert scores == sorted(scores, reverse=True)


def test_diversity_puts_a_repeat_behind_something_new() -> None:
    alike = {(0, 1): 1.0, (0, 2): 0.0, (1, 2): 0.0}

    def similarity(one: int, other: int) -> float:
        return alike[(min(one, other), max(one, other))]

    scores = [1.0, 0.9, 0.6]
    assert ranking.diversify(scores, similarity, limit=3, relevance=0.5) == [0, 2, 1]
    assert ranking.diversify(scores, similarity, limit=3, relevance=1.0) == [0, 1, 2]
    assert ranking.diversify(scores, similarity, limit=1, relevance=0.5) == [0]


TEXTS = (
    "The ferry Osprey leaves the harbour at six every single morning.",
    "Bread dough rises because of yeast.",
    "Seagrass stores carbon in the sediment.",
    "The ferry Heron leaves the harbour at nine on many evenings.",
)
COPY = "At six every single morning the ferry Osprey leaves the harbour."


def hits_of(*texts: str) -> list[Hit]:
    return [piece.hit for piece in evidence_of(*texts)]


def texts_of(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.text for hit in hits]


def test_a_near_duplicate_goes() -> None:
    assert texts_of(varied(hits_of(TEXTS[0], COPY, TEXTS[1]), 5, 1.0)) == [TEXTS[0], TEXTS[1]]


LONG = "The heat pump of the harbour bath runs day and night. " * 12
OTHER = "The boiler of the town hall burns wood chips all winter. " * 12
SMALL: dict[str, dict[str, object]] = {"context": {"max_characters": 600, "max_tokens": 400}}


def packed(tmp_path: Path, sides: int) -> list[str]:
    hits = [piece.hit for piece in evidence_of(LONG.strip(), OTHER.strip())]
    with open_kb(tmp_path / "home", overrides=SMALL, embedder=ReadableEmbedder()) as kb:
        return [piece.text for piece in pack(kb, hits, sides)]


def test_the_best_piece_comes_first_and_is_cut_after_a_whole_sentence(tmp_path: Path) -> None:
    (only,) = packed(tmp_path, 1)
    assert LONG.startswith(only)
    assert only.endswith("night.")
    assert len(only) <= 600
