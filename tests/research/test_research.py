"""A whole run of research, without a model and with a scripted one: plan, rounds, report."""

from __future__ import annotations

import asyncio
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.event import listen
from sqlalchemy.event import remove as unlisten
from tests.doubles.research_run import Killed

from wellread.ask.retrieve import search as searching
from wellread.errors import RequestError, UnknownCollectionError, UnknownNameError
from wellread.ingest.remove import remove_named
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.research import rounds as round_module
from wellread.research.research import begin, plan_research, research
from wellread.research.run_state import RunState
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import Calling, ScriptedModel
from wellread.types import Filters
from wellread.values.answers import Question, VerdictName
from wellread.values.reports import (
    Facet,
    Limits,
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchEvent,
    ResearchPlan,
    ResearchRequest,
)

ASKED = "Tell me everything about the ferry Osprey"
TOWN = Filters(collections=("town",))


def request(text: str = ASKED, **limits: Any) -> ResearchRequest:
    return ResearchRequest(question=Question(text=text, filters=TOWN), limits=Limits(**limits))


def begun(kb: KnowledgeBase, asked: ResearchRequest, facets: tuple[Facet, ...]) -> str:
    """A run that has these facets."""
    plan = ResearchPlan(question=asked.question.text, facets=facets, searches=0, seconds=0.0)
    return asyncio.run(begin(kb, asked, plan))


def run(
    kb: KnowledgeBase,
    asked: ResearchRequest,
    run_id: str = "",
    facets: tuple[Facet, ...] = (),
) -> list[ResearchEvent]:
    run_id = begun(kb, asked, facets) if facets else run_id

    async def collected() -> list[ResearchEvent]:
        return [event async for event in research(kb, asked, run_id=run_id)]

    return asyncio.run(collected())


def report_of(events: list[ResearchEvent]) -> Report:
    last = events[-1]
    assert isinstance(last, ReportEvent)
    return last.report


def body_of(report: Report) -> dict[str, Any]:
    """What two runs of the same question have to share: everything but times."""
    answer = replace(report.answer, steps=(), id="")
    return {
        "text": answer.text,
        "answer": replace(answer, session_id=""),
        "sections": report.sections,
        "stopped": report.stopped,
        "documents": report.documents,
    }


