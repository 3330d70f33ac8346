"""Stored answers checked again: unchanged, moved, taken out, and gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ask.answer import answer, final
from wellread.errors import UnknownNameError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.library.recheck import Rechecked, named_answer, stored_answer, verify_again
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Answer, Question

FERRY = """# The ferry

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.
"""
PIER = """# The pier

The pier was painted green by the harbour office in May.
"""
LENIENT: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.05}}
PRICE = "What was the ferry Osprey bought for?"
SAID = "The ferry Osprey was bought for 2.6 million euros in 2021."


@pytest.fixture
def material(tmp_path: Path) -> Path:
    folder = tmp_path / "material"
    folder.mkdir()
    (folder / "ferry.md").write_text(FERRY, encoding="utf-8")
    (folder / "pier.md").write_text(PIER, encoding="utf-8")
    return folder


@pytest.fixture
def kb(tmp_path: Path, material: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path / "home", overrides=LENIENT, embedder=ReadableEmbedder()) as made:
        add(made, [str(material)], collection="town")
        yield made


async def ask(kb: KnowledgeBase, text: str, owner: str = "") -> Answer:
    return await final(answer(kb, Question(text=text, owner=owner)))


def changed(kb: KnowledgeBase, material: Path, name: str, text: str) -> None:
    (material / name).write_text(text, encoding="utf-8")
    add(kb, [str(material)], collection="town")


def removed(kb: KnowledgeBase, name: str) -> None:
    uris = [uri for uri in kb.catalogue.sources("town") if uri.endswith(name)]
    kb.catalogue.remove_sources("town", uris)


def standings(found: Rechecked) -> dict[str, str]:
    return {one.title: one.standing for one in found.citations}


def verdict_of(found: Rechecked, text: str) -> tuple[str, str]:
    (one,) = [each for each in found.sentences if each.text == text]
    return one.before, one.now.name


def is_stale(kb: KnowledgeBase, known: str) -> bool:
    return stored_answer(kb, known, "")[0].stale


async def test_nothing_changed_nothing_changes(kb: KnowledgeBase) -> None:
    given = await ask(kb, PRICE)
    found = verify_again(kb, given.id)
    assert set(standings(found).values()) == {"same"}
    assert all(one.before == one.now.name for one in found.sentences)
    assert not found.stale
    assert found.answer == given
    assert kb.catalogue.answer(given.id) == given


async def test_a_source_that_still_says_it_is_cited_at_its_new_place(
    kb: KnowledgeBase, material: Path
) -> None:
    given = await ask(kb, PRICE)
    before = next(one for one in given.citations if SAID in one.quote)
    changed(kb, material, "ferry.md", f"# News\n\nThe harbour has a new crane.\n\n{FERRY}")
    assert is_stale(kb, given.id)
    found = verify_again(kb, given.id)
    assert standings(found)[found.citations[0].title] == "still_said"
    assert verdict_of(found, SAID) == ("quoted", "quoted")
    assert not found.stale
    assert not is_stale(kb, given.id)
    after = next(one for one in found.answer.citations if one.id == before.id)
    assert (after.quote, after.id) == (before.quote, before.id)
    assert after.version != before.version
    assert after.source_span.start > before.source_span.start
    (stands,) = kb.catalogue.texts([(after.document_id, after.source_span)])
    assert stands == before.quote
    assert kb.catalogue.answer(given.id) == found.answer
    again = verify_again(kb, given.id)
    assert set(standings(again).values()) == {"same"}


async def test_what_a_source_says_no_more_is_told_and_stays_stale(
    kb: KnowledgeBase, material: Path
) -> None:
    given = await ask(kb, PRICE)
    changed(kb, material, "ferry.md", "# The ferry\n\nThe Osprey was sold to Norway.\n")
    for _ in range(2):  # the second look finds the same
        found = verify_again(kb, given.id)
        assert "changed" in standings(found).values()
        now = next(one.now for one in found.sentences if one.text == SAID)
        assert (now.name, now.method) == ("not_checked", "changed")
        assert found.stale
        assert is_stale(kb, given.id)
    assert found.answer.text == given.text
    removed(kb, "ferry.md")
    assert "2.6 million" not in repr(kb.catalogue.answer(given.id))


async def test_a_source_that_is_gone_is_told_and_quoted_no_more(kb: KnowledgeBase) -> None:
    given = await ask(kb, PRICE)
    removed(kb, "ferry.md")
    found = verify_again(kb, given.id)
    gone = [one for one in found.citations if one.standing == "gone"]
    assert [one.reason for one in gone] == ["the source no longer exists"] * len(gone)
    assert gone
    assert found.stale
    assert is_stale(kb, given.id)
    assert "2.6 million" not in repr(found)


async def test_the_title_in_a_marker_goes_with_its_source(tmp_path: Path, material: Path) -> None:
    titled: dict[str, dict[str, object]] = LENIENT | {"citations": {"style": "title"}}
    with open_kb(tmp_path / "home", overrides=titled, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(material)], collection="town")
        given = await ask(kb, PRICE)
        assert SAID in given.text
        assert "[The ferry]" in given.text
        removed(kb, "ferry.md")
        stored = kb.catalogue.answer(given.id)
        assert stored is not None
        assert "[The ferry]" not in stored.text
        assert "[███ █████]" in stored.text
        assert len(stored.text) == len(given.text)


async def test_only_the_owner_has_the_answer(kb: KnowledgeBase) -> None:
    given = await ask(kb, PRICE, owner="ann")
    assert verify_again(kb, given.id, "ann").answer == given
    assert named_answer(kb, "last", "ann")[1] == given
    for known, owner in ((given.id, ""), (given.id, "bob"), ("ans_none", "ann"), ("last", "bob")):
        with pytest.raises(UnknownNameError, match="there is no answer"):
            verify_again(kb, known, owner)
