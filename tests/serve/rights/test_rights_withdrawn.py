"""Rights that are taken away act at once: on what is kept, on what is on its way, on what is done
for somebody who is not there.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from tests.serve.rights.conftest import (
    CANARIES,
    FOREIGN,
    OWN,
    RIVAL,
    STRANGER,
    As,
    client_of,
    foreign_names,
    served_at,
)
from tests.serve.rights.kept_on_a_cluster import opened

from wellread.ask.answer import answer, final
from wellread.errors import RequestError, StoreError, UnknownNameError
from wellread.identity import EVERYTHING, LOCAL, Asker
from wellread.kb import KnowledgeBase
from wellread.kb import seen_by as views
from wellread.kb.seen_by import view_for, with_current_rights
from wellread.learning import asking_again
from wellread.learning.asking_again import screen_gaps
from wellread.learning.feedback_giving import give_feedback
from wellread.research.research import begin, default_limits, research
from wellread.store.rights import RULES
from wellread.store.schema import tables
from wellread.types import Filters
from wellread.values.answers import Answer, Event, Question
from wellread.values.reports import ResearchRequest

LEFT = Asker(owner=RIVAL.owner, reads=frozenset({OWN}))
SOLD = "For how much was the ferry Osprey sold in quixomel?"


@pytest.fixture
def kb(rights_homes: tuple[Path, Path], tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A copy of the home with the foreign collection."""
    shutil.copytree(rights_homes[0], tmp_path / "home")
    with opened(tmp_path / "home") as copy:
        yield copy


async def asked(kb: KnowledgeBase, question: str, **more: Any) -> Answer:
    return await final(answer(kb, Question(text=question, **more)))


def test_every_table_has_a_rule() -> None:
    assert set(tables.metadata.tables) <= set(RULES)


def test_no_query_of_a_restricted_asker_reads_or_writes_past_the_views(kb: KnowledgeBase) -> None:
    mine = view_for(kb, STRANGER).catalogue
    with mine._database.read() as connection:
        for table in tables.metadata.tables:
            rows = connection.execute(text(f"SELECT * FROM {table}")).all()
            assert not [word for word in CANARIES if word in str(rows).lower()], table
    refused = r"cannot modify|cannot execute DELETE in a read-only"
    told = pytest.raises((OperationalError, StoreError), match=refused)
    with told, mine._database.read() as connection:
        connection.execute(text("DELETE FROM documents"))
    with pytest.raises(AttributeError):
        mine._database.engine  # noqa: B018 - there is none


def test_askers_take_turns_on_the_same_connections(kb: KnowledgeBase) -> None:
    wide, narrow, none = (
        view_for(kb, Asker(owner="a", reads=reads))
        for reads in (RIVAL.reads, LEFT.reads, frozenset[str]())
    )
    for _ in range(2):
        assert wide.catalogue.collection_names() == [OWN, FOREIGN]
        assert narrow.catalogue.collection_names() == [OWN]
        assert none.catalogue.collection_names() == []
    assert none.index.search_text("ferry", Filters(), 10) == []
    assert none.index.rows() == 0
    assert narrow.index.rows() < wide.index.rows() == kb.index.rows()


def test_a_view_is_the_same_as_long_as_it_is_used_and_shares_only_what_may_be(
    kb: KnowledgeBase,
) -> None:
    one, other = view_for(kb, LEFT), view_for(kb, Asker(owner="other", reads=LEFT.reads))
    assert view_for(kb, LOCAL) is kb
    assert view_for(one, LEFT) is one
    assert one.cache_key is other.cache_key is not view_for(kb, RIVAL).cache_key
    assert one.live().index is not kb.live().index
    assert one.embedder is kb.embedder


def test_the_material_is_not_changed_in_the_name_of_a_reader(kb: KnowledgeBase) -> None:
    mine = view_for(kb, LEFT)
    with pytest.raises(RequestError):
        mine.catalogue.remove_documents(["doc_1"])
    with pytest.raises(RequestError):
        mine.catalogue.collection_settings.set_settings(OWN, {})
    with pytest.raises(StoreError):
        mine.index.purge()


