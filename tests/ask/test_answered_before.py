"""A past answer that an expert rated well is given again, while its source still says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wellread.ask.answer import answer, final
from wellread.config import FeaturesSettings
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Filters
from wellread.values.answers import BEFORE, Answer, Question

GUIDE = """# Boat house guide

The boat house opens at dawn. A kayak is 12 crowns a day for anybody. A kayak is brought back clean.

Paddles hang on the north wall. Life vests are by the door.
"""
ASKED = "What does a kayak cost?"
TOLD = "A kayak is 12 crowns a day. It is to be returned clean."


def record(**fields: Any) -> dict[str, Any]:
    """A past question with a good answer; ``fields`` stand in for its own."""
    good = {"score": 95, "sentences": [{"score": 97}, {"score": 90}]}
    past = {"question": ASKED, "answer": TOLD, "citation_url": "guide.md", "feedback": good}
    return past | fields


class Home:
    """A folder of sources and what is made of it."""

    def __init__(self, folder: Path) -> None:
        self.files, self.home = folder / "files", folder / "home"
        self.files.mkdir()

    def hold(self, *past: dict[str, Any], guide: str = GUIDE) -> None:
        (self.files / "guide.md").write_text(guide, encoding="utf-8")
        lines = "\n".join(map(json.dumps, past))
        (self.files / "asked.jsonl").write_text(lines, encoding="utf-8")
        with open_kb(self.home, embedder=ReadableEmbedder()) as kb:
            add(kb, [str(self.files)], collection="boats")

    async def ask(self, text: str, **given: Any) -> Answer:
        overrides = {"qa": {"confidence_threshold": 0}} | given.pop("settings", {})
        model = given.pop("model", None)
        with open_kb(
            self.home, overrides=overrides, embedder=ReadableEmbedder(), model=model
        ) as kb:
            return await final(answer(kb, Question(text=text, **given)))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The guide and a past question with a good answer; nobody changes it."""
    good = Home(tmp_path_factory.mktemp("good"))
    good.hold(record())
    return good


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty folder."""
    return Home(tmp_path)


async def test_it_is_given_as_what_it_is_with_its_own_source(good: Home) -> None:
    found = await good.ask("What does a kayak cost, please?")
    assert found.answered_by == BEFORE
    assert [one.text for one in found.sentences] == TOLD.replace("day. ", "day.|").split("|")
    assert any(
        "answered before" in note and "rated 95" in note and ASKED in note for note in found.notes
    )
    first = found.citations[0]
    assert first.title == "Boat house guide"
    assert "12 crowns a day" in first.quote
    assert found.sentences[0].verdict.name.supports
    assert [one.kind for one in found.citations].count("qa") == 1
    assert found.confidence.band in ("high", "medium")
    assert "an expert rated" in found.confidence.reasoning


@pytest.mark.parametrize(
    "asked",
    [
        "What does a kayak not cost?",
        "What does a kayak cost for 3 days?",
        "What does a kayak cost in Lima?",
        "What did a kayak cost in 2019?",
    ],
)
async def test_another_question_is_not_answered_with_it(good: Home, asked: str) -> None:
    assert (await good.ask(asked)).answered_by != BEFORE


@pytest.mark.parametrize(
    "feedback",
    [
        {"score": 79},
        {"score": 95, "sentences": [{"score": 97}, {"score": 90, "harmful": True}]},
        {"score": 95, "sentences": [{"score": 97, "content_issue": True}]},
        {"sentences": [{"score": 97}, {"score": 90}]},
    ],
)
async def test_an_answer_that_was_not_rated_well_is_not_given(
    home: Home, feedback: dict[str, Any]
) -> None:
    home.hold(record(feedback=feedback))
    assert (await home.ask(ASKED)).answered_by != BEFORE


async def test_a_sentence_that_was_found_wrong_is_left_out(home: Home) -> None:
    judged = [{"score": 97}, {"score": 10, "content_issue": True}]
    home.hold(record(feedback={"score": 85, "sentences": judged}))
    found = await home.ask(ASKED)
    assert found.answered_by == BEFORE
    assert [one.text for one in found.sentences] == ["A kayak is 12 crowns a day."]


async def test_it_is_not_given_once_its_source_says_otherwise(home: Home) -> None:
    home.hold(record())
    home.hold(record(), guide=GUIDE.replace("12 crowns", "15 crowns"))
    found = await home.ask(ASKED)
    assert found.answered_by != BEFORE
    assert "12 crowns" not in found.text


async def test_a_number_that_its_source_does_not_have_is_not_given(home: Home) -> None:
    home.hold(record(answer="A kayak is 19 crowns a day."))
    assert (await home.ask(ASKED)).answered_by != BEFORE


async def test_limits_of_the_asker_hold_for_its_source(good: Home) -> None:
    inside = await good.ask(ASKED, filters=Filters(kinds=("page",)))
    assert inside.answered_by == BEFORE
    outside = await good.ask(ASKED, filters=Filters(kinds=("paper",)))
    assert outside.answered_by != BEFORE


async def test_the_rating_and_a_model_decide(good: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for rating, by_it in ((96, False), (95, True)):
        monkeypatch.setattr(FeaturesSettings, "verified_rating", rating)
        found = await good.ask(ASKED, fresh=True)
        assert (found.answered_by == BEFORE) == by_it
    model = ScriptedModel(["A kayak is 12 crowns a day for anybody [e1]."])
    assert (await good.ask(ASKED, model=model)).answered_by == model.identity
