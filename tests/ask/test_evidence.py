"""Packing evidence: whole sentences, best first, in the budget; each side of a comparison."""

from dataclasses import replace
from pathlib import Path

from tests.doubles.evidence import evidence_of

from wellread.ask.retrieve.ranking import pack, with_neighbours
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters, Hit

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


def test_what_stands_around_the_best_pieces_follows_where_there_is_room(tmp_path: Path) -> None:
    parts = [
        f"## Part {number}\n\n{f'The quay has bolt number {number}. ' * 10}" for number in range(9)
    ]
    (tmp_path / "quay.md").write_text("# Quay\n\n" + "\n\n".join(parts), encoding="utf-8")
    for room, more in ((30_000, 2), (700, 1), (500, 0)):
        context: dict[str, object] = {"max_characters": room}
        with open_kb(
            tmp_path / "home", overrides={"context": context}, embedder=ReadableEmbedder()
        ) as kb:
            add(kb, [str(tmp_path / "quay.md")], collection="town")
            (document,) = kb.catalogue.listings.documents(Filters(), 9).documents
            there = kb.catalogue.passages_of([document.facts.id])
            (middle,) = [one for one in there if "Part 4" in one.context]
            best = pack(kb, [Hit(passage=middle, document=document.facts, score=1.0)])
            shown = with_neighbours(kb, best)
        assert shown[:1] == best
        assert [piece.key for piece in shown] == ["e1", "e2", "e3"][: 1 + more]
        assert all(piece.text == piece.hit.passage.text for piece in shown)
        near = {piece.locator.heading[-1] for piece in shown[1:]}
        assert near <= {"Part 3", "Part 5"}
        assert len(near) == more


def test_what_was_found_far_below_the_best_is_not_shown_to_a_model(tmp_path: Path) -> None:
    *pieces, last = evidence_of("The pump runs.", "It is old.", "It hums.", "The boiler burns.")
    weak = replace(last, hit=replace(last.hit, score=0.01))
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert with_neighbours(kb, [*pieces, weak]) == pieces
        assert with_neighbours(kb, [*pieces, last]) == [*pieces, last]
