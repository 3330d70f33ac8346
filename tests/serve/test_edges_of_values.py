"""Values at the edges of what a field can hold: refused as the caller's fault, never a crash."""

from __future__ import annotations

import httpx
import pytest
from tests.serve.test_api_errors import assert_problem

EDGES = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+23:59")
FAR = (2**63, 10**30)
API_LISTS = ("/api/answers", "/api/sessions", "/api/feedback", "/api/gaps", "/api/jobs/{job}")
OTHER_LISTS = ("/api/documents", "/conversations", "/gaps", "/library/jobs/{job}")


@pytest.mark.parametrize("date", EDGES)
@pytest.mark.parametrize("path", ["/api/search?query=ferry&", "/api/documents?", "/api/stories?"])
async def test_a_date_that_leaves_time_by_its_offset_is_none(
    client: httpx.AsyncClient, path: str, date: str
) -> None:
    for name in ("from", "to"):
        response = await client.get(path + str(httpx.QueryParams({name: date})))
        assert_problem(response, 400, "bad_request")


@pytest.mark.parametrize("path", ["/search?query=ferry&", "/stories?", "/timelines?name=x&"])
async def test_so_it_is_in_a_form(client: httpx.AsyncClient, path: str) -> None:
    for date in EDGES:
        told = await client.get(path + str(httpx.QueryParams({"to": date})))
        assert (told.status_code, "is not a date" in told.text) == (400, True)


async def test_so_it_is_in_a_question(client: httpx.AsyncClient) -> None:
    for date in EDGES:
        window = {"timeWindow": {"from": date}}
        asked = {"question": "When was the ferry bought?", "options": window}
        assert_problem(await client.post("/api/ask", json=asked), 400, "bad_request")


@pytest.mark.parametrize("path", API_LISTS + OTHER_LISTS)
async def test_an_offset_that_no_list_has_is_refused(client: httpx.AsyncClient, path: str) -> None:
    job = (await client.get("/api/jobs")).json()["jobs"][0]["id"]
    for offset in FAR:
        response = await client.get(path.format(job=job), params={"offset": offset})
        assert_problem(response, 400, "bad_request")


async def test_the_number_of_a_gap_may_be_any(client: httpx.AsyncClient) -> None:
    for number in FAR:
        response = await client.patch(f"/api/gaps/{number}", json={"status": "open"})
        assert_problem(response, 404, "not_found")


@pytest.mark.parametrize("number", ["9" * 40, "9" * 5_000, "²"])
async def test_the_last_event_may_be_any(client: httpx.AsyncClient, number: str) -> None:
    headers = {b"last-event-id": number.encode()}
    asked = await client.get("/", params={"q": "ferry"})
    events = asked.headers["location"].partition("?")[0] + "/events"
    assert (await client.get(events, headers=headers)).status_code == 200


@pytest.mark.parametrize("number", [*FAR, -(2**63) - 1])
async def test_numbers_in_bodies_may_be_any(client: httpx.AsyncClient, number: int) -> None:
    given = (await client.post("/api/ask", json={"question": "When was the ferry bought?"})).json()
    document = given["citations"][0]["documentId"]
    for said in (
        {"citations": [{"documentId": document, "start": 0, "end": number}]},
        {"citations": [{"documentId": document, "start": number, "end": number}]},
        {"sentences": [{"sentence": number, "score": 1}]},
        {"score": number},
    ):
        response = await client.put(f"/api/answers/{given['id']}/feedback", json=said)
        assert_problem(response, 400, "bad_request")
