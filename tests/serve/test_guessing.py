"""Nothing is found over HTTP, and nothing changed, by guessing how an id begins."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from tests.serve.test_api_errors import assert_problem

from wellread.ask import answer as answering
from wellread.ask.understand import conversation
from wellread.kb import KnowledgeBase
from wellread.store.catalogue import run_logs

QUESTION = {"question": "When was the ferry bought?", "options": {"fresh": True}}


class StoppedClock(datetime):
    """It is always the same moment."""

    @classmethod
    def now(cls, tz: Any = None) -> StoppedClock:
        return cls(2026, 1, 1, tzinfo=tz or UTC)


async def asked(client: httpx.AsyncClient) -> dict[str, Any]:
    response = await client.post("/api/ask", json=QUESTION)
    assert response.status_code == 200, response.text
    return dict(response.json())


async def test_who_knows_question_and_moment_does_not_know_the_ids(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (answering, conversation):
        monkeypatch.setattr(module, "datetime", StoppedClock, raising=False)
    monkeypatch.setattr("time.perf_counter_ns", lambda: 1)
    one, other = await asked(client), await asked(client)
    assert one["id"] != other["id"]
    assert one["sessionId"] != other["sessionId"]


def test_so_it_is_with_jobs(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "datetime", StoppedClock)
    ids = {kb.catalogue.jobs.start("add", "town", ["a"], ("host", 1)).id for _ in range(2)}
    assert len(ids) == 2


async def test_the_beginning_of_an_id_is_none(client: httpx.AsyncClient, kb: KnowledgeBase) -> None:
    answer = str((await asked(client))["id"])
    job = kb.catalogue.jobs.start("add", "town", ["a"], ("another", 1)).id
    for path in (
        f"/api/answers/{answer[:-1]}",
        f"/api/answers/{answer[:-1]}/export",
        f"/api/answers/{answer[:-1]}/feedback",
        f"/answers/{answer[:-1]}",
        f"/api/jobs/{job[:-1]}",
        f"/api/jobs/{job.removeprefix('job_')}",
        f"/library/jobs/{job[:-1]}",
    ):
        assert_problem(await client.get(path), 404, "not_found")
    for path in (
        f"/api/answers/{answer[:-1]}/verify",
        f"/answers/{answer[:-1]}/verify",
        f"/answers/{answer[:-1]}/feedback",
        f"/api/jobs/{job[:-1]}/cancel",
        f"/library/jobs/{job[:-1]}/cancel",
        f"/library/jobs/{job[:-1]}/retry",
    ):
        assert_problem(await client.post(path, data={"score": "50"}), 404, "not_found")
    found = kb.catalogue.jobs.get(job)
    assert found is not None
    assert not found.cancel


async def test_the_newest_answer_can_be_read_and_not_changed_without_its_id(
    client: httpx.AsyncClient,
) -> None:
    answer = (await asked(client))["id"]
    assert (await client.get("/api/answers/last")).json()["id"] == answer
    last = "/api/answers/last"
    assert_problem(await client.post(f"{last}/verify"), 404, "not_found")
    assert_problem(await client.put(f"{last}/feedback", json={"score": 1}), 404, "not_found")
    assert_problem(await client.patch(f"{last}/feedback", json={"score": 1}), 404, "not_found")
    assert_problem(await client.delete(f"{last}/feedback"), 404, "not_found")
    assert (await client.post(f"/api/answers/{answer}/verify")).status_code == 200
