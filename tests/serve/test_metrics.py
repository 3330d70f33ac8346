"""Metrics by command, by HTTP, for Prometheus and on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
import time_machine
from prometheus_client.parser import text_string_to_metric_families
from tests.learning.ledger import NOW, cited, rated, unanswered
from tests.serve.conftest import client_of
from typer.testing import CliRunner

from wellread.kb import KnowledgeBase
from wellread.serve.cli import app
from wellread.serve.http.app import create_app
from wellread.values.calls import Call

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
    assert sums["noAnswerRate"] == sums["followUpRate"] == pytest.approx(1 / 3)
    assert told["previous"]["asked"] == 1
    assert sum(one["asked"] for one in told["trend"]) == 3
    assert {one["name"]: one["p50"] for one in told["latencies"]}["total"] == pytest.approx(1.0)
    assert told["collections"] == [{"name": "town", "asked": 1, "unanswered": 0}]
    assert told["gaps"] == [{"kind": "unanswered", "status": "open", "questions": 1}]
    assert told["ratings"] == {"given": 2, "mean": 55.0}
    (spent,) = told["calls"]
    assert (spent["inputTokens"], spent["outputTokens"], spent["cost"]) == (40, 2, 0.75)
    assert (await metrics(client))["sums"]["asked"] == 4
    assert (await metrics(client, "since=2026-03-19"))["sums"]["asked"] == 0


async def test_every_face_tells_the_same(
    asked: KnowledgeBase, client: httpx.AsyncClient, runner: CliRunner
) -> None:
    told = await metrics(client)
    shown = json.loads(runner.invoke(app, ["metrics", "--json", "--period", "all"]).stdout)
    assert shown["sums"] == told["sums"]
    table = runner.invoke(app, ["metrics", "--from", "2026-03"]).stdout
    assert "answered with citations: 67%" in table
    assert "gpt-4o-mini" in table


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
    async with client_of(create_app(asked)) as other:
        after = await samples(other)
    counted = [key for key in before if not key[0].startswith(("wellread_gaps", "wellread_build"))]
    assert {key: after[key] for key in counted} == {key: before[key] for key in counted}


@pytest.mark.parametrize(
    ("accept", "told"),
    [
        ("", "text/plain"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text"),
    ],
)
async def test_the_form_that_is_asked_for(
    kb: KnowledgeBase, client: httpx.AsyncClient, accept: str, told: str
) -> None:
    reply = await client.get("/metrics", headers={"accept": accept})
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith(told)


# --- the page ---


async def test_a_document_that_is_removed_is_no_topic_any_more(
    asked: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    cited_one = asked.catalogue.answer("ans_1")
    assert cited_one is not None
    asked.catalogue.remove_documents([cited_one.citations[0].document_id])
    told = await metrics(client)
    assert (told["collections"], told["sums"]["asked"]) == ([], 4)
