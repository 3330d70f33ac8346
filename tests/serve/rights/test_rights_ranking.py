"""What a stranger finds has the order and the scores of a home without the foreign collection."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.serve.rights.conftest import OWN, STRANGER
from tests.serve.rights.kept_on_a_cluster import opened

from wellread.kb import KnowledgeBase, index_parts
from wellread.kb.seen_by import view_for
from wellread.types import Candidate, Filters

QUERIES = ("the engine of the ferry Osprey", "a tug towed the ferry", "nobody hurt", "quixomel")
OWN_ONLY = Filters(collections=(OWN,))


def found(kb: KnowledgeBase, filters: Filters, limit: int) -> list[list[Candidate]]:
    """What each query finds by words, and what is near it by meaning."""
    vectors = kb.embedder.embed(list(QUERIES), "query")
    index = kb.index
    return [
        *(index.search_text(query, filters, limit) for query in QUERIES),
        *(index.search_text(word, filters, limit, differences=2) for word in ("engime", "ferri")),
        *(index.search_vector(vector, filters, limit) for vector in vectors),
    ]


@pytest.mark.parametrize("limit", [1, 5_000])
@pytest.mark.parametrize("least", [1, 400])
def test_foreign_words_do_not_move_what_is_found(
    rights_homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, limit: int, least: int
) -> None:
    monkeypatch.setattr(index_parts, "MIN_FETCH", least)
    said = []
    for home in rights_homes:
        with opened(home) as kb:
            view = view_for(kb, STRANGER)
            said.append(found(view, Filters(), limit))
            assert found(view, OWN_ONLY, limit) == said[-1]
            assert found(view, Filters(collections=("obsidianvault",)), limit) == [[]] * 10
    assert said[0] == said[1]
    assert said[0][0] != []


def test_in_the_whole_index_they_do(rights_homes: tuple[Path, Path]) -> None:
    scores = []
    for home in rights_homes:
        with opened(home) as kb:
            scores.append([one.score for one in kb.index.search_text(QUERIES[0], OWN_ONLY, 10)])
    assert scores[0] != scores[1]
