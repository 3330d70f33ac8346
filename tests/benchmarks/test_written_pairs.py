"""Pairs to train on that are made of this project's own documents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from training.pairs import CONTRADICTED, ENTAILED, NOT_ENTAILED, OPEN
from training.written import Asked, passages, written_pairs

DOCUMENT = """@ rules of a boat house
Opening
The shed is unlocked at seven.
Canoes go out for two days at most.
Whoever is late pays four euros.
Oars hang on the back wall.
?2 From when can I get in?
?4 cost of an overdue boat
?- Who built the shed?
+3 Nobody keeps a canoe for three days.
!2 The shed is unlocked at eight.
~4 Latecomers pay in cash.
"""


class Elsewhere:
    """Gives texts that can be told."""

    def beside(self, number: int, one: Asked, rng: random.Random) -> Sequence[Sequence[str]]:
        return [("Tea is at four.",), ("Cake is at five.",)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "boats.txt").write_text(DOCUMENT, encoding="utf-8")
    (tmp_path / "broken-1.txt").write_text("@ letter\nDear all.\n?7 Who?\n", encoding="utf-8")
    return tmp_path


def test_files_are_taken_by_name(folder: Path) -> None:
    (one,) = passages(folder, "boats,nothing*")
    assert one.kind == "rules of a boat house"
    assert len(one.sentences) == 5
    assert [each.sign for each in one.asked] == list("???+!~")
    assert one.asked[1].held == (3,)


def test_a_number_beyond_the_last_sentence_names_file_and_block(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"broken-1\.txt, block 1"):
        passages(folder)


@pytest.mark.parametrize("seed", range(20))
def test_an_answered_question_is_a_group_with_one_text_that_answers(
    folder: Path, seed: int
) -> None:
    found = passages(folder, "boats")
    made = [
        one
        for one in written_pairs(found, random.Random(seed), near=Elsewhere())
        if one.task == "qa"
    ]
    groups = {one.group for one in made if one.group is not None}
    assert len(groups) == 2
    for group in groups:
        of_one = [one for one in made if one.group == group]
        assert [one.label for one in of_one] == [1, 0, 0, 0]
        (right, without, *_) = of_one
        assert right.chosen is not None
        held = right.sentences[right.chosen]
        assert held in DOCUMENT
        assert held not in without.sentences
    alone = [one for one in made if one.group is None]
    assert [one.label for one in alone] == [0, 0]
    assert {one.asked for one in alone} == {"Who built the shed?"}


def test_claims_are_labelled_as_they_are_written(folder: Path) -> None:
    found = passages(folder, "boats")
    labels: dict[str, set[int]] = {}
    for seed in range(20):
        for one in written_pairs(found, random.Random(seed), near=Elsewhere()):
            if one.task == "nli":
                labels.setdefault(one.asked, set()).add(one.label)
    assert labels == {
        "Nobody keeps a canoe for three days.": {ENTAILED, NOT_ENTAILED},
        "The shed is unlocked at eight.": {CONTRADICTED},
        "The shed is unlocked at seven.": {ENTAILED},
        "Latecomers pay in cash.": {OPEN},
    }
