from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wellread.ingest.joining import story_clusters
from wellread.ingest.joining.story_clusters import (
    BANDS,
    Clusters,
    PlacedItem,
    Signature,
    bands,
    signature_of,
    similarities,
)

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
FERRY = "The ferry Osprey broke down off the harbour and was towed home by a tug."
FERRY_AGAIN = "Passengers of the ferry Osprey get their money back, says the harbour office."
BREAD = "The village bakery won a prize for its rye bread with caraway seeds."
WINDOW = timedelta(days=30)
SUBJECTS = ("ferry Osprey harbour", "bakery bread prize", "school roof storm", "library books")


def put(clusters: Clusters, number: int, text: str, day: int | None = None) -> PlacedItem:
    moment = None if day is None else FIRST + timedelta(days=day)
    return clusters.place((f"doc{number}", 0), "", text, moment, f"story{number}")


def test_news_of_one_subject_is_one_story() -> None:
    clusters = Clusters(0.12, WINDOW)
    found = [put(clusters, n, text, n) for n, text in enumerate((FERRY, BREAD, FERRY_AGAIN))]
    assert [item.story for item in found] == ["story0", "story1", "story0"]
    assert [item.repeats for item in found] == [None, None, None]


def test_a_story_is_over_when_it_had_no_news_for_long() -> None:
    clusters = Clusters(0.12, WINDOW)
    put(clusters, 0, FERRY, 0)
    assert put(clusters, 1, FERRY_AGAIN, 30).story == "story0"
    assert put(clusters, 2, FERRY_AGAIN + " Soon.", 61).story == "story2"


def test_an_item_that_comes_late_joins_the_story_of_its_time() -> None:
    clusters = Clusters(0.12, WINDOW)
    put(clusters, 0, FERRY, 100)
    assert put(clusters, 1, FERRY_AGAIN, 80).story == "story0"
    assert put(clusters, 2, FERRY_AGAIN + " Soon.", 10).story == "story2"


def test_a_copy_goes_where_its_original_is_and_names_it() -> None:
    clusters = Clusters(0.12, WINDOW)
    put(clusters, 0, FERRY, 0)
    copy = put(clusters, 1, FERRY, 1)
    assert (copy.story, copy.repeats, copy.vector) == ("story0", ("doc0", 0), {})
    third = put(clusters, 2, FERRY, 2)
    assert third.repeats == ("doc0", 0)


def test_records_of_one_form_are_compared_with_few_others_and_an_old_copy_is_found_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []

    def counted(one: Signature, others: NDArray[np.uint32]) -> NDArray[np.float64]:
        compared.append(len(others))
        return similarities(one, others)

    def record(number: int) -> str:
        said = f"Shed {number} in ward {number % 7} stored {number * 31} sacks of barley."
        return f"{said} Its keeper weighed them twice a week and wrote the weight down."

    monkeypatch.setattr(story_clusters, "similarities", counted)
    monkeypatch.setattr(story_clusters, "MAX_BAND_CANDIDATES", 1)
    clusters = Clusters(0.12, None)
    placed = [put(clusters, number, record(number)) for number in range(120)]
    assert max(compared) <= BANDS
    assert put(clusters, 500, record(0)).repeats == placed[0].key


def test_a_text_that_shares_much_of_its_words_with_another_is_no_copy() -> None:
    clusters = Clusters(0.12, WINDOW)
    first = f"{FERRY} {FERRY_AGAIN} {BREAD}"
    other = f"{FERRY} {FERRY_AGAIN} The school roof was torn off by a storm last night."
    one, two = signature_of(first), signature_of(other)
    assert set(bands(one)) & set(bands(two))  # so it is looked at
    put(clusters, 0, first, 0)
    assert put(clusters, 1, other, 1).repeats is None


def test_a_copy_of_an_old_story_is_news_again() -> None:
    clusters = Clusters(0.12, WINDOW)
    put(clusters, 0, FERRY, 0)
    again = put(clusters, 1, FERRY, 200)
    assert (again.story, again.repeats) == ("story1", None)


news = st.lists(
    st.tuples(
        st.sampled_from(SUBJECTS),
        st.lists(st.sampled_from("storm price winter council euros lamp".split()), max_size=4),
        st.integers(0, 3),
    ),
    max_size=25,
)


@given(news, st.integers(0, 25))
def test_stories_are_the_same_however_the_runs_were_cut(
    items: list[tuple[str, list[str], int]], cut: int
) -> None:
    day = 0
    texts = []
    for subject, words, gap in items:
        day += gap * 9
        texts.append((f"{subject} {' '.join(words)}", day))
    whole = Clusters(0.12, WINDOW)
    at_once = [put(whole, n, text, on) for n, (text, on) in enumerate(texts)]
    first = Clusters(0.12, WINDOW)
    before = [put(first, n, text, on) for n, (text, on) in enumerate(texts[:cut])]
    second = Clusters(0.12, WINDOW)
    second.restore(
        (item, FIRST + timedelta(days=on))
        for item, (_, on) in zip(before, texts[:cut], strict=True)
    )
    after = [put(second, n, *texts[n]) for n in range(min(cut, len(texts)), len(texts))]
    stories = [(item.story, item.repeats, item.vector) for item in [*before, *after]]
    assert stories == [(item.story, item.repeats, item.vector) for item in at_once]
