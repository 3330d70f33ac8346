"""What stays of a draft when sentences of it are dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.answers import Checked, Verdict, VerdictName
from wellread.ask.deliver.prune_draft import pruned
from wellread.ask.write.parse_draft import parse_draft

BORNE_OUT = Verdict(name=VerdictName.SUPPORTED, method="verbatim", score=1.0)


def without(draft: str, *dropped: str) -> tuple[str, list[str]]:
    """The draft without the sentences that begin with one of ``dropped``, and those left."""
    claims = parse_draft(draft, ()).claims
    checked = [Checked(claim=claim, verdict=BORNE_OUT) for claim in claims]
    kept = [item for item in checked if not item.claim.text.startswith(dropped or ("\0",))]
    text, left = pruned(draft, checked, kept)
    return text, [item.claim.text for item in left]


@pytest.mark.parametrize(
    ("draft", "dropped", "left"),
    [
        ("It rains. It pours.", ("It pours",), "It rains."),
        ("It rains. It pours. It ends.", ("It pours",), "It rains. It ends."),
        ("- It rains.\n- It pours.\n- It ends.", ("It pours",), "- It rains.\n- It ends."),
        ("1. It rains.\n2. It pours.", ("It rains",), "2. It pours."),
        ("## Wet\n\nIt rains.\n\n## Dry\n\nIt is dry.", ("It rains",), "## Dry\n\nIt is dry."),
        ("**Wet**\n\nIt rains.\n\n**Dry**\n\nIt is dry.", ("It is dry",), "**Wet**\n\nIt rains."),
        (
            "## Weather\n\n### Wet\n\nIt rains.\n\n### Dry\n\nIt is dry.",
            ("It rains",),
            "## Weather\n\n### Dry\n\nIt is dry.",
        ),
        ("## Weather\n\n### Wet\n\nIt rains.\n\nIt pours.", ("It rains", "It pours"), ""),
        (
            "Two things changed:\n- It rains.\n- It pours.\n\nSo it goes on.",
            ("It rains", "It pours"),
            "So it goes on.",
        ),
        (
            "Two things changed:\n\n- It rains.\n- It pours.",
            ("It rains",),
            "Two things changed:\n\n- It pours.",
        ),
        (
            "Three things: rain, hail, snow.\n\nIt pours.",
            ("It pours",),
            "Three things: rain, hail, snow.",
        ),
        ("# Empty from the start\n\n# Wet\n\nIt rains. It pours.", ("It pours",), None),
        ("It rains.\n\n```\ncode\n```", ("It pours",), None),
    ],
)
def test_what_stays(draft: str, dropped: tuple[str, ...], left: str | None) -> None:
    text, _ = without(draft, *dropped)
    assert text == (draft.replace(" It pours.", "") if left is None else left)


def test_a_lead_in_that_goes_is_no_kept_sentence() -> None:
    _, left = without("Two things changed:\n- It rains.\n\nIt ends.", "It rains")
    assert left == ["It ends."]


def test_nothing_dropped_changes_nothing() -> None:
    draft = "# A\n\n\n\nIt rains:\n\nIt pours.  "
    assert without(draft) == (draft, ["It rains:", "It pours."])


@given(
    st.lists(
        st.sampled_from(
            [
                "# Head",
                "## Sub",
                "",
                "- One is so.",
                "Two is so. Three is so.",
                "List:",
                "> Four is.",
            ]
        ),
        max_size=12,
    ),
    st.sets(st.sampled_from(["One", "Two", "Three", "Four", "List"]), min_size=1),
)
def test_kept_sentences_stand_in_the_text_in_order(lines: list[str], dropped: set[str]) -> None:
    text, left = without("\n".join(lines), *dropped)
    place = 0
    for sentence in left:
        place = text.index(sentence, place) + len(sentence)
    for word in dropped:
        assert word not in text
