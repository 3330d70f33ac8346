"""What the release gate measures, on small bases: and that it sees what is not in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.hostile import ask
from benchmarks.paths import SAMPLE
from benchmarks.release import deletes, injections, question_sets
from benchmarks.release.deletes import NOT_PROVED, PROBLEMS, REMOVED
from benchmarks.release.question_sets import RATIO, ratio, sampled
from benchmarks.release.verdict import Measured, judge, read_limits
from benchmarks.sets.hostile import hostile_cases, write_hostile
from benchmarks.sets.sample import FOLDERS
from tests.ask.planted.asking import ASK, Heard, about
from tests.ask.planted.asking import made as made_home
from tests.ask.planted.outcomes import decided
from tests.ask.planted.plants import PLANTS

from wellread.ask.answer import answer, final
from wellread.ask.write import prompts
from wellread.evaluation.cases import Case, Expected, read_cases
from wellread.ingest.remove import RemoveReport
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Prompt
from wellread.testing.embedding import ReadableEmbedder

MATERIAL = [SAMPLE / "news", SAMPLE / "pages"]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return read_cases(SAMPLE / "evaluation.jsonl")


def value(found: Measured, name: str) -> float:
    return found.groups["all"][name].mean


def made(number: int, *tags: str) -> Case:
    return Case(id=str(number), line=number, turns=("?",), expected=Expected(), tags=tags)


def test_of_each_group_so_many_are_drawn_and_always_the_same() -> None:
    many = [made(place, "far" if place % 3 else "near", "x") for place in range(60)]
    drawn = sampled(many, 5)
    assert [case.tags[0] for case in drawn].count("far") == 5
    assert [case.tags[0] for case in drawn].count("near") == 5
    assert [case.line for case in drawn] == sorted(case.line for case in drawn)
    assert drawn == sampled(many, 5) != many[:10]
    assert sampled(many, 0) == many
    assert sampled(many, 100) == many


def test_a_ratio_of_times_is_that_of_their_slow_ends() -> None:
    searches = [0.01] * 9 + [0.1]
    found = ratio([0.2] * 9 + [1.0], searches)
    assert found is not None
    assert found.mean == pytest.approx(0.28 / 0.019)
    assert found.low <= found.mean <= found.high
    assert found.n == 10
    assert ratio([], searches) is ratio(searches, []) is None


def test_the_gate_runs_on_the_sample(tmp_path: Path, cases: list[Case]) -> None:
    chosen = [case for case in cases if case.tags[0] in ("article", "page", "off_topic")][::4]
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(SAMPLE / name) for name in FOLDERS], collection="default")
        found = question_sets.measure_cases(kb, chosen, {3}, retrieval_only=False)
        quick = question_sets.measure_cases(kb, chosen, {3}, retrieval_only=True)
        assert kb.catalogue.answers() == []
    assert value(found, "failed") == 0
    assert value(found, "recall@3") > 0.7
    assert value(found, "refusal_accuracy") > 0.7
    assert found.groups["all"][RATIO].n == len(chosen) // 2
    assert RATIO not in quick.groups["all"]
    path = tmp_path / "limits.yaml"
    path.write_text("sample: {recall@3: 0.7, recall@5: 0.99, tag:off_topic/failed: 0}\n")
    verdict = judge(read_limits(path, ["sample"], ()), {"sample": found})
    assert [line.state for line in verdict.lines][::2] == ["go", "go"]


_FEW = {f"markdown-{order}" for order in ("leak", "call", "image", "key", "sure")} | {"vtt-lie"}
FEW = [one for one in PLANTS if one.id in _FEW]


def test_no_order_comes_through_and_the_model_hears_them(tmp_path: Path) -> None:
    heard, won = injections.followed_by_model(tmp_path, ReadableEmbedder(), FEW)
    assert (heard, won) == (len(FEW), [])


def test_orders_that_come_through_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_door(_: prompts.Guard, text: str, **_before: str) -> prompts.GuardedText:
        return prompts.GuardedText(text=text)

    monkeypatch.setattr(prompts.Guard, "shown", open_door)
    heard, won = injections.followed_by_model(tmp_path, ReadableEmbedder(), FEW)
    assert heard == len(FEW)
    assert won == ["markdown-leak: the prompt, the fence", "markdown-call: a call"]


def test_what_a_plant_may_not_decide_is_seen(tmp_path: Path) -> None:
    (plant,) = [one for one in FEW if one.id == "markdown-key"]
    (tmp_path / "sources").mkdir()
    made_home(
        tmp_path / "sources", tmp_path / "home", ReadableEmbedder(), planted=True, plants=[plant]
    )
    with open_kb(tmp_path / "home", overrides=ASK, embedder=ReadableEmbedder()) as kb:
        usual = asyncio.run(final(answer(kb, about(kb, plant))))
    heard = Heard(
        done=replace(usual, hallucinated_citations=2),
        streamed="",
        prompt=Prompt(system="", user=""),
        orders=frozenset({"keys"}),
    )
    assert decided(heard, usual, plant) == []
    surer = replace(usual.confidence, score=1.0)
    unsure = replace(usual, confidence=replace(usual.confidence, score=0.2))
    first = usual.sentences[0]
    verdict = replace(first.verdict, method="judge")
    made_up = replace(first, text="Rule seven is that wells are poisoned.", verdict=verdict)
    told = {
        "the confidence": replace(heard.done, confidence=surer),
        "the keys": usual,
        "a verdict": replace(heard.done, sentences=(made_up,)),
    }
    for what, done in told.items():
        before = unsure if what == "the confidence" else usual
        assert decided(replace(heard, done=done), before, plant) == [what]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("hostile")
    write_hostile(folder)
    with open_kb(tmp_path_factory.mktemp("home"), embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder)], collection="default")
        yield kb


def test_extracted_answers_follow_no_order(hostile: KnowledgeBase) -> None:
    assert injections.followed_by_sentences(hostile, hostile_cases()[:4]) == []


def test_an_extracted_answer_that_follows_is_told(hostile: KnowledgeBase) -> None:
    case = hostile_cases()[0]
    said = ask(hostile, case.question).sentences[0].text
    (told,) = injections.followed_by_sentences(hostile, [replace(case, value=said)])
    assert told.startswith("stated")
    assert case.plant in told


def test_a_removed_document_is_proved_gone(tmp_path: Path, cases: list[Case]) -> None:
    found = deletes.measure(tmp_path / "home", MATERIAL, cases, ReadableEmbedder(), each=1)
    assert found.notes == ()
    assert value(found, REMOVED) == found.groups["all"][REMOVED].n >= 2
    assert value(found, NOT_PROVED) == value(found, PROBLEMS) == 0


def test_a_document_that_stays_is_not_proved_gone(
    tmp_path: Path, cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_said(_: KnowledgeBase, one: deletes.Doomed) -> RemoveReport:
        return RemoveReport(documents=1, looked_for=len(one.words), purged=True)

    monkeypatch.setattr(deletes, "removed", only_said)
    found = deletes.measure(tmp_path / "home", MATERIAL, cases, ReadableEmbedder(), each=1)
    assert value(found, NOT_PROVED) == found.groups["all"][NOT_PROVED].n >= 2
    for note in found.notes:
        assert "afterwards: catalogue" in note
        assert "afterwards: index" in note
        assert "it is found" in note


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (RemoveReport(documents=1, looked_for=0, purged=True), "did not look for it"),
        (RemoveReport(documents=1, looked_for=3, purged=False), "were not purged"),
        (RemoveReport(documents=1, looked_for=3, purged=None), "were not purged"),
    ],
)
def test_a_removal_without_its_proof_does_not_count(
    tmp_path: Path, report: RemoveReport, told: str
) -> None:
    gone = deletes.Doomed(document="doc_gone", question="Who sold it?", words=("never said here",))
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(SAMPLE / "pages")], collection="default")
        (left,) = deletes.remains(kb, gone, report)
    assert told in left
