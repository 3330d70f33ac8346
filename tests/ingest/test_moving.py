"""Documents moved into another collection, and what cites them; a move that is killed."""

from __future__ import annotations

import io
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.ingest.conftest import found

from wellread.ask.answer import answer, final
from wellread.errors import RequestError
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.library import collection_changes
from wellread.library.collection_changes import (
    create,
    describe,
    description_of,
    move,
    remove_with_uploads,
    rename,
)
from wellread.library.uploads import keep_upload, uploaded_file
from wellread.store.catalogue import Catalogue
from wellread.store.index.lance import LanceIndex
from wellread.types import Filters
from wellread.values.answers import Question

FERRY = "# The ferry\n\nThe ferry Osprey was bought for 2.6 million euros in 2021.\n"
ASKED = "What was the ferry Osprey bought for?"


@pytest.fixture
def ferry(kb: KnowledgeBase) -> str:
    """The address of an upload in the collection ``harbour``."""
    stored = keep_upload(kb, "harbour", "ferry.md", io.BytesIO(FERRY.encode()))
    add(kb, [str(stored)], collection="harbour")
    return stored.as_uri()


async def test_an_answer_cites_a_moved_document_where_it_is_now(
    kb: KnowledgeBase, ferry: str
) -> None:
    given = await final(answer(kb, Question(text=ASKED)))
    moved = move(kb, "harbour", [ferry], "town")
    stored = kb.catalogue.sessions.answer(given.id, kb.asker.owner)
    assert stored is not None
    assert not stored[0].stale
    assert [(one.document_id, one.quote) for one in stored[1].citations] == [
        (moved[one.document_id], one.quote) for one in given.citations
    ]
    [facts] = kb.catalogue.documents("town")
    assert uploaded_file(kb, facts.uri) is not None
    assert uploaded_file(kb, ferry) is None
    again = await final(answer(kb, Question(text=ASKED, filters=Filters(collections=("town",)))))
    assert [one.document_id for one in again.citations] == [facts.id]
    assert verify(kb).problems == ()


@pytest.mark.parametrize("step", ["intend", "move_sources", "settle"])
async def test_a_killed_rename_leaves_the_document_whole_and_is_finished_later(
    kb: KnowledgeBase, ferry: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Catalogue, step, killed)
        with pytest.raises(KeyboardInterrupt):
            rename(kb, "harbour", "town")
    assert len(found(kb, "Osprey")) == 1
    rename(kb, "harbour", "town", merge=True)
    assert [len(kb.catalogue.documents(name)) for name in ("harbour", "town")] == [0, 1]
    assert len(found(kb, "Osprey")) == 1
    assert len(list((kb.home / "uploads").rglob("*.md"))) == 1
    assert verify(kb).problems == ()


@pytest.mark.parametrize(("together", "writes"), [(20, 3), (500, 1)])
async def test_sources_move_together(
    kb: KnowledgeBase, tmp_path: Path, together: int, writes: int
) -> None:
    (notes := tmp_path / "notes").mkdir()
    for number in range(5):
        (notes / f"{number}.txt").write_text(f"The note {number}.", encoding="utf-8")
    add(kb, [str(notes)], collection="one")
    with (
        patch.object(LanceIndex, "write", autospec=True, side_effect=LanceIndex.write) as write,
        patch.object(collection_changes, "MOVED_TOGETHER", together),
    ):
        assert rename(kb, "one", "two") == 5
    assert write.call_count == writes
    assert verify(kb).problems == ()


async def test_a_file_that_lies_there_already_stays(kb: KnowledgeBase, ferry: str) -> None:
    add(kb, [str(uploaded_file(kb, ferry))], collection="town")
    move(kb, "town", [ferry], "harbour")
    assert uploaded_file(kb, ferry) is not None


async def test_another_document_of_the_same_address_is_not_written_over(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    path = tmp_path / "note.txt"
    for collection in ("one", "two"):
        path.write_text(f"The note of {collection}.", encoding="utf-8")
        add(kb, [str(path)], collection=collection)
    with pytest.raises(RequestError, match="another document"):
        move(kb, "one", [path.as_uri()], "two")
    assert [len(kb.catalogue.documents(name)) for name in ("one", "two")] == [1, 1]


async def test_a_renamed_collection_keeps_rights_and_can_be_removed_without_a_trace(
    kb: KnowledgeBase, ferry: str
) -> None:
    user = kb.catalogue.accounts.users.add("root", "admin", "a pier in the fog")
    kb.catalogue.accounts.grants.give("harbour", "reader", user_id=user.id)
    rename(kb, "harbour", "port")
    granted = {one.collection for one in kb.catalogue.accounts.grants.list_all()}
    assert granted == {"port"}
    assert kb.catalogue.collection_names() == ["port"]
    report = remove_with_uploads(kb, "port", None)
    assert (report.documents, report.traces) == (1, ())
    assert not list((kb.home / "uploads").rglob("*.md"))


async def test_a_description_changes_no_settings_and_outlives_a_run(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / "boats"
    folder.mkdir()
    (folder / "wellread-collection.yaml").write_text("rules: [{match: '*.md', kind: paper}]\n")
    (folder / "osprey.md").write_text(FERRY)
    describe(kb, create(kb, "boats"), "Boats of the harbour.")
    for text in (FERRY, FERRY + "It was sold.\n"):
        (folder / "osprey.md").write_text(text)
        add(kb, [str(folder)], collection="boats")
        assert [one.kind for one in kb.catalogue.documents("boats")] == ["paper"]
        describe(kb, "boats", "Boats of the harbour.")
    rename(kb, "boats", "ships")
    assert description_of(kb, "ships") == "Boats of the harbour."
