"""Support of a claim: every reading moves the score the way it should."""

import json
from collections.abc import Sequence
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wellread.models.base import Purpose
from wellread.models.reader import Excerpt
from wellread.models.readers.support_score import (
    AGAINST,
    FILE,
    FOR,
    NAMES,
    Support,
    compare,
    contained,
    learned,
    missing_numbers,
    readings,
    support,
    weigh,
)
from wellread.testing.embedding import ReadableEmbedder

TEXT = (
    "The ferry to Oldwick was closed in March. The storm damaged 310 homes along the coast. "
    "Sheep graze on the upper meadow. The new dyke reduces the risk of floods in the harbour."
)


class NoEmbedder(ReadableEmbedder):
    """Fails the test when a vector is asked for."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        raise AssertionError(f"{len(texts)} texts to embed as {purpose}")


def supported(claim: str, text: str = TEXT, title: str = "Notes") -> Support:
    return support(claim, [Excerpt(text=text, title=title)], ReadableEmbedder())


def read(claim: str, *texts: str, title: str = "") -> dict[str, float]:
    laid = compare(claim, [Excerpt(text=text, title=title) for text in texts])
    return readings(laid, [0.5] * len(laid.best))


def test_a_sentence_of_the_source_is_supported_and_found() -> None:
    found = supported("The storm damaged 310 homes along the coast.")
    assert found.score >= learned().supported
    assert found.source == 0
    assert found.span.of(TEXT) == "The storm damaged 310 homes along the coast."


def test_the_right_source_is_named() -> None:
    sources = [Excerpt(text="Tea is served at the pier.", title=""), Excerpt(text=TEXT, title="")]
    found = support("Sheep graze on the meadow.", sources, ReadableEmbedder())
    assert found.source == 1
    assert found.span.of(TEXT) == "Sheep graze on the upper meadow."


@pytest.mark.parametrize("text", [TEXT, "", "   \n"])
def test_nothing_in_common_is_no_support_and_embeds_nothing(text: str) -> None:
    found = support("Quarks carry colour charge.", [Excerpt(text=text, title="")], NoEmbedder())
    assert (found.score, found.source, found.readings) == (0.0, None, {})


@pytest.mark.parametrize("claim", ["", "It is what it was."])
def test_a_claim_without_content_is_not_supported(claim: str) -> None:
    found = support(claim, [Excerpt(text=TEXT, title="")], NoEmbedder())
    assert found.score == 0.0


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The storm damaged 310 homes.", "The storm damaged 450 homes."),
        ("The ferry to Oldwick was closed.", "The ferry to Skerrick was closed."),
        ("The dyke reduces the risk of floods.", "The dyke raises the risk of floods."),
        ("The ferry was closed in March.", "The ferry was never closed in March."),
    ],
)
def test_a_changed_fact_costs_support(right: str, wrong: str) -> None:
    assert supported(wrong).score < supported(right).score


def test_numbers_missing_are_told() -> None:
    laid = compare("It took 12 days and 1,310 men.", [Excerpt(text="1310 men came.", title="")])
    assert missing_numbers(laid) == ["12"]


def test_a_number_may_stand_in_the_title() -> None:
    claim = "The storm of 1953 took homes."
    assert read(claim, "The storm took homes.")["number_missing"] == 1.0
    assert read(claim, "The storm took homes.", title="Floods of 1953")["number_missing"] == 0.0


def test_a_name_far_from_the_words_counts_against() -> None:
    claim = "The bridge was built by Anna Harrow."
    near = read(claim, "The bridge was built by Harrow in spring.")
    far = read(claim, "The bridge was built. It is long. It is old. Harrow keeps bees.")
    assert (near["names_apart"], far["names_apart"]) == (0.0, 1.0)


def test_sentences_from_anywhere_count_together() -> None:
    claim = "Copper roofs, slate walls and oaken doors."
    strewn = "Copper roofs. Rain falls. Slate walls. Wind blows. Oaken doors."
    assert read(claim, strewn)["cover_strewn"] == pytest.approx(1.0)
    assert read(claim, strewn.replace("Slate", "Brick"))["cover_strewn"] < 1.0


def test_a_word_of_the_same_family_counts_in_part() -> None:
    claim = "Polymerisation stops."
    assert (
        read(claim, "It stops.")["cover_letters"]
        < read(claim, "The polymerase stops.")["cover_letters"]
        < read(claim, "Polymerisation stops.")["cover_letters"]
    )


@pytest.mark.parametrize(
    ("claim", "text", "opposed", "agreed"),
    [
        ("Salt raises pressure.", "Salt lowers pressure.", 1.0, 0.0),
        ("Salt lowers pressure.", "Salt increases pressure.", 1.0, 0.0),
        ("Salt raises pressure.", "Salt raises pressure.", 0.0, 1.0),
        ("Salt raises pressure.", "Salt raises pressure and lowers sleep.", 0.0, 1.0),
        ("Salt changes pressure.", "Salt lowers pressure.", 0.0, 0.0),
    ],
)
def test_directions(claim: str, text: str, opposed: float, agreed: float) -> None:
    found = read(claim, text)
    assert (found["opposed"], found["agreed"]) == (opposed, agreed)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The gate was opened.", 1.0),
        ("The gate was not opened.", 0.0),
        ("The gate was opened. The gate wasn't opened.", 0.0),
        ("The old gate of the town was opened. No gate fell.", 1.0),
        ("", 0.0),
    ],
)
def test_a_denial_is_told_unless_a_sentence_denies_too(text: str, denied: float) -> None:
    assert read("The old gate of the town was not opened.", text)["denied"] == denied


@given(
    claim=st.text("ab not rise fall 12 Anna.", max_size=40),
    texts=st.lists(st.text("ab not rise fall 12 Anna.\n", max_size=60), max_size=3),
)
def test_readings_and_score_stay_between_0_and_1(claim: str, texts: list[str]) -> None:
    laid = compare(claim, [Excerpt(text=text, title="a b") for text in texts])
    found = readings(laid, [-0.2, 1.00001, 0.4][: len(laid.best)])
    assert found.keys() == set(NAMES)
    assert all(0.0 <= value <= 1.0 for value in found.values())
    assert 0.0 < weigh(found, learned()) < 1.0


def test_the_order_of_the_sources_changes_nothing_but_the_number() -> None:
    one, other = Excerpt(text=TEXT, title=""), Excerpt(text="Tea at the harbour.", title="")
    claim = "The dyke reduces floods."
    first = support(claim, [one, other], ReadableEmbedder())
    second = support(claim, [other, one], ReadableEmbedder())
    assert first.score == pytest.approx(second.score)
    assert (first.source, second.source) == (0, 1)


def test_the_shipped_weights_are_complete_and_of_the_right_sign() -> None:
    weights = learned()
    written = json.loads(
        resources.files("wellread.models.readers").joinpath(FILE).read_text(encoding="utf-8")
    )
    assert set(written["readings"]) == set(NAMES)
    assert all(weights.readings[name] >= 0 for name in FOR)
    assert all(weights.readings[name] <= 0 for name in AGAINST)
    assert 0 < weights.partial < weights.supported < 1


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The Kittiwake cost 6.8 million euros.", True),
        ("The ferry cost 6.8 million euros.", True),
        ("The Kittiwake cost 6.9 million euros.", False),
        ("The euros cost the ferry 6.8 million.", False),  # in another order
        ("The Kittiwake cost the council 6.8 million euros.", False),
        ("Kittiwake carries passengers.", False),  # the title alone says it
        ("It cost euros.", False),  # too little
    ],
)
def test_a_claim_whose_words_stand_in_one_sentence(claim: str, held: bool) -> None:
    source = Excerpt(
        text="It was new. The ferry cost 6.8 million euros, figures show. The council paid.",
        title="Kittiwake carries passengers",
    )
    assert contained(compare(claim, [source])) is held
