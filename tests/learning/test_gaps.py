"""Gaps: how they are filed, put together, closed by new material, and forgotten."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from tests.store.made import change

from wellread.ask.answer import answer, final
from wellread.ask.deliver.reply import gap_kind
from wellread.errors import StoreError
from wellread.ingest.remove import remove_named
from wellread.kb import KnowledgeBase, open_kb
from wellread.learning import asking_again
from wellread.learning.asking_again import (
    RetriedQuestion,
    RetryReport,
    ask_again,
    ask_these,
    why_open,
)
from wellread.learning.gap_clusters import clusters_of, find_cluster, suggest_entry
from wellread.learning.question_patterns import question_patterns
from wellread.store.schema.stored_values import Gap
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Answer, Conflict, Question, VerdictName

FERRY = """# The ferry

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.
"""
SEAGRASS = """---
id: seagrass
type: habitat
title: Seagrass meadow
sectors: [nature]
scales: [local]
---
Seagrass meadows store carbon. Volunteers plant seagrass in the bay.
"""
LIGHTHOUSE = """# The lighthouse

The lighthouse keeper is Ilse Marrane. The lighthouse was built in 1874 by Jon Tarn.
"""
KEEPER = "Who is the lighthouse keeper?"
BUILT = "When was the lighthouse built?"
FLUTE = "Which composer wrote the Magic Flute?"


@pytest.fixture
def material(tmp_path: Path) -> Path:
    folder = tmp_path / "material"
    folder.mkdir()
    (folder / "ferry.md").write_text(FERRY, encoding="utf-8")
    (folder / "seagrass.md").write_text(SEAGRASS, encoding="utf-8")
    return folder


@pytest.fixture
def kb(tmp_path: Path, material: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        asking_again.add(opened, [str(material)], collection="town")
        yield opened


async def ask(kb: KnowledgeBase, text: str, **how: Any) -> Answer:
    return await final(answer(kb, Question(text=text, **how)))


def more(kb: KnowledgeBase, material: Path, text: str = LIGHTHOUSE) -> list[RetryReport]:
    """Add a document, as every face does; what was told of questions asked again."""
    told: list[RetryReport] = []
    (material / "more.md").write_text(text, encoding="utf-8")
    asking_again.add(kb, [str(material)], collection="town", on_reasked=told.append)
    return told


# --- filing --------------------------------------------------------------------------------------


async def test_a_declined_question_is_filed_with_all_that_asking_it_again_needs(
    kb: KnowledgeBase,
) -> None:
    filters = Filters(collections=("town",), kinds=("page",))
    given = await ask(kb, KEEPER, filters=filters, owner="ann")
    (gap,) = kb.catalogue.gaps()
    assert (gap.question, gap.status, gap.owner, gap.answer_id) == (KEEPER, "open", "ann", given.id)
    assert gap.kind in ("unanswered", "declined")
    assert asking_again.filters_of(gap) == filters


async def test_what_is_not_recorded_files_nothing(kb: KnowledgeBase) -> None:
    await ask(kb, KEEPER, recorded=False)
    await ask(kb, "Thank you!")
    await ask(kb, "How much was paid for the ferry Osprey?")
    assert kb.catalogue.gaps() == []


async def test_the_same_question_is_one_gap_asked_so_many_times(kb: KnowledgeBase) -> None:
    for text in (KEEPER, "who is the lighthouse keeper", KEEPER):
        await ask(kb, text)
    await ask(kb, KEEPER, owner="ben")
    await ask(kb, KEEPER, filters=Filters(collections=("town",)))
    gaps = kb.catalogue.gaps()
    assert sorted((gap.asked, gap.owner, gap.scope) for gap in gaps) == [
        (1, "", ("town",)),
        (1, "ben", ()),
        (3, "", ()),
    ]


async def test_each_way_of_not_answering_has_its_kind(kb: KnowledgeBase) -> None:
    given = await ask(kb, "How much was paid for the ferry Osprey?")
    assert gap_kind(given) is None
    low = replace(given, confidence=replace(given.confidence, band="low"))
    assert gap_kind(low) == "hedged"
    declined = replace(given, answered_by="none", data_gaps=("x",))
    assert gap_kind(declined) == "declined"
    assert gap_kind(replace(declined, citations=(), related=())) == "unanswered"
    assert gap_kind(replace(declined, data_gaps=())) is None
    assert gap_kind(replace(given, answered_by="catalogue", data_gaps=("x",))) == "unanswered"


# --- asked again ---------------------------------------------------------------------------------


async def test_a_gap_closes_by_itself_when_its_answer_arrives(
    kb: KnowledgeBase, material: Path
) -> None:
    await ask(kb, BUILT, owner="ann")
    await ask(kb, FLUTE, owner="ann")
    (told,) = more(kb, material)
    assert [one.gap.question for one in told.closed] == [BUILT]
    flute, built = kb.catalogue.gaps()
    assert (flute.status, built.status) == ("open", "closed")
    assert (flute.tried, flute.tried_at) == ("", None)  # nothing new is about it: not asked
    closing = kb.catalogue.answer(built.closed_by)
    assert closing is not None
    assert "1874" in closing.text
    assert closing.owner == "ann"
    assert closing.session_id == ""
    assert kb.catalogue.sessions.of("ann", limit=10)[0].turns == 1  # no conversation for it
    (job,) = [job for job in kb.catalogue.jobs.newest() if job.action == "re-ask"]
    assert (job.state, job.done, job.total) == ("done", 1, 1)


async def test_what_is_near_and_no_answer_leaves_it_open_and_says_why(
    kb: KnowledgeBase, material: Path
) -> None:
    await ask(kb, "How much did the lighthouse cost?")
    (told,) = more(kb, material)
    assert told.closed == ()
    (gap,) = kb.catalogue.gaps()
    assert gap.status == "open"
    assert gap.tried
    assert gap.tried_at
    assert gap.asked == 1  # nobody asked it once more
    assert ask_again(kb).tried == ()  # the same documents are not tried twice


async def test_old_material_closes_nothing(kb: KnowledgeBase, material: Path) -> None:
    """A gap that older material answers now (another ranking, another model) stays a gap."""
    kb.catalogue.record_gap("How much was paid for the ferry Osprey?", "badly rated")
    more(kb, material)
    done = ask_these(kb, [1])
    assert done.closed == ()
    assert "no document added or changed" in kb.catalogue.gaps()[0].tried


async def test_a_killed_run_goes_on_next_time(
    kb: KnowledgeBase, material: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask(kb, KEEPER)
    await ask(kb, BUILT)
    whole = asking_again._retry
    asked: list[str] = []

    def dies(kb: KnowledgeBase, gap: Gap, portal: BlockingPortal) -> RetriedQuestion:
        if asked:
            raise KeyboardInterrupt
        asked.append("one")
        return whole(kb, gap, portal)

    with monkeypatch.context() as patched:
        patched.setattr(asking_again, "_retry", dies)
        with pytest.raises(KeyboardInterrupt):
            more(kb, material)
    assert sorted(gap.status for gap in kb.catalogue.gaps()) == ["closed", "open"]
    assert len(ask_again(kb).closed) == 1
    assert {gap.status for gap in kb.catalogue.gaps()} == {"closed"}


async def test_a_limit_leaves_the_rest_visibly_for_the_next_time(
    kb: KnowledgeBase, material: Path
) -> None:
    await ask(kb, KEEPER)
    await ask(kb, BUILT)
    settings = kb.settings
    gaps = settings.gaps.model_copy(update={"most": 1})
    kb.settings = settings.model_copy(update={"gaps": gaps})
    (told,) = more(kb, material)
    assert (len(told.tried), told.waiting) == (1, 1)
    done = ask_again(kb)
    assert (len(done.tried), done.waiting) == (1, 0)
    assert ask_again(kb).tried == ()


async def test_a_failure_is_told_and_the_material_is_in(
    kb: KnowledgeBase,
    material: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await ask(kb, BUILT)

    def fails(*_: object, **__: object) -> object:
        raise StoreError("the disk is on fire")

    monkeypatch.setattr(asking_again, "screen_gaps", fails)
    with caplog.at_level(logging.WARNING):
        assert more(kb, material) == []
    assert "the disk is on fire" in caplog.text
    monkeypatch.undo()
    assert len(ask_again(kb).closed) == 1


async def test_a_gap_opens_again_when_what_closed_it_goes(
    kb: KnowledgeBase, material: Path
) -> None:
    await ask(kb, BUILT)
    more(kb, material)
    remove_named(kb, "town", [str(material / "more.md")])
    ask_again(kb)
    (gap,) = kb.catalogue.gaps()
    assert (gap.status, gap.closed_by) == ("open", "")
    more(kb, material, LIGHTHOUSE + "\nIt is white.\n")
    assert kb.catalogue.gaps()[0].status == "closed"


# --- clusters and suggestions --------------------------------------------------------------------


async def test_gaps_about_the_same_thing_are_put_together(kb: KnowledgeBase) -> None:
    paid = "Who pays the lighthouse keeper?"
    for text in (KEEPER, FLUTE, paid, "Does the lighthouse keeper snore?", KEEPER):
        await ask(kb, text)
    found = [[gap.question for gap in one.gaps] for one in clusters_of(kb)]
    assert found == [[KEEPER, paid, "Does the lighthouse keeper snore?"], [FLUTE]]
    first = clusters_of(kb)[0]
    assert (first.id, first.asked, first.status) == ("c1", 4, "open")
    assert first.name == "Lighthouse keeper"
    kb.catalogue.gap_ledger.set_status([1], "closed")
    kept = find_cluster(kb, "3")
    assert (kept.id, kept.status) == ("c1", "open")


async def test_an_entry_is_titled_by_its_subject_and_filled_in_only_from_near_material(
    kb: KnowledgeBase,
) -> None:
    for text, title in {
        "How far away is the Andromeda galaxy?": "Andromeda galaxy",
        "Do we have anything about participatory budgeting?": "Participatory budgeting",
        "What is the capital of France?": "Capital of France",
        "How do we handle conflicts in communities?": "Handle conflicts in communities",
    }.items():
        kb.catalogue.record_gap(text, "nothing about it")
        gap = max(kb.catalogue.gaps(), key=lambda one: one.id)
        made = suggest_entry(kb, find_cluster(kb, str(gap.id)))
        assert made.title == title
        assert (made.type, dict(made.taxonomy), made.near) == ("", {}, ())


async def test_prompts_of_programs_and_courtesies_file_nothing(kb: KnowledgeBase) -> None:
    for text in (
        "Hello!",
        "Thanks a lot",
        "### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Chat History:\nUSER: ?",
        "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history.",
    ):
        await ask(kb, text)
    assert kb.catalogue.gaps() == []


async def test_a_suggested_entry_is_accepted_and_closes_nothing_by_itself(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    await ask(kb, "Who protects the eelgrass seagrass meadow: a --- warden?")
    made = suggest_entry(kb, find_cluster(kb, "c1"))
    assert (made.type, made.collection) == ("habitat", "town")
    assert dict(made.taxonomy) == {"scales": ("local",), "sectors": ("nature",)}
    path = tmp_path / made.file_name
    path.write_text(made.markdown, encoding="utf-8")
    report = asking_again.add(kb, [str(path)], collection=made.collection)
    assert report.counts()["added"] == 1
    assert report.counts()["failed"] == 0
    node = kb.catalogue.graph.entity("town", made.id)
    assert node is not None
    assert (node.title, node.type) == (made.title, "habitat")
    assert kb.catalogue.gaps()[0].status == "open"


# --- patterns ------------------------------------------------------------------------------------


async def test_patterns_count_what_people_asked(kb: KnowledgeBase, material: Path) -> None:
    for text in (BUILT, "when was the lighthouse built", "What do seagrass meadows store?"):
        await ask(kb, text)
    more(kb, material)  # the answer that closes the gap is nobody's question
    found = question_patterns(kb, "")
    assert (found.asked, found.unanswered) == (3, 2)
    assert [(one.asked, one.unanswered) for one in found.often] == [(2, 2)]
    assert {one.name for one in found.topics} == {"town"}
    assert "sectors: nature" in {one.name for one in found.taxonomy}
    assert ("lighthouse", 2) in {(one.name, one.asked) for one in found.terms}


# --- forgetting ----------------------------------------------------------------------------------


@pytest.mark.sqlite_only
async def test_removing_a_session_takes_its_gap_and_the_new_answer(
    kb: KnowledgeBase, material: Path, tmp_path: Path
) -> None:
    given = await ask(kb, "When was the lighthouse Zarnikau built?", owner="ann")
    clusters_of(kb)
    more(kb, material, LIGHTHOUSE.replace("The lighthouse was", "The lighthouse Zarnikau was"))
    assert kb.catalogue.gaps()[0].status == "closed"
    remove_named(kb, "town", [str(material / "more.md")])
    kb.catalogue.sessions.remove(given.session_id, "ann")
    assert (kb.catalogue.gaps(), kb.catalogue.answers()) == ([], [])
    kb.catalogue.forgetting.rewrite()
    assert b"Zarnikau" not in (tmp_path / "home" / "catalogue.db").read_bytes()


async def test_removed_words_go_from_gaps_with_the_vectors_made_of_them(kb: KnowledgeBase) -> None:
    secret = "the old smugglers tunnel below the bakery leads to the harbour"
    kb.catalogue.record_gap(f"Is it so that {secret}?", f"nothing found about “{secret}”")
    clusters_of(kb)
    assert kb.catalogue.gap_ledger.vectors(kb.embedder.identity)
    kb.catalogue.gap_ledger.tried(1, f"still missing: {secret}", kb.catalogue.gaps()[0].created_at)
    kb.catalogue.commit([change("secret", secret)])
    kb.catalogue.remove_sources("main", ["secret"])
    (gap,) = kb.catalogue.gaps()
    told = (gap.question, gap.reason, gap.tried)
    assert all("smugglers" not in text and "█" in text for text in told)
    assert kb.catalogue.gap_ledger.vectors(kb.embedder.identity) == {}


async def test_only_a_sure_answer_closes_a_gap(kb: KnowledgeBase, material: Path) -> None:
    await ask(kb, BUILT)
    (gap,) = kb.catalogue.gaps()
    more(kb, material)
    sure = await ask(kb, BUILT, recorded=False)
    assert why_open(kb, gap, sure) == ""
    sentence = sure.sentences[0]
    partial = replace(sentence, verdict=replace(sentence.verdict, name=VerdictName.PARTIAL))
    doubts = {
        "too low": replace(sure, confidence=replace(sure.confidence, band="low")),
        "still no answer": replace(sure, answered_by="none"),
        "still missing": replace(sure, data_gaps=("nothing found about “x”",)),
        "filter": replace(sure, relaxed=("2020",)),
        "disagree": replace(sure, conflicts=(Conflict(about="it"),)),
        "do not mention 5490": replace(sure, question="When was lighthouse #5490 built?"),
        "a step failed": replace(sure, failures=("the reader is away",)),
        "partly supported": replace(sure, sentences=(partial,)),
        "first sentence of the answer": replace(sure, sentences=(replace(sentence, citations=()),)),
        "no document added": replace(sure, citations=()),
    }
    for why, given in doubts.items():
        assert why in why_open(kb, gap, given), why
    told = replace(sure, question="When was the lighthouse of 1874 built in 2026?")
    assert why_open(kb, gap, told) == ""