async def test_a_kept_answer_is_gone_with_the_rights_and_back_with_them(kb: KnowledgeBase) -> None:
    names = foreign_names(kb)
    before, after = view_for(kb, RIVAL).catalogue, view_for(kb, LEFT).catalogue
    assert before.sessions.answer(names["answer"], RIVAL.owner) is not None
    assert after.sessions.answer(names["answer"], RIVAL.owner) is None
    assert before.research.get(names["run"], RIVAL.owner) is not None
    assert after.research.get(names["run"], RIVAL.owner) is None
    assert [gap for gap in after.gaps() if "yobbleton" in gap.question] == []
    assert before.gaps() != []
    assert view_for(kb, RIVAL).catalogue.sessions.answer(names["answer"], RIVAL.owner) is not None


async def test_an_answer_is_gone_with_all_that_it_could_be_drawn_from(kb: KnowledgeBase) -> None:
    before, after = view_for(kb, RIVAL), view_for(kb, LEFT)
    question = "When does the ferry leave on Sundays?"
    wide = await asked(before, question)
    narrow = await asked(before, question, filters=Filters(collections=(OWN,)))
    with kb.catalogue._database.write() as connection:  # it cites nothing, as a count may
        connection.execute(text("DELETE FROM answer_citations"))
    kept = [one.id for one in after.catalogue.sessions.answers(RIVAL.owner)]
    assert kept == [narrow.id]
    assert wide.id in [one.id for one in before.catalogue.sessions.answers(RIVAL.owner)]


async def test_what_another_asked_is_not_given_to_who_may_read_the_same(kb: KnowledgeBase) -> None:
    other = view_for(kb, Asker(owner="other", reads=RIVAL.reads))
    given = await asked(other, SOLD)
    assert not given.cached
    assert given.owner == "other"
    names = foreign_names(kb)
    assert other.catalogue.answer(names["answer"]) is None
    assert other.catalogue.sessions.of("other") != []
    assert await asked(other, "And?", session_id=names["session"]) is not None
    theirs = view_for(kb, RIVAL).catalogue.sessions.turns(names["session"], RIVAL.owner, 10)
    assert "And?" not in [one.question for one in theirs]


async def test_what_was_flagged_as_harmful_is_given_to_nobody(kb: KnowledgeBase) -> None:
    given = await asked(kb, "When does the ferry leave on Sundays?")
    flag = {"sentences": [{"sentence": 0, "harmful": True}]}
    give_feedback(kb, given.id, flag, author="")
    mine = await asked(view_for(kb, STRANGER), "When does the ferry leave on Sundays?")
    assert given.sentences[0].text not in mine.text
    theirs = view_for(kb, STRANGER).catalogue.feedback.harmful_by().values()
    assert any("" in one.values() for one in theirs)


async def test_nobody_asks_in_the_name_of_another(kb: KnowledgeBase) -> None:
    given = await asked(view_for(kb, LEFT), "When does the ferry leave?", owner="somebody")
    assert given.owner == LEFT.owner


def let_in(monkeypatch: pytest.MonkeyPatch, rights: Callable[[Asker], Asker]) -> None:
    """Say what an asker may read by now, in place of the accounts."""
    monkeypatch.setattr(views, "_by_accounts", lambda _whole, asker: rights(asker))


