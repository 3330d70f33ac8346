"""What counts as a quotation of a removed text, and how it is blacked out."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from wellread.store.catalogue.asking.answer_removal import BLANK, RemovedWords, map_strings

SOURCE = "The osprey nests on the old crane above berth seven. It left in May last year."


def test_eight_words_in_a_row_are_a_quotation() -> None:
    removed = RemovedWords([SOURCE])
    said = "He wrote: «nests on the OLD\ncrane - above berth seven», which is odd."
    blanked = removed.redact(said)
    assert blanked == "He wrote: «█████ ██ ███ ███\n█████ █ █████ █████ █████», which is odd."
    assert removed.redact("nests on the old crane above berth") == (
        "nests on the old crane above berth"
    )


def test_names_and_ids_are_left_alone() -> None:
    removed = RemovedWords([SOURCE])
    plain = {"id": SOURCE, "steps": [{"name": SOURCE, "seconds": 1}], "stale": None}
    blanked = map_strings(plain, removed.redact)
    assert blanked["id"] == SOURCE
    assert "osprey" not in blanked["steps"][0]["name"]
    assert blanked["steps"][0]["seconds"] == 1
    assert plain["steps"] == [{"name": SOURCE, "seconds": 1}]


WORDS = st.lists(st.sampled_from("ferry Gannet kelp; lichen, tide\n dawn — x".split(" ")))


@example("ferry ferry ferry Gannet ferry", "ferry ferry", "ferry Gannet ferry")
@given(WORDS.map(" ".join), WORDS.map(" ".join), WORDS.map(" ".join))
def test_nothing_of_eight_words_is_left_and_the_length_stays(
    source: str, before: str, after: str
) -> None:
    removed = RemovedWords([source])
    said = f"{before} {source} {after}"
    blanked = removed.redact(said)
    assert len(blanked) == len(said)
    assert all(old == new or new == BLANK for old, new in zip(said, blanked, strict=True))
    assert removed.redact(blanked) == blanked
    if len(source.replace(";", " ").replace("—", " ").split()) >= 8:
        assert source not in blanked