@pytest.fixture(scope="module")
def report(town_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report on the usual question, to be looked at."""
    home = tmp_path_factory.mktemp("report") / "home"
    shutil.copytree(town_home, home)
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        return report_of(run(opened, request()))


# --- the report ----------------------------------------------------------------------------------


def test_the_plan_comes_first_and_the_report_last(kb: KnowledgeBase) -> None:
    first, *between, last = run(kb, request())
    assert isinstance(first, PlanEvent)
    assert isinstance(last, ReportEvent)
    assert all(isinstance(event, ProgressEvent) for event in between)
    stages = {event.stage for event in between if isinstance(event, ProgressEvent)}
    assert stages >= {"search", "write", "verify"}


def test_every_sentence_is_borne_out_and_cut_from_the_text_by_its_span(report: Report) -> None:
    answer = report.answer
    assert len(answer.sentences) >= 5
    for sentence in answer.sentences:
        assert sentence.span.of(answer.text) == sentence.text
        assert sentence.verdict.name == VerdictName.QUOTED
        assert sentence.citations
    assert {one.title for one in answer.citations} >= {"Ferry Osprey breaks down"}


def test_a_section_shows_places_with_what_answers_marked_and_none_twice(report: Report) -> None:
    told: list[str] = []
    for section in report.sections:
        inside = [one for one in report.answer.sentences if one.span.overlaps(section.span)]
        assert any(one.marked for one in inside) is section.found
        told += [one.text for one in inside if one.marked]
    assert len(told) > 2
    assert len({*told}) == len(told)


def test_one_bibliography_is_numbered_in_the_order_of_the_text(report: Report) -> None:
    answer = report.answer
    assert [one.id for one in answer.citations] == list(range(1, len(answer.citations) + 1))
    first = list(dict.fromkeys(number for one in answer.sentences for number in one.citations))
    assert first == sorted(first)
    spans = {(one.document_id, one.source_span) for one in answer.citations}
    assert len(spans) == len(answer.citations), "one place, one number"
    markers = {int(number) for number in re.findall(r"\[(\d+)\]", answer.text)}
    assert markers == {one.id for one in answer.citations}


def test_what_was_read_and_is_not_cited_is_named(report: Report) -> None:
    cited = {one.document_id for one in report.answer.citations}
    unused = [one for one in report.documents if not one.cited]
    assert {one.id for one in report.documents if one.cited} == cited
    assert unused
    assert {one.id for one in report.answer.related} <= {one.id for one in unused}


def test_a_side_that_nothing_is_about_is_not_found_and_filed_as_a_gap(kb: KnowledgeBase) -> None:
    report = report_of(run(kb, request("Compare the ferry Osprey and the zeppelin Borealis")))
    sections = {one.title: one for one in report.sections}
    assert sections["ferry Osprey"].found
    assert not sections["zeppelin Borealis"].found
    assert "Nothing was found." in sections["zeppelin Borealis"].span.of(report.answer.text)
    assert any("zeppelin Borealis" in gap for gap in report.answer.data_gaps)
    assert any("zeppelin Borealis" in gap.reason for gap in kb.catalogue.gaps())


def test_a_document_is_told_part_by_part_when_it_is_asked_about_as_a_whole(
    kb: KnowledgeBase,
) -> None:
    listed = kb.catalogue.listings.documents(TOWN, 50).documents
    (ferry,) = [one.facts for one in listed if one.facts.title == "The ferry Osprey"]
    asked = ResearchRequest(
        question=Question(
            text="Summarize the whole report.", filters=Filters(document_ids=(ferry.id,))
        )
    )
    report = report_of(run(kb, asked))
    assert {one.kind for one in report.plan.facets} == {"section"}
    assert all(one.found for one in report.sections)
    assert report.stopped == "complete"


def test_a_long_part_is_told_without_saying_a_sentence_twice(home: Path, tmp_path: Path) -> None:
    told = [f"The harbour crane {n} lifted the lantern boats of pier {n} again." for n in range(60)]
    path = tmp_path / "long.md"
    path.write_text(f"## Cranes\n\n{' '.join(told)}\n\n## Bread\n\nThe bakery sells rye bread.\n")
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(path)], collection="cranes")
        limits = Filters(collections=("cranes",))
        (one,) = kb.catalogue.listings.documents(limits, 5).documents
        limits = replace(limits, document_ids=(one.facts.id,))
        asked = Question(text="Summarize the whole report.", filters=limits)
        report = report_of(run(kb, ResearchRequest(question=asked)))
    section = next(part for part in report.sections if part.title == "Cranes")
    inside = [one.text for one in report.answer.sentences if one.span.overlaps(section.span)]
    assert 2 < len(inside) == len({*inside})


@pytest.mark.parametrize(
    "asked",
    [
        "What did Ana and Ben say about the boathouse roof?",
        "Compare what Ana and Ben say about the boathouse roof",
    ],
)
def test_two_speakers_get_a_section_each_with_their_own_words_alone(
    kb: KnowledgeBase, asked: str
) -> None:
    report = report_of(run(kb, request(asked)))
    kinds = {facet.title: facet.kind for facet in report.plan.facets}
    assert kinds["Ana"] == kinds["Ben"] == "speaker"
    sections = {one.title: one.span.of(report.answer.text) for one in report.sections}
    assert "repaired in March" in sections["Ben"]
    assert "repaired in March" not in sections["Ana"]
    assert sections["Ana"].count("**Ana:**") == 1


def test_nothing_beyond_the_collection_is_read(kb: KnowledgeBase) -> None:
    report = report_of(run(kb, request("Tell me everything about the secret ledger")))
    assert "bribes" not in report.answer.text
    assert all("Secret" not in one.title for one in report.documents)


# --- the plan ------------------------------------------------------------------------------------


def test_a_plan_is_made_without_writing_anything(kb: KnowledgeBase) -> None:
    plan = asyncio.run(plan_research(kb, request()))
    assert plan.facets[0].kind == "question"
    assert plan.searches >= 1
    assert plan.seconds > 0
    assert plan.documents > 1
    assert kb.catalogue.research.newest() == []
    assert kb.catalogue.answers() == []


def test_a_plan_that_was_shown_is_followed(kb: KnowledgeBase) -> None:
    roof = Facet(id="f1", kind="section", title="Roof", query="boathouse roof", filters=TOWN)
    report = report_of(run(kb, request(), facets=(roof,)))
    assert [one.title for one in report.plan.facets if one.kind == "section"] == ["Roof"]
    assert any(one.title == "Roof" and one.found for one in report.sections)


def test_an_unknown_collection_and_a_switched_off_home_are_refused(home: Path) -> None:
    off = {"qa": {"enabled": False}}
    switched_off = pytest.raises(RequestError, match="switched off")
    with open_kb(home, embedder=ReadableEmbedder(), overrides=off) as kb, switched_off:
        run(kb, request())
    elsewhere = replace(request().question, filters=Filters(collections=("nowhere",)))
    with open_kb(home, embedder=ReadableEmbedder()) as kb, pytest.raises(UnknownCollectionError):
        run(kb, ResearchRequest(question=elsewhere))


# --- why it stops --------------------------------------------------------------------------------


def test_it_is_complete_where_nothing_leads_on(kb: KnowledgeBase, monkeypatch: Any) -> None:
    monkeypatch.setattr(round_module, "titles_named", lambda *_: [])
    report = report_of(run(kb, request()))
    assert (report.stopped, report.warning, report.rounds) == ("complete", "", 1)


def test_a_title_that_the_evidence_names_is_searched_for_in_a_second_round(
    kb: KnowledgeBase, monkeypatch: Any
) -> None:
    monkeypatch.setattr(round_module, "titles_named", lambda *_: ["The shipyard Calder"])
    report = report_of(run(kb, request()))
    led = [facet for facet in report.plan.facets if facet.kind == "bridge"]
    assert [facet.title for facet in led] == ["The shipyard Calder"]
    assert {facet.round for facet in led} == {report.rounds} == {2}
    assert (report.stopped, report.warning) == ("complete", ""), "nothing was cut"


def test_it_stops_after_the_last_round(kb: KnowledgeBase, monkeypatch: Any) -> None:
    monkeypatch.setattr(round_module, "titles_named", lambda *_: ["The shipyard Calder"])
    report = report_of(run(kb, request(rounds=1)))
    assert report.stopped == "round_limit"
    assert "last round" in report.warning
    assert report.warning in report.answer.notes


@pytest.mark.parametrize("searches", [3, 5, 60])
def test_searches_for_what_leads_on_count_and_keep_to_the_limit(
    kb: KnowledgeBase, monkeypatch: Any, searches: int
) -> None:
    made: list[Filters] = []
    looked = searching.search

    def counted(kb: KnowledgeBase, text: str, filters: Filters, **more: Any) -> Any:
        made.append(filters)
        return looked(kb, text, filters, **more)

    monkeypatch.setattr(round_module, "search", counted)
    report = report_of(run(kb, request(searches=searches)))
    assert len(made) == report.searches <= searches
    assert all(one.collections == ("town",) for one in made)
    assert searches < 60 or report.searches > len(report.plan.facets), "titles are searched for"


def test_it_stops_when_its_time_is_used_up(kb: KnowledgeBase, monkeypatch: Any) -> None:
    monkeypatch.setattr(RunState, "seconds", property(lambda state: 3.0 * state.searches))
    several = tuple(
        Facet(id=f"f{n}", kind="section", title=f"t{n}", query=f"ferry {n}") for n in range(6)
    )
    report = report_of(run(kb, request(seconds=5.0), facets=several))
    assert (report.stopped, report.searches) == ("time_limit", 2)
    assert "time" in report.warning


# --- a durable job -------------------------------------------------------------------------------


def test_progress_and_report_can_be_read_again(kb: KnowledgeBase) -> None:
    events = run(kb, request())
    (kept,) = kb.catalogue.research.newest()
    assert kb.catalogue.research.progress(kept.id) == events[1:-1]
    assert kb.catalogue.research.report(kept.id) == report_of(events)
    assert kb.catalogue.research.steps(kept.id) == {}, "they are not needed any more"


def test_the_report_is_an_answer_like_any_other(kb: KnowledgeBase) -> None:
    report = report_of(run(kb, request()))
    assert kb.catalogue.answer(report.answer.id) == report.answer
    assert [one.question for one in kb.catalogue.answers()] == [ASKED], "the quick one is not kept"


@pytest.mark.parametrize("dies_after", range(3, 22, 5))
def test_a_run_that_died_ends_with_the_same_report(kb: KnowledgeBase, dies_after: int) -> None:
    """The process dies after so many statements that write."""
    whole = report_of(run(kb, request()))
    run_id = asyncio.run(begin(kb, request()))
    written = 0

    def dying(connection: object, cursor: object, statement: str, *_: object) -> None:
        nonlocal written
        if statement.startswith(("INSERT", "UPDATE", "DELETE", "COMMIT")):
            if written == dies_after:
                raise Killed
            written += 1

    engine = kb.catalogue._database.engine
    listen(engine, "before_cursor_execute", dying)
    with suppress(Killed, BaseExceptionGroup):
        run(kb, request(), run_id)
    unlisten(engine, "before_cursor_execute", dying)
    kept = kb.catalogue.research.get(run_id)
    assert kept is not None
    assert kept.state == "running", "it died in the middle"
    assert body_of(report_of(run(kb, request(), run_id))) == body_of(whole)
    told = [event.text for event in kb.catalogue.research.progress(run_id)]
    assert len(told) == len(set(told)) >= 3


@pytest.mark.parametrize("dies_after", range(0, 20, 3))
def test_a_run_that_dies_while_its_report_is_filed_files_its_gap_once(
    kb: KnowledgeBase, dies_after: int
) -> None:
    """The process dies after so many statements that write, wherever in filing that is."""
    asked = request("Compare the ferry Osprey and the zeppelin Borealis")
    run_id = asyncio.run(begin(kb, asked))
    written = 0

    def dying(connection: object, cursor: object, statement: str, *_: object) -> None:
        nonlocal written
        if not statement.startswith(("INSERT", "UPDATE", "DELETE", "COMMIT")):
            return
        if written == dies_after:
            raise Killed
        written += 1

    async def told() -> None:
        async for event in research(kb, asked, run_id=run_id):
            if isinstance(event, ProgressEvent) and event.stage == "verify":
                listen(engine, "before_cursor_execute", dying)

    engine = kb.catalogue._database.engine
    with suppress(Killed, BaseExceptionGroup):
        asyncio.run(told())
    unlisten(engine, "before_cursor_execute", dying)
    kept = kb.catalogue.research.get(run_id)
    assert kept is not None
    if kept.state == "running":
        run(kb, asked, run_id)
    (gap,) = [one for one in kb.catalogue.gaps() if "zeppelin Borealis" in one.reason]
    assert (gap.asked, gap.answer_id) == (1, kb.catalogue.answers()[0].id)
    assert len(kb.catalogue.answers()) == 1


def test_a_run_that_has_ended_or_is_not_there_is_not_taken_up(kb: KnowledgeBase) -> None:
    run(kb, request())
    (kept,) = kb.catalogue.research.newest()
    with pytest.raises(RequestError, match="has ended"):
        run(kb, request(), kept.id)
    with pytest.raises(UnknownNameError):
        run(kb, request(), "run_nowhere")


def test_a_run_goes_with_a_document_that_it_read(kb: KnowledgeBase) -> None:
    report = report_of(run(kb, request()))
    (kept,) = kb.catalogue.research.newest()
    unused = next(one for one in report.documents if not one.cited)
    remove_named(kb, "town", [unused.id])
    assert kb.catalogue.research.get(kept.id) is None
    assert kb.catalogue.research.progress(kept.id) == []
    answer = kb.catalogue.answer(report.answer.id)
    assert answer is not None
    assert unused.title not in answer.text


def test_a_removed_source_is_nowhere_in_the_report_that_cited_it(kb: KnowledgeBase) -> None:
    report = report_of(run(kb, request()))
    cited = next(one for one in report.answer.citations if one.title == "Ferry Osprey breaks down")
    quoted = [one for one in report.answer.citations if one.document_id == cited.document_id]
    removed = remove_named(kb, "town", [cited.document_id])
    assert not removed.traces
    answer = kb.catalogue.answer(report.answer.id)
    assert answer is not None
    for one in quoted:
        assert one.quote not in answer.text
    assert cited.title not in answer.text


# --- with a language model -----------------------------------------------------------------------


def facets() -> tuple[Facet, ...]:
    return (
        Facet(id="f1", kind="section", title="Price", query="ferry Osprey price"),
        Facet(id="f2", kind="section", title="Captain", query="captain of the Osprey"),
    )


def with_model(home: Path, *replies: Any, tools: bool = False, **limits: Any) -> Report:
    model = ScriptedModel(replies, takes_tools=tools)
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as kb:
        return report_of(run(kb, request(**limits), facets=facets()))


def test_sections_are_written_by_the_model_and_keep_what_is_borne_out(home: Path) -> None:
    report = with_model(
        home,
        "DONE",
        "The ferry Osprey was bought for 2.6 million euros in 2021. [e1] [e2] [e3] [e4] [e5] "
        "It was paid for by the king of Spain.",
        "NOT FOUND",
        "The ferry Osprey was bought for 2.6 million euros in 2021. [e1] [e2] [e3] [e4] [e5]",
    )
    text = report.answer.text
    assert report.answer.answered_by == "scripted:model"
    assert "2.6 million euros" in text
    assert "king of Spain" not in text
    assert report.answer.dropped_sentences >= 1
    sections = {one.title: one for one in report.sections}
    assert sections["Price"].found
    assert not sections["Captain"].found, "the model found nothing, and nothing takes its place"
    assert all(one.verdict.name.whole for one in report.answer.sentences)
    assert report.calls == 6, "two of them judge"


def test_a_model_that_looks_further_opens_a_facet(home: Path) -> None:
    looking = Calling(
        calls=(("search", '{"query": "shipyard Calder ferries", "facet": "Osprey ferry"}'),)
    )
    report = with_model(home, looking, "DONE", *["NOT FOUND"] * 4, tools=True)
    assert report.rounds >= 2
    assert report.searches == 3


def test_money_is_checked_before_every_call(home: Path) -> None:
    report = with_model(home, dollars=0.0)
    assert report.stopped == "budget"
    assert report.calls == 0
    assert report.answer.answered_by == "extractive"
