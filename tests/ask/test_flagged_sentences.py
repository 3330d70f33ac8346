"""Which delivered sentences say what an expert flagged as harmful, and which only look like it."""

from __future__ import annotations

import pytest

from wellread.ask.retrieve.rated_questions import FlaggedSentences, flagged_from
from wellread.identity import sentence_hash

HARMFUL = "It is safe to mix bleach and vinegar."


def flagged(*sentences: str) -> FlaggedSentences:
    return flagged_from({sentence_hash(one): one for one in sentences})


@pytest.mark.parametrize(
    "said",
    [
        HARMFUL,
        "it is SAFE to mix bleach, and vinegar",
        "Experts agree: it is safe to mix bleach and vinegar at home.",
        "It may not smell nice, but it is safe to mix bleach and vinegar.",
    ],
)
def test_it_is_found_whole_and_inside(said: str) -> None:
    assert flagged(HARMFUL, "Lead is sweet to the taste.").holds(said)


@pytest.mark.parametrize(
    "said",
    [
        "It is not safe to mix bleach and vinegar.",
        "It is perfectly safe to mix strong bleach and white vinegar.",
        "It is never safe to mix bleach and vinegar.",
        "Bleach and vinegar: it is safe to mix neither.",
        "It is safe to mix bleach and water.",
        "",
    ],
)
def test_the_opposite_words_between_and_other_words_are_not_it(said: str) -> None:
    assert not flagged(HARMFUL).holds(said)


def test_what_neighbours_say_together_is_found() -> None:
    found = flagged(HARMFUL).places(["Now.", "It is safe to mix", "bleach and vinegar.", "Done."])
    assert found == {1, 2}
