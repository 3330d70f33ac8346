"""The way in from Python: ``from wellread import Wellread``."""

from __future__ import annotations

import asyncio
import doctest
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from inspect import getdoc, signature
from pathlib import Path

import pytest

import wellread
from wellread import Filters, Wellread, WellreadError
from wellread.errors import RequestError, SourceError, UnknownCollectionError
from wellread.learning.feedback_giving import FeedbackInput
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import FinalEvent, Question
from wellread.values.reports import Limits, PlanEvent, ReportEvent

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PRINTED = {
    "add_and_ask": "holds forty loaves|2,300 euros|Meeting, 00:41 · Piet|does not say",
    "ask_async": "built in 1874|one euro|step: retrieval|quoted: The savings|01:15 · Marta",
    "search_and_upkeep": "00:41 · Piet|1 updated, 1 unchanged|traces left: 0|agree|refused: there",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "ferry.md").write_text("# The ferry\n\nThe ferry Osprey carries ninety passengers.\n")
    (folder / "mill.md").write_text("# The mill\n\nThe mill was sold to the weavers in 1911.\n")
    return folder


@pytest.fixture
def wr(tmp_path: Path) -> Iterator[Wellread]:
    with Wellread(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        yield opened


def test_added_material_is_asked_and_searched(wr: Wellread, notes: Path) -> None:
    assert wr.add(notes).counts()["added"] == 2
    answer = wr.ask("How many passengers does the ferry Osprey carry?")
    assert "ninety" in answer.text
    assert answer.citations[0].quote in (notes / "ferry.md").read_text()
    assert [result.hit.document.title for result in wr.search("mill weavers", limit=1)] == [
        "The mill"
    ]


async def test_async_code_gets_the_same_answer_and_its_events(wr: Wellread, notes: Path) -> None:
    wr.add(notes)
    question = "How many passengers does the ferry Osprey carry?"
    events = [event async for event in wr.stream(question)]
    assert isinstance(events[-1], FinalEvent)
    assert (await wr.ask_async(question)).text == events[-1].answer.text
    assert wr.ask(question).text == events[-1].answer.text  # as in a notebook


def test_how_a_question_is_asked_is_passed_on(wr: Wellread, notes: Path) -> None:
    wr.add(notes / "ferry.md", collection="boats")
    wr.add(notes / "mill.md", collection="land")
    question = "How many passengers does the ferry Osprey carry?"
    land = Filters(collections=("land",))
    assert wr.ask(question, filters=land).answered_by == "none"
    assert wr.ask(question, collection="land").answered_by == "none"
    assert "ninety" in wr.ask(question, collection="boats", filters=Filters(kinds=("page",))).text
    assert wr.search("ferry", collection="land", mode="text") == ()
    with pytest.raises(RequestError, match="both given"):
        wr.ask(question, collection="boats", filters=land)
    first = wr.ask(question)
    assert wr.ask("And who owns it?", session_id=first.session_id).session_id == first.session_id
    assert (wr.ask(question).cached, wr.ask(question, fresh=True).cached) == (True, False)
    with pytest.raises(UnknownCollectionError):
        wr.ask(question, filters=Filters(collections=("sea",)))


async def test_a_question_is_researched_and_told_of_on_the_way(wr: Wellread, notes: Path) -> None:
    wr.add(notes)
    question = "Compare the ferry Osprey and the mill"
    events = [event async for event in wr.research_stream(question)]
    assert isinstance(events[0], PlanEvent)
    assert isinstance(events[-1], ReportEvent)
    assert "## Summary" in wr.research(question).answer.text  # as in a notebook
    stream = wr.research_stream(question, limits=Limits(rounds=1, searches=1))
    report = [event async for event in stream][-1]
    assert isinstance(report, ReportEvent)
    assert report.report.searches == 1


def test_what_is_removed_is_found_no_more(wr: Wellread, notes: Path) -> None:
    wr.add(notes)
    gone = wr.remove(notes / "mill.md")
    assert (gone.documents, gone.traces) == (1, ())
    assert all(result.hit.document.title == "The ferry" for result in wr.search("mill weavers"))
    with pytest.raises(SourceError):
        wr.remove("nowhere.md")
    assert wr.verify().clean


def test_settings_stand_above_those_of_the_home(tmp_path: Path, notes: Path) -> None:
    asked = {"qa": {"enabled": False}}
    with Wellread(tmp_path / "home", settings=asked, embedder=ReadableEmbedder()) as wr:
        wr.add(notes)
        with pytest.raises(WellreadError, match="switched off"):
            wr.ask("How many passengers?")


def test_importing_the_package_loads_nothing_heavy() -> None:
    """And every public name is there when it is asked for."""
    code = (
        "import sys, wellread; heavy = {'lancedb', 'onnxruntime', 'numpy', 'pydantic', 'sqlalchemy'"
        "} & sys.modules.keys(); assert not heavy, heavy; print(*(getattr(wellread, name).__name__"
        " for name in wellread.__all__))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == wellread.__all__
    assert set(wellread.__all__) <= set(dir(wellread))
    with pytest.raises(AttributeError):
        _ = wellread.nothing_of_that_name


METHODS = {
    name: method
    for name, method in vars(Wellread).items()
    if not name.startswith("_") and name not in ("kb", "close")
}
PUBLIC = """add sync ask ask_async stream research research_stream search similar_questions feedback
    documents collections conversation stats remove verify"""


UNASKED = {"text", "recorded", "models", "history"}  # for other faces; the text is the question


def test_every_public_method_says_what_it_takes_gives_and_raises() -> None:
    assert set(METHODS) == set(PUBLIC.split())
    for name, method in METHODS.items():
        documented, taken = getdoc(method) or "", list(signature(method).parameters)[1:]
        same = re.search(r"Takes the arguments of ``(\w+)``", documented)
        if same:
            assert signature(method).parameters == signature(METHODS[same[1]]).parameters, name
            continue
        assert "Returns:\n" in documented, name
        for given in taken:
            assert re.search(rf"^    {given} \(.+\): ", documented, re.MULTILINE), (name, given)
        assert not taken or "Raises:\n" in documented, name


@pytest.mark.parametrize(
    ("name", "expected", "beside"),
    [
        ("ask", {field.name for field in fields(Question)} - UNASKED, {"question", "collection"}),
        ("research", {"filters", "limits", "session_id", "owner"}, {"question", "collection"}),
        ("feedback", set(FeedbackInput.model_fields), {"answer_id", "owner"}),
    ],
)
def test_the_arguments_are_the_fields_of_the_value(
    name: str, expected: set[str], beside: set[str]
) -> None:
    parameters = signature(METHODS[name]).parameters
    assert set(parameters) - {"self"} == expected | beside
    if name == "ask":
        asked = Question(text="")
        assert all(parameters[each].default == getattr(asked, each) for each in expected)


def test_the_examples_of_the_methods_are_true(
    wr: Wellread, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes)
    shared: dict[str, object] = {"wr": wr}
    told: list[str] = []
    for name, method in METHODS.items():
        (found,) = doctest.DocTestFinder(recurse=False).find(method, name, globs=shared)
        assert found.examples, name
        doctest.DocTestRunner().run(found, out=told.append, clear_globs=False)
        shared |= found.globs
    assert told == [], "".join(told)


def test_adding_shows_a_bar_on_a_terminal_only(
    wr: Wellread, notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wr.add(notes / "ferry.md")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    wr.add(notes / "mill.md")
    assert "Reading" in capsys.readouterr().err


CALLS: dict[str, Callable[[Wellread], object]] = {
    "kb": lambda wr: wr.kb,
    "add": lambda wr: wr.add("notes"),
    "ask": lambda wr: wr.ask("Who?"),
    "ask_async": lambda wr: asyncio.run(wr.ask_async("Who?")),
    "stream": lambda wr: wr.stream("Who?"),
    "research": lambda wr: wr.research("Who?"),
    "research_stream": lambda wr: wr.research_stream("Who?"),
    "search": lambda wr: wr.search("who"),
    "sync": lambda wr: wr.sync("notes"),
    "similar_questions": lambda wr: wr.similar_questions("Who?"),
    "feedback": lambda wr: wr.feedback("ans_1", score=1),
    "documents": lambda wr: wr.documents(),
    "collections": lambda wr: wr.collections(),
    "conversation": lambda wr: wr.conversation("ses_1"),
    "stats": lambda wr: wr.stats(),
    "remove": lambda wr: wr.remove("notes"),
    "verify": lambda wr: wr.verify(),
    "__enter__": lambda wr: wr.__enter__(),
}


def test_after_closing_everything_says_so(wr: Wellread) -> None:
    public = {name for name in vars(Wellread) if not name.startswith("_")} | {"__enter__"}
    assert public == {*CALLS, "close"}
    wr.close()
    wr.close()
    for name, call in CALLS.items():
        with pytest.raises(RequestError, match=r"this Wellread is closed \(open another") as told:
            call(wr)
        assert type(told.value) is RequestError, name


def test_an_answer_shows_itself_in_a_shell(wr: Wellread, notes: Path) -> None:
    wr.add(notes)
    answer = wr.ask("How many passengers does the ferry Osprey carry?")
    assert str(answer) == f"{answer.text}\n({answer.confidence.band} confidence, 1 citations)"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    printed, complaints = capfd.readouterr()
    assert complaints == ""
    for expected in PRINTED[path.stem].split("|"):
        assert expected in printed