async def test_an_answer_on_its_way_ends_with_the_rights(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    rights = {RIVAL.owner: RIVAL.reads}
    let_in(monkeypatch, lambda asker: Asker(owner=asker.owner, reads=rights[asker.owner]))
    events = answer(view_for(kb, RIVAL), Question(text=SOLD, fresh=True))
    await anext(events)
    rights[RIVAL.owner] = LEFT.reads
    with pytest.raises(UnknownNameError):
        async for _ in events:
            pass


async def test_research_on_its_way_ends_with_the_rights(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    rights = {RIVAL.owner: RIVAL.reads}
    let_in(monkeypatch, lambda asker: Asker(owner=asker.owner, reads=rights[asker.owner]))
    view = view_for(kb, RIVAL)
    question = Question(text="Compare the ferry and quixomel", mode="deep")
    request = ResearchRequest(question=question, limits=default_limits(kb))
    run_id = await begin(view, request)
    events = research(view, request, run_id=run_id)
    await anext(events)
    rights[RIVAL.owner] = LEFT.reads
    with pytest.raises(UnknownNameError):
        async for _ in events:
            pass
    run = view.catalogue.research.get(run_id, RIVAL.owner)
    assert run is not None
    assert run.state == "failed"
    assert view_for(kb, LEFT).catalogue.research.get(run_id, RIVAL.owner) is None


async def test_an_open_page_ends_with_the_rights(rights_homes: tuple[Path, Path]) -> None:
    async with served_at(rights_homes[1]) as place:
        served = As(place.app, RIVAL)
        async with client_of(served) as client:
            reply = await client.get("/", params={"q": "When does the ferry leave?"})
            path = reply.headers["location"].partition("?")[0]
            assert (await client.get(f"{path}/events")).status_code == 200
            served.asker = LEFT
            assert (await client.get(f"{path}/events")).status_code == 404
            # Beside it stands the asker's own question, as the title of the conversation.
            shown = (await client.get(path)).text.partition("<main")[2]
            assert "Interrupted" in shown
            assert "ferry" not in shown
            served.asker = Asker(owner="other", reads=RIVAL.reads)
            assert (await client.get(f"{path}/events")).status_code == 404


async def test_an_editor_removes_what_is_theirs_and_is_told_of_nothing_else(
    rights_homes: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(rights_homes[0], tmp_path / "home")
    async with served_at(tmp_path / "home") as place:
        names = foreign_names(place.kb)
        given = {"collection": OWN, "source": names["document"]}
        assert (await place.client.post("/library/remove", data=given)).status_code == 404
        [osprey] = [one.id for one in place.kb.catalogue.documents(OWN) if one.title == "Osprey"]
        given = {"collection": OWN, "source": osprey}
        reply = await place.client.post("/library/remove", data=given)
        assert reply.status_code == 200, reply.text
        assert "stored answer" not in reply.text
        assert "are said by other documents" not in reply.text
        assert "Rows removed" not in reply.text
        assert foreign_names(place.kb) == names


def test_a_gap_is_asked_again_with_what_its_owner_may_read(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_in(monkeypatch, lambda asker: Asker(owner=asker.owner, reads=LEFT.reads))
    askers = []

    def asking(opened: KnowledgeBase, question: Question) -> AsyncIterator[Event]:
        askers.append(opened.asker)
        return answer(opened, question)

    monkeypatch.setattr(asking_again, "answer", asking)
    gap_id = kb.catalogue.record_gap("What is quixomel?", "nothing", owner=RIVAL.owner)
    done = asking_again.ask_these(kb, [gap_id])
    assert askers == [LEFT]
    assert done.closed == ()


def test_what_arrives_for_others_asks_no_question_again(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_in(monkeypatch, lambda asker: Asker(owner=asker.owner, reads=STRANGER.reads))
    there = datetime(2100, 1, 1, tzinfo=UTC)
    arrived = {one.id: there for one in kb.catalogue.documents(FOREIGN)}
    for owner, found in ((STRANGER.owner, 0), ("", 1)):
        gap_id = kb.catalogue.record_gap("Vandrokh quixomel midnight?", "none", owner=owner)
        gaps = kb.catalogue.gap_ledger.of([gap_id])
        assert len(screen_gaps(kb, gaps, arrived, 5)[0]) == found


def test_who_is_no_user_any_more_reads_nothing(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_in(monkeypatch, lambda asker: Asker(owner=asker.owner, reads=frozenset()))
    assert with_current_rights(kb, "gone").catalogue.collection_names() == []
    assert with_current_rights(kb, "") is kb


def test_who_may_read_everything_has_the_library_and_their_own_conversations(
    kb: KnowledgeBase,
) -> None:
    admin = view_for(kb, Asker(owner="admin", reads=EVERYTHING))
    assert admin.catalogue is kb.catalogue
    assert admin.asker.owner == "admin"
