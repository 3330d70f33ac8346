"""Packing evidence: whole sentences, best first, in the budget; each side of a comparison."""

from pathlib import Path

from tests.doubles.evidence import evidence_of

from wellread.ask.retrieve.ranking import pack
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder

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


def test_a_small_budget_holds_each_side_of_a_comparison(tmp_path: Path) -> None:
    one, other = packed(tmp_path, 2)
    assert LONG.startswith(one)
    assert OTHER.startswith(other)
    assert len(one) + len(other) <= 600
    assert one.endswith(".")
    assert other.endswith(".")
