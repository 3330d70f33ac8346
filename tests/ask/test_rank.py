"""Fusion and diversity, as pure functions."""

from hypothesis import given
from hypothesis import strategies as st

from wellread.ask.retrieve import ranking
from wellread.types import Candidate, Span


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


def test_one_list_or_none() -> None:
    assert order(ranking.weighted({"text": listed(("a", 1.0))}, {"text": 0.5})) == ["a"]
    assert ranking.weighted({"text": [], "vector": []}, {"text": 1.0}) == []


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


def test_overlap_is_jaccard() -> None:
    assert ranking.overlap(frozenset("ab"), frozenset("bc")) == 1 / 3
    assert ranking.overlap(frozenset(), frozenset("a")) == 0.0
