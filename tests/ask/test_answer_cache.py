"""Answers that are given again, and everything that keeps an old one from being given."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.doubles import forked
from tests.doubles.recorded_calls import newest_calls

from wellread.ask.answer import answer, final
from wellread.errors import ModelError
from wellread.ingest.integrity.purge import find_traces, needles, purge
from wellread.ingest.integrity.verify import verify
from wellread.ingest.remove import remove_documents
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.catalogue.asking.answer_records import AnswerCache
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Filters
from wellread.values.answers import Answer, Question, StepEvent

FERRY = "# The ferry\n\nThe ferry Osprey was bought for 2.6 million euros in 2021.\n"
LATER = "# The ferry\n\nThe ferry Osprey was bought for 3.1 million euros in 2021.\n"
BARGE = "# The barge\n\nThe barge Heron was bought for half a million euros in 2019.\n"
ASKED = "How much was paid for the ferry Osprey?"
UNKNOWN = "Which composer wrote the Magic Flute?"
GOOD = "The Osprey was bought for 2.6 million euros [e1]."

TOWN = Question(text="", filters=Filters(collections=("town",)))
FRESH = Question(text="", fresh=True)

Overrides = dict[str, dict[str, object]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the home and its material."""
    root = tmp_path_factory.mktemp("cache")
    (root / "material").mkdir()
    (root / "material" / "ferry.md").write_text(FERRY, encoding="utf-8")
    with opened(root / "home") as kb:
        add(kb, [str(root / "material")], collection="town")
    return root


@pytest.fixture
def folder(prepared: Path) -> Iterator[Path]:
    """The material, which the test may change."""
    yield prepared / "material"
    for path in (prepared / "material").iterdir():
        path.unlink()
    (prepared / "material" / "ferry.md").write_text(FERRY, encoding="utf-8")


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    """A home of the test's own."""
    shutil.copytree(prepared / "home", tmp_path / "home")
    return tmp_path / "home"


def opened(
    home: Path, model: ScriptedModel | None = None, sections: Overrides | None = None
) -> KnowledgeBase:
    overrides: Overrides = {"qa": {"confidence_threshold": 0.05}}
    for name, values in (sections or {}).items():
        overrides[name] = {**overrides.get(name, {}), **values}
    return open_kb(home, overrides=overrides, embedder=ReadableEmbedder(), model=model)


async def ask(kb: KnowledgeBase, text: str = ASKED, like: Question | None = None) -> Answer:
    question = replace(like, text=text) if like else Question(text=text)
    return await final(answer(kb, question))


async def test_the_same_question_is_answered_once(home: Path) -> None:
    model = ScriptedModel([GOOD])
    with opened(home, model) as kb:
        first = await ask(kb)
        again = await ask(kb, "  how much was Paid for the ferry Osprey ")
        assert kb.catalogue.answer(again.id) == again
        assert [call.purpose for call in newest_calls(kb.catalogue, 9)] == ["judge", "answer"]
    assert (first.cached, again.cached) == (False, True)
    assert (again.text, again.citations, again.sentences) == (
        first.text, first.citations, first.sentences,
    )  # fmt: skip
    assert again.id != first.id
    assert again.session_id not in ("", first.session_id)
    assert again.question == "how much was Paid for the ferry Osprey"
    assert (again.usage.input_tokens, again.usage.output_tokens, again.usage.cost) == (0, 0, 0.0)
    assert [step.name for step in again.steps] == ["cache"]
    assert len(model.prompts) == 1


async def test_another_process_gives_it_again(home: Path) -> None:
    with opened(home) as kb:
        first = await ask(kb)
    code = (
        "import asyncio, sys; from pathlib import Path;"
        "from wellread.values.answers import Question;"
        "from wellread.ask.answer import answer, final; from wellread.kb import open_kb;"
        "from wellread.testing.embedding import ReadableEmbedder;"
        "kb = open_kb(Path(sys.argv[1]), overrides={'qa': {'confidence_threshold': 0.05}},"
        " embedder=ReadableEmbedder());"
        "given = asyncio.run(final(answer(kb, Question(text=sys.argv[2]))));"
        "kb.close(); print(given.cached, given.text)"
    )
    done = forked.run(code, str(home), ASKED)
    assert done.stdout.strip() == f"True {first.text}"


async def test_another_scope_or_owner_is_another_question(home: Path) -> None:
    with opened(home) as kb:
        await ask(kb)
        for other in (
            FRESH,
            Question(text="", mode="deep"),
            Question(text="", strict=True),
            Question(text="", max_clusters=2),
            Question(text="", owner="ana"),
            TOWN,
            Question(text="", filters=Filters(kinds=("page",))),
        ):
            assert not (await ask(kb, like=other)).cached, other
            assert (await ask(kb)).cached


async def test_other_settings_make_other_answers(home: Path) -> None:
    with opened(home) as kb:
        await ask(kb)
    others: tuple[Overrides, ...] = (
        {"cache": {"answers": False}},
        {"retrieval": {"top_k": 3}},
        {"citations": {"strict": True}},
        {"generation": {"temperature": 0.1}},
        {"context": {"max_tokens": 900}},
    )
    for sections in others:
        with opened(home, sections=sections) as kb:
            assert not (await ask(kb)).cached, sections
    with opened(home, sections={"serve": {"port": 1}, "budget": {"daily": 1.0}}) as kb:
        assert (await ask(kb)).cached


# --- never stale -----------------------------------------------------------------------------


