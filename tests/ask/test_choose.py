"""Choosing among hits: near-duplicates go, the rest varies or keeps its order."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.doubles.evidence import evidence_of

from wellread.ask.retrieve.ranking import merged, varied
from wellread.types import Hit

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


def test_a_near_duplicate_goes_and_says_of_what() -> None:
    kept, dropped = varied(hits_of(TEXTS[0], COPY, TEXTS[1]), 5, 1.0)
    assert texts_of(kept) == [TEXTS[0], TEXTS[1]]
    ((text, why),) = [(each.hit.passage.text, each.why) for each in dropped]
    assert text == COPY
    assert "nearly the same text as a passage of “Notes”" in why


def test_beyond_the_limit_hits_are_dropped_and_told() -> None:
    kept, dropped = varied(hits_of(*TEXTS), 3, 1.0)
    assert texts_of(kept) == list(TEXTS[:3])
    assert [(each.hit.passage.text, each.why) for each in dropped] == [
        (TEXTS[3], "not among the best 3")
    ]


def test_a_given_order_is_kept_whatever_the_scores_say() -> None:
    turned = hits_of(*TEXTS)[::-1]
    kept, _ = varied(turned, 2, 1.0)
    assert kept == turned[:2]


def test_less_relevance_prefers_what_differs() -> None:
    one, like, other = TEXTS[0], TEXTS[3], TEXTS[1]
    hits = hits_of(one, like, other)
    assert texts_of(varied(hits, 2, 0.99)[0]) == [one, like]
    assert texts_of(varied(hits, 2, 0.3)[0]) == [one, other]


@given(
    st.lists(st.sampled_from([*TEXTS, COPY]), max_size=8),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_no_hit_is_lost(texts: list[str], limit: int, relevance: float) -> None:
    hits = hits_of(*texts)
    kept, dropped = varied(hits, limit, relevance)
    assert len(kept) <= limit
    both = [hit.passage.id for hit in (*kept, *(each.hit for each in dropped))]
    assert sorted(both) == sorted(hit.passage.id for hit in hits)


def test_lists_are_joined_in_turns_and_no_hit_twice() -> None:
    a, b, c, d = hits_of(*TEXTS)
    assert merged([[a, b], [c, a, d]], 10) == [a, c, b, d]
    assert merged([[a, b], [], [c]], 2) == [a, c]
    assert merged([], 3) == []
