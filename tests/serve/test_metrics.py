"""Metrics by command, by HTTP, for Prometheus and on the page; calibration by all three."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import time_machine
from prometheus_client.parser import text_string_to_metric_families
from tests.learning.ledger import NOW, cited, rated, unanswered
from tests.learning.test_calibrate import MADE, answers, too_sure
from typer.testing import CliRunner

from wellread.answers import Confidence, Question
from wellread.ask.answer import answer, final
from wellread.calls import Call
from wellread.kb import KnowledgeBase
from wellread.serve.cli import app
from wellread.serve.features.learning.metric_bodies import ReliabilityBinBody, TrendBody
from wellread.serve.server.app import create_app
from wellread.serve.web.metric_charts import reliability_chart, trend_chart

PAGE = {"accept": "text/html"}
SECRET = "Rumpelstiltskin"


@pytest.fixture
def asked(kb: KnowledgeBase) -> KnowledgeBase:
    """A base in which things were asked, rated and paid for."""
    catalogue = kb.catalogue
    (ferry,) = [one for one in catalogue.documents("town") if "ferry" in one.uri]
    cite = replace(cited("x").citations[0], document_id=ferry.id, version=ferry.version)
    with time_machine.travel(NOW - timedelta(days=40), tick=False):
        catalogue.record_answer(cited("ans_old"))
    with time_machine.travel(NOW, tick=False):
        question = f"When does {SECRET} leave the harbour?"
        catalogue.record_answer(cited("ans_1", question=question, citations=(cite,)))
        catalogue.record_answer(cited("ans_2", 0.5, rewritten=True, cached=True))
        catalogue.record_answer(unanswered("ans_3"))
        catalogue.record_gap(f"Who is {SECRET}?", "nothing about it")
        catalogue.calls.record(
            Call(purpose="answer", provider="openai", model="gpt-4o-mini", input_tokens=40,
                 output_tokens=2, cost=0.75, seconds=2.0)
        )  # fmt: skip
        catalogue.feedback.put(rated("ans_1", 90))
        catalogue.feedback.put(rated("ans_2", 20))
    return kb


async def metrics(client: httpx.AsyncClient, query: str = "period=all") -> dict[str, Any]:
    reply = await client.get(f"/api/metrics?{query}")
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def test_the_figures_of_a_time(asked: KnowledgeBase, client: httpx.AsyncClient) -> None:
    told = await metrics(client, "since=2026-03-01&until=2026-03-31")
    sums = told["sums"]
    assert (sums["asked"], sums["cited"], sums["unanswered"], sums["cached"]) == (3, 2, 1, 1)
    assert sums["no_answer_rate"] == sums["follow_up_rate"] == pytest.approx(1 / 3)
    assert told["previous"]["asked"] == 1
    assert sum(one["asked"] for one in told["trend"]) == 3
    assert {one["name"]: one["p50"] for one in told["latencies"]}["total"] == pytest.approx(1.0)
    assert told["collections"] == [{"name": "town", "asked": 1, "unanswered": 0}]
    assert told["gaps"] == [{"kind": "unanswered", "status": "open", "questions": 1}]
    assert (told["ratings"]["given"], told["ratings"]["mean"]) == (2, 55.0)
    assert [one["right"] for one in told["ratings"]["bins"]] == [0.0, 1.0]
    (spent,) = told["calls"]
    assert (spent["input_tokens"], spent["output_tokens"], spent["cost"]) == (40, 2, 0.75)
    assert (await metrics(client))["sums"]["asked"] == 4
    assert (await metrics(client, "since=2026-03-19"))["sums"]["asked"] == 0


@pytest.mark.parametrize("query", ["period=year", "since=soon", "since=2026&until=2025", "day=1"])
async def test_a_time_that_is_none_is_refused(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.get(f"/api/metrics?{query}")).status_code == 400


async def test_every_face_tells_the_same(
    asked: KnowledgeBase, client: httpx.AsyncClient, runner: CliRunner
) -> None:
    told = await metrics(client)
    page = (await client.get("/figures?period=all&format=json")).json()
    assert {name: page[name] for name in told if name != "until"} == {
        name: value for name, value in told.items() if name != "until"
    }
    shown = json.loads(runner.invoke(app, ["metrics", "--json", "--period", "all"]).stdout)
    assert shown["sums"] == told["sums"]
    table = runner.invoke(app, ["metrics", "--since", "2026-03"]).stdout
    assert "answered with citations  2 (67%)" in table
    assert "gpt-4o-mini (openai)" in table


async def test_an_answer_that_is_given_again_is_asked_again(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    for _ in range(2):
        await client.post("/api/ask", json={"question": "When does the ferry leave?"})
    sums = (await metrics(client))["sums"]
    assert (sums["asked"], sums["cached"]) == (2, 1)


async def test_nothing_asked_yet(
    kb: KnowledgeBase, client: httpx.AsyncClient, runner: CliRunner
) -> None:
    assert (await metrics(client))["trend"] == []
    html = (await client.get("/figures", headers=PAGE)).text
    assert "Nothing was asked in this time." in html
    assert runner.invoke(app, ["metrics"]).stdout.startswith("Nothing was asked")
    assert (await client.get("/metrics")).status_code == 200


# --- Prometheus ---


async def samples(client: httpx.AsyncClient) -> dict[tuple[str, ...], float]:
    reply = await client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=")
    return {
        (one.name, *sorted(one.labels.values())): one.value
        for family in text_string_to_metric_families(reply.text)
        for one in family.samples
    }


async def test_prometheus_reads_the_ledger(asked: KnowledgeBase, client: httpx.AsyncClient) -> None:
    found = await samples(client)
    assert found["wellread_questions_total", "cited"] == 3
    assert found["wellread_questions_total", "unanswered"] == 1
    assert found["wellread_answers_total", "extractive"] == 3
    assert found["wellread_sentences_total", "partial"] == 3
    assert found["wellread_follow_ups_total",] == 1
    assert found["wellread_gaps", "open", "unanswered"] == 1
    called = ("answer", "gpt-4o-mini", "openai")  # in the order of the alphabet
    assert found["wellread_provider_tokens_total", "answer", "gpt-4o-mini", "input", "openai"] == 40
    assert found["wellread_provider_cost_dollars_total", *called] == 0.75
    # Two parts of the draft are one step of .8 s.
    assert found["wellread_step_seconds_bucket", "0.5", "draft"] == 0
    assert found["wellread_step_seconds_bucket", "1.0", "draft"] == 4
    assert found["wellread_step_seconds_count", "draft"] == 4
    assert found["wellread_step_seconds_sum", "draft"] == pytest.approx(3.2)
    assert found["wellread_answer_seconds_count",] == 4
    assert not [name for name, *_ in found if name.startswith(("process_", "python_"))]


async def test_no_label_tells_what_was_asked(
    asked: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    text = (await client.get("/metrics")).text.casefold()
    for word in (SECRET.casefold(), "harbour", "town", "ada", "ans_1"):
        assert word not in text


async def test_counters_outlive_the_server_and_what_is_removed(
    asked: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    before = await samples(client)
    asked.catalogue.sessions.remove("ses_1", "")
    assert (await metrics(client))["sums"]["asked"] == 0
    transport = httpx.ASGITransport(create_app(asked))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as other:
        after = await samples(other)
    counted = [key for key in before if not key[0].startswith(("wellread_gaps", "wellread_build"))]
    assert {key: after[key] for key in counted} == {key: before[key] for key in counted}


@pytest.mark.parametrize(
    ("accept", "told"),
    [
        ("", "text/plain"),
        ("text/html,*/*;q=0.8", "text/plain"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text"),
        ("application/openmetrics-text; version=x; escaping=y", "application/openmetrics-text"),
        ("text/plain; version=x; escaping=y", "text/plain"),
    ],
)
async def test_the_form_that_is_asked_for(
    kb: KnowledgeBase, client: httpx.AsyncClient, accept: str, told: str
) -> None:
    reply = await client.get("/metrics", headers={"accept": accept})
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith(told)


async def test_a_foreign_host_reads_nothing(client: httpx.AsyncClient) -> None:
    for path in ("/metrics", "/api/metrics", "/figures", "/api/calibration"):
        refused = await client.get(path, headers={"host": "evil.example"})
        assert refused.status_code in (400, 403, 421)
        assert "wellread_" not in refused.text


# --- the page ---


async def test_the_page_draws_what_it_tells(
    asked: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    html = (await client.get("/figures?since=2026-03-01&until=2026-03-31", headers=PAGE)).text
    assert "<title>2026-03-18: 2 with citations of 3</title>" in html
    assert "<title>2026-03-18: 1 not answered of 3</title>" in html
    assert "1 answers: confidence 0.80, rated 0.90" in html
    assert "Right: rated 50 and more." in html
    assert "198 more are needed" in html
    assert 'value="fit"' not in html


def test_a_trend_is_as_high_as_its_parts() -> None:
    day = {"cited": 2, "unanswered": 1, "follow_ups": 0, "cost": 0.0}
    trend = [TrendBody(start=NOW, asked=4, **day), TrendBody(start=NOW, asked=0, **_NONE)]
    chart = trend_chart(trend, "day")
    assert chart is not None
    busy, idle = chart.stacks
    assert [(one.name, one.count) for one in busy.pieces] == [
        ("cited", 2), ("other", 1), ("unanswered", 1),
    ]  # fmt: skip
    assert busy.pieces[0].y + busy.pieces[0].height == chart.height - 1
    assert busy.pieces[-1].y == pytest.approx(5)
    assert idle.pieces == ()
    assert trend_chart([trend[1]], "day") is None


_NONE: dict[str, Any] = {"cited": 0, "unanswered": 0, "follow_ups": 0, "cost": 0.0}


def test_a_point_on_the_diagonal_is_a_confidence_that_is_right() -> None:
    one = ReliabilityBinBody(
        since=0.7, until=0.8, answers=9, confidence=0.75, rating=0.75, low=0.6, high=0.9, right=0.8
    )
    chart = reliability_chart([one])
    assert chart is not None
    (point,) = chart.points
    assert point.x - chart.left == pytest.approx(chart.side - (point.y - chart.top))
    assert point.top < point.y < point.bottom
    assert reliability_chart([]) is None


# --- calibration ---


@pytest.fixture
def judged(kb: KnowledgeBase) -> KnowledgeBase:
    """A base with enough ratings, which say that it is too sure."""
    for one in answers(too_sure, 240):
        kb.catalogue.record_answer(cited(one.answer_id, one.shipped, question=one.question))
        ((author, score),) = one.ratings
        kb.catalogue.feedback.put(rated(one.answer_id, score, author, one.question))
    return kb


async def confidence(kb: KnowledgeBase) -> tuple[Confidence, bool]:
    given = await final(answer(kb, Question(text="How many passengers does the ferry carry?")))
    return given.confidence, given.cached


async def test_what_is_in_force_shows_in_the_next_answer(kb: KnowledgeBase) -> None:
    shipped, _ = await confidence(kb)
    again, cached = await confidence(kb)
    assert cached
    assert again == shipped
    assert shipped.shipped is None
    kb.catalogue.calibrations.put(replace(MADE, slope=1.0, intercept=-1.0, lowest=0.0))
    sure, cached = await confidence(kb)
    assert not cached
    assert sure.shipped == shipped.score
    assert sure.score < shipped.score
    assert f"by 300 rated answers of this base, {shipped.score} is {sure.score}" in sure.reasoning
    kb.catalogue.calibrations.undo()
    assert (await confidence(kb))[0] == shipped


async def test_the_threshold_is_held_against_the_calibrated_score(kb: KnowledgeBase) -> None:
    kb.catalogue.calibrations.put(replace(MADE, slope=1.0, intercept=-6.0))
    sure, _ = await confidence(kb)
    assert sure.score < kb.settings.qa.confidence_threshold
    assert sure.band == "none"


async def test_calibration_by_http(judged: KnowledgeBase, client: httpx.AsyncClient) -> None:
    state = (await client.get("/api/calibration")).json()
    assert (state["in_force"], state["rated"], state["needed"]) == (None, 240, 200)
    tried = (await client.post("/api/calibration", json={"dry_run": True})).json()
    assert (tried["better"], tried["changed"]) == (True, False)
    assert (await client.get("/api/calibration")).json()["in_force"] is None
    kept = (await client.post("/api/calibration", json={})).json()
    assert kept["changed"]
    assert kept["fitted"]["raters"] == 2
    assert (await client.get("/api/calibration")).json()["in_force"] == kept["fitted"]
    assert (await samples(client))["wellread_calibration_in_force",] == 1
    undone = (await client.delete("/api/calibration")).json()
    assert undone == {"removed": kept["fitted"], "in_force": None}
    assert (await client.post("/api/calibration", json={"dryRun": True})).status_code == 400


async def test_calibration_on_the_page(judged: KnowledgeBase, client: httpx.AsyncClient) -> None:
    origin = {**PAGE, "origin": "http://127.0.0.1"}
    tried = await client.post("/figures/calibration", data={"action": "try"}, headers=origin)
    assert "Would be kept" in tried.text
    assert judged.catalogue.calibrations.live() is None
    kept = await client.post("/figures/calibration", data={"action": "fit"}, headers=origin)
    assert "Kept: better on answers that it was not fitted on" in kept.text
    html = (await client.get("/figures", headers=PAGE)).text
    assert "calibrated on 240 answers of this base that 2 people rated" in html
    undone = await client.post("/figures/calibration", data={"action": "undo"}, headers=origin)
    assert undone.status_code == 303
    assert judged.catalogue.calibrations.live() is None


def test_calibration_by_command(judged: KnowledgeBase, runner: CliRunner) -> None:
    def run(*options: str) -> str:
        done = runner.invoke(app, ["calibrate", *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "Would be kept" in run("--dry-run")
    assert "240 answers are rated" in run("--state")
    assert "Kept: better" in run()
    assert "calibrated on 240 rated answers" in runner.invoke(app, ["stats"]).stdout
    assert "Not kept: the one in force is as good" in run()
    assert run("--undo").startswith("Taken back. Confidence is as it ships")
    assert "Nothing to take back" in run("--undo")
    assert runner.invoke(app, ["calibrate", "--undo", "--dry-run"]).exit_code == 1


def test_a_base_without_ratings_says_how_many_are_missing(
    home: Path, filled_home: Path, runner: CliRunner
) -> None:
    shutil.copytree(filled_home, home)
    done = runner.invoke(app, ["calibrate", "--json"])
    told = json.loads(done.stdout)
    assert (told["missing"], told["changed"], told["fitted"]) == (200, False, None)


async def test_a_document_that_is_removed_is_no_topic_any_more(
    asked: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    cited_one = asked.catalogue.answer("ans_1")
    assert cited_one is not None
    asked.catalogue.remove_documents([cited_one.citations[0].document_id])
    told = await metrics(client)
    assert (told["collections"], told["sums"]["asked"]) == ([], 4)