def change(folder: Path, kb: KnowledgeBase) -> None:
    (folder / "ferry.md").write_text(LATER, encoding="utf-8")
    add(kb, [str(folder)], collection="town")


def more(folder: Path, kb: KnowledgeBase) -> None:
    (folder / "barge.md").write_text(BARGE, encoding="utf-8")
    add(kb, [str(folder)], collection="town")


def elsewhere(folder: Path, kb: KnowledgeBase) -> None:
    (folder / "barge.md").write_text(BARGE, encoding="utf-8")
    add(kb, [str(folder / "barge.md")], collection="river")


def retitle(folder: Path, kb: KnowledgeBase) -> None:
    text = f"---\ntitle: Boats\nauthor: Ana\n---\n{FERRY}"
    (folder / "ferry.md").write_text(text, encoding="utf-8")
    add(kb, [str(folder)], collection="town")


def rename(folder: Path, kb: KnowledgeBase) -> None:
    kb.catalogue.collection_settings.set_settings("town", {"name": "The town"})


def join(folder: Path, kb: KnowledgeBase) -> None:
    kb.catalogue.answer_cache.joined("town")


def owe(folder: Path, kb: KnowledgeBase) -> None:
    found = kb.catalogue.documents("town")[0]
    kb.catalogue.integrity.add_pending([(found.id, found.version)])


Change = Callable[[Path, KnowledgeBase], None]
CHANGES: list[Change] = [change, more, elsewhere, retitle, rename, join, owe]


@pytest.mark.parametrize("changed", CHANGES, ids=lambda one: str(one.__name__))
async def test_a_change_of_the_material_ends_what_was_kept(
    home: Path, folder: Path, changed: Change
) -> None:
    with opened(home) as kb:
        await ask(kb)
        assert (await ask(kb)).cached
        changed(folder, kb)
        given = await ask(kb)
        assert not given.cached
        assert ("3.1 million" in given.text) == (changed is change)


async def test_a_removed_document_is_not_answered_from(home: Path) -> None:
    with opened(home) as kb:
        first = await ask(kb)
        remove_documents(kb, [first.citations[0].document_id])
        assert kb.catalogue.integrity.row_counts()["cached_answers"] == 0
        assert (await ask(kb)).answered_by == "none"
        purge(kb)
        assert find_traces(kb, needles([FERRY])) == []
        assert verify(kb).clean


async def test_a_change_while_it_is_written_is_not_kept(home: Path, folder: Path) -> None:
    with opened(home) as kb:
        events = answer(kb, Question(text=ASKED))
        async for event in events:
            if isinstance(event, StepEvent) and event.step.name == "evidence":
                more(folder, kb)
        assert not (await ask(kb)).cached


async def test_a_stale_answer_is_not_given_again(home: Path) -> None:
    with opened(home) as kb:
        first = await ask(kb)
        assert verify(kb).clean
        kb.catalogue.forgetting.mark_stale([first.id])
        assert kb.catalogue.integrity.row_counts()["cached_answers"] == 0
        second = await ask(kb)
        make_stale_behind_the_back(kb, second.id)
        assert not (await ask(kb)).cached


def make_stale_behind_the_back(kb: KnowledgeBase, answer_id: str) -> None:
    with kb.catalogue._database.write() as connection:
        connection.exec_driver_sql("UPDATE answers SET stale = 1 WHERE id = ?", (answer_id,))


# --- what is kept ----------------------------------------------------------------------------


async def test_a_refusal_is_given_again_and_counted_again(home: Path, folder: Path) -> None:
    with opened(home) as kb:
        first = await ask(kb, UNKNOWN)
        again = await ask(kb, UNKNOWN)
        assert (first.answered_by, again.answered_by, again.cached) == ("none", "none", True)
        assert [(gap.question, gap.asked) for gap in kb.catalogue.gaps()] == [(UNKNOWN, 2)]
        more(folder, kb)
        assert not (await ask(kb, UNKNOWN)).cached


async def test_what_a_fallback_wrote_is_not_kept(home: Path) -> None:
    model = ScriptedModel([ModelError("on fire"), GOOD])
    with opened(home, model) as kb:
        assert (await ask(kb)).answered_by == "extractive"
        second = await ask(kb)
        assert (second.answered_by, second.cached) == ("scripted:model", False)
        assert (await ask(kb)).cached


async def test_a_follow_up_is_not_kept_but_may_be_given_what_is(home: Path) -> None:
    with opened(home) as kb:
        first = await ask(kb)
        turn = Question(text="", session_id=first.session_id)
        second = await ask(kb, "When was it bought?", like=turn)
        assert second.standalone
        assert not (await ask(kb, second.standalone)).cached
        third = await ask(kb, "When was it bought?", like=turn)
        assert (third.cached, third.question) == (True, "When was it bought?")
        assert third.session_id == first.session_id
        assert any(note.startswith("follow-up") for note in third.notes)


def test_two_that_keep_the_same_key_at_once_are_both_recorded(home: Path) -> None:
    with opened(home) as kb, opened(home) as other:
        first = asyncio.run(ask(kb, like=FRESH))
        second = asyncio.run(ask(other, like=FRESH))
        for one, given in ((kb, first), (other, second)):
            assert isinstance(one.catalogue.answer_cache, AnswerCache)
            one.catalogue.answer_cache.record(given, "ask_1")
        assert kb.catalogue.answer_cache.find("ask_1") == second
        assert {one.id for one in kb.catalogue.answers()} == {first.id, second.id}
