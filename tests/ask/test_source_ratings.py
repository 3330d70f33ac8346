"""Sources that experts marked down are ranked down, and the explanation says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wellread.ask.retrieve.search import search
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.catalogue.feedback_records import FeedbackMark, MarkKind
from wellread.store.schema.stored_values import Feedback
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters, Hit
from wellread.values.answers import Answer, Confidence

NOW = datetime(2026, 3, 4, tzinfo=UTC)
QUERY = "tides at the harbour"


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    """Two notes that are as near to the query as each other, and a third."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.md").write_text("# First note\n\nTides at the harbour are high.\n")
    (files / "b.md").write_text("# Second note\n\nTides at the harbour are high in spring too.\n")
    (files / "c.md").write_text("# Third note\n\nBread is baked at night.\n")
    opened = open_kb(tmp_path / "home", embedder=ReadableEmbedder())
    add(opened, [str(files)], collection="notes")
    return opened


def found(kb: KnowledgeBase) -> list[Hit]:
    return search(kb, QUERY, Filters())


def mark(kb: KnowledgeBase, kind: MarkKind, author: str, *documents: str, on: str = "1") -> str:
    sure = Confidence(score=1, band="high", reasoning="")
    told = Answer(
        id=f"ans_{on}",
        question="?",
        text="!",
        citations=(),
        sentences=(),
        confidence=sure,
        answered_by="extractive",
    )
    if kb.catalogue.answer(told.id) is None:
        kb.catalogue.record_answer(told)
    given = Feedback(
        id=f"fbk_{author}_{on}",
        answer_id=told.id,
        author=author,
        question="?",
        created_at=NOW,
        updated_at=NOW,
    )
    kb.catalogue.feedback.put(given, [FeedbackMark(kind=kind, key=known) for known in documents])
    return given.id


def test_it_is_ranked_down_by_a_bounded_factor_and_stays(kb: KnowledgeBase) -> None:
    with kb:
        before = found(kb)
        first = before[0]
        for author in ("mara", "ida"):
            mark(kb, "down", author, first.document.id)
        after = found(kb)
        assert after[0].document.id == before[1].document.id
        down = next(hit for hit in after if hit.document.id == first.document.id)
        assert down.score == pytest.approx(first.score * 0.8)
        assert down.marked == "marked down by 2 experts (score × 0.80)"
        assert {hit.document.id for hit in after} == {hit.document.id for hit in before}
        assert after[0].marked == ""


def test_one_person_counts_once_and_expired_feedback_does_not(kb: KnowledgeBase) -> None:
    with kb:
        first = found(kb)[0]
        one = mark(kb, "down", "mara", first.document.id, on="1")
        two = mark(kb, "down", "mara", first.document.id, on="2")
        hit = next(hit for hit in found(kb) if hit.document.id == first.document.id)
        assert hit.marked.startswith("marked down by 1 expert (")
        for known in (one, two):
            given = kb.catalogue.feedback.get(known)
            assert given is not None
            downs = [FeedbackMark(kind="down", key=first.document.id)]
            kb.catalogue.feedback.put(replace(given, expired="gone"), downs)
        assert found(kb)[0].marked == ""
        assert found(kb)[0].document.id == first.document.id
