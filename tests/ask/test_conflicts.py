"""Disagreements: every view is shown with its source, and none is claimed where there is none."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from tests.doubles.evidence import evidence_of

from wellread.ask.answer import answer, final
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.conflicts import explain, find_dispute
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.values.answers import Answer, Evidence, Question
from wellread.values.question import Analysis

HOMES = "How many homes lost power in the Oldwick outage?"
CURRENT = "The Oldwick outage cut the power of 310 homes on Tuesday."
HERALD = "On Tuesday 240 homes lost power in the Oldwick outage."
LENIENT: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.05}}


def read(question: str) -> Analysis:
    return analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))


class Told(NamedTuple):
    """What a question's evidence disagrees on: the sentence of each view, with its key, and why."""

    views: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    reason: str = ""


def told(question: str, evidence: Sequence[Evidence]) -> Told:
    """The views of what the evidence disagrees on; none where it does not."""
    found = find_dispute(read(question), evidence)
    return Told(
        tuple(view.text for view in found),
        tuple(evidence[view.evidence].key for view in found),
        explain(found),
    )


def test_two_numbers_for_one_thing_are_both_shown() -> None:
    found = told(HOMES, evidence_of(CURRENT, HERALD))
    assert set(found.views) == {CURRENT, HERALD}
    assert set(found.keys) == {"e1", "e2"}


def test_a_copy_with_another_name_in_it_is_a_conflict() -> None:
    found = told(
        "Who directed the film Grey Harbour?",
        evidence_of(
            "Grey Harbour is a silent film that was directed by Ada Moor in Oldwick.",
            "Grey Harbour is a silent film that was directed by Tom Lund in Oldwick.",
        ),
    )
    assert len(found.views) == 2


def test_a_negated_copy_is_a_conflict() -> None:
    found = told(
        "Is the harbour bath in Oldwick heated?",
        evidence_of(
            "The harbour bath in Oldwick is heated all winter long.",
            "The harbour bath in Oldwick is not heated all winter long.",
        ),
    )
    assert len(found.views) == 2


def test_different_bearers_of_a_name_are_no_conflict() -> None:
    found = told(
        "What is the population of Fernhill?",
        evidence_of(
            "Fernhill, Merrow County is a village. The population of Fernhill was 812 in 2020.",
            "Fernhill, Halden County is a town. The population of Fernhill was 731 in 2020.",
        ),
    )
    assert found.views == ()


async def asked(folder: Path, model: ScriptedModel | None = None) -> Answer:
    for name, text in (("current", CURRENT), ("herald", HERALD)):
        (folder / f"{name}.md").write_text(f"# The {name}\n\n{text}\n", encoding="utf-8")
    embedder = ReadableEmbedder()
    with open_kb(folder / "home", overrides=LENIENT, embedder=embedder, model=model) as kb:
        add(kb, [str(folder / "current.md"), str(folder / "herald.md")], collection="news")
        return await final(answer(kb, Question(text=HOMES)))


async def test_views_name_the_citations_of_their_sentences(tmp_path: Path) -> None:
    given = await asked(tmp_path)
    (conflict,) = given.conflicts
    quotes = {citation.id: citation.quote for citation in given.citations}
    assert len(conflict.views) == 2
    for view in conflict.views:
        assert view.text in given.text
        assert quotes[view.citations[0]] == view.text


LONG = (
    "Some 310 homes in and around Oldwick were without electricity for nine hours on Tuesday, "
    "14 October, after a fault at the tidal turbines in the narrows, the owners told the paper."
)
DARK = (
    "On Tuesday, 14 October, the lights went out in Oldwick, and electricity came back at noon. "
    "According to the map of the network operator, 240 homes were affected."
)


def test_counts_of_the_same_thing_in_long_sentences_are_both_shown() -> None:
    question = "How many homes in Oldwick were without electricity on 14 October?"
    found = told(question, evidence_of(LONG, DARK))
    assert sorted(text[:24] for text in found.views) == [
        "According to the map of ",
        "Some 310 homes in and ar",
    ]


def test_counts_of_other_things_and_of_other_times_do_not_differ() -> None:
    question = "How many homes in Oldwick were without electricity on 14 October?"
    assert not told(question, evidence_of(LONG, DARK.replace("240 homes", "240 boats"))).views
    elsewhere = "The Skerrick microgrid supplies 214 homes on the west side of the island."
    assert not told(question, evidence_of(LONG, elsewhere)).views


def test_what_speaks_of_another_thing_of_the_kind_is_no_other_answer() -> None:
    evidence = evidence_of(
        "The Arnol mill grinds 31 sacks a day.",
        "The Belk mill grinds 68 sacks a day.",
        "The Esker mill grinds 39 sacks a day.",
    )
    assert not told("How many sacks does the Arnol mill grind a day?", evidence).views


async def test_the_newest_of_several_versions_comes_first(tmp_path: Path) -> None:
    with open_kb(tmp_path / "home", overrides=LENIENT, embedder=ReadableEmbedder()) as kb:
        for number, title in enumerate(("2019", "2024 (draft)", "2024"), 1):
            text = f"# Slip rules {title}\n\nA slip costs {number}0 crowns a week.\n"
            path = tmp_path / f"20{number}0-02-01 slip.md"
            path.write_text(text, encoding="utf-8")
            add(kb, [str(path)])
        given = await final(answer(kb, Question(text="How much does a slip cost a week?")))
    assert "The sources differ, the newest first (the first is from 1 February 2030," in given.text
    prices = [given.text.index(f"costs {price} crowns") for price in (30, 20, 10)]
    assert prices == sorted(prices)
