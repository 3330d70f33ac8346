"""A question that gives a file's name is limited to that file, as by its title."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.understand.conversation import open_session
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question

OLD = {
    "mill.md": "# The mill by the weir\n\nThe mill grinds rye.\n",
    "log 2024-05-02.md": "# Log of the weir\n\nThe weir held.\n",
    "plan.md": "# First plan\n\nA weir of oak.\n",
}
NEW = {"plan.md": "# Second plan\n\nA weir of stone.\n"}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(old=OLD, new=NEW)


@pytest.mark.parametrize(
    ("asked", "read", "documents"),
    [
        ("What is in mill.md?", "What is in The mill by the weir?", 1),
        ("Summarize Log 2024-05-02.MD", "Summarize Log of the weir", 1),
        ("What does “new/plan.md” say?", "What does “Second plan” say?", 1),
        ("What is in plan.md?", "What is in Second plan and First plan?", 2),
        ("Does mill.md or old/plan.md name oak?", None, 2),
        ("What is in quay.md or at quay.example?", "What is in quay.md or at quay.example?", 0),
    ],
)
async def test_a_file_name_is_a_limit(
    home: Path, asked: str, read: str | None, documents: int
) -> None:
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        session, _ = await open_session(kb, Question(text=asked))
    assert len(session.question.filters.document_ids) == documents
    assert session.asked == asked
    if read is not None:
        ends = read.removeprefix("What is in ").removesuffix("?").split(" and ")
        assert all(end in session.question.text for end in ends)
