"""``/api/sessions`` and ``/api/answers``."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase
from wellread.values.answers import Question

FERRY = "What did the ferry Osprey cost?"
AGAIN = "How many passengers does it carry?"
ROOF = "When will the boathouse roof be repaired?"


async def ask(client: httpx.AsyncClient, text: str, session: str = "") -> dict[str, Any]:
    body = {"question": text} | ({"sessionId": session} if session else {})
    response = await client.post("/api/ask", json=body)
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


async def test_a_session_is_listed_read_and_removed(client: httpx.AsyncClient) -> None:
    first = await ask(client, FERRY)
    known = first["sessionId"]
    second = await ask(client, AGAIN, known)
    assert second["sessionId"] == known
    assert "Osprey" in second["standalone"]
    listed = (await client.get("/api/sessions")).json()["sessions"]
    assert [(one["id"], one["turns"], one["title"]) for one in listed] == [(known, 2, FERRY)]
    whole = (await client.get(f"/api/sessions/{known}")).json()
    assert [one["question"] for one in whole["answers"]] == [FERRY, AGAIN]
    gone = await client.delete(f"/api/sessions/{known}")
    assert gone.json() == {"id": known, "answers": 2}
    assert (await client.get("/api/sessions")).json() == {"sessions": []}
    assert (await client.get("/api/answers")).json() == {"answers": []}
    for method in ("GET", "DELETE"):
        missing = await client.request(method, f"/api/sessions/{known}")
        assert missing.status_code == 404
        assert missing.json()["error"] == "not_found"


async def test_sessions_are_found_by_words(client: httpx.AsyncClient) -> None:
    ferry = (await ask(client, FERRY))["sessionId"]
    roof = (await ask(client, ROOF))["sessionId"]

    async def found(**asked: str | int) -> list[str]:
        response = await client.get("/api/sessions", params=asked)
        assert response.status_code == 200
        return [one["id"] for one in response.json()["sessions"]]

    assert await found(query="OSPREY million") == [ferry]  # a question's word, an answer's word
    assert await found(query="the") == [roof, ferry]
    assert await found(query="the", limit=1, offset=1) == [ferry]
    assert await found(query="osprey boathouse") == []
    assert await found(query="") == [roof, ferry]
    too_long = await client.get("/api/sessions", params={"query": "x" * 201})
    assert too_long.status_code == 400


async def test_what_others_own_is_not_there(client: httpx.AsyncClient, kb: KnowledgeBase) -> None:
    theirs = await final(answer(kb, Question(text=FERRY, owner="ann")))
    assert (await client.get("/api/sessions")).json() == {"sessions": []}
    assert (await client.get("/api/answers")).json() == {"answers": []}
    for path in (
        f"/api/sessions/{theirs.session_id}",
        f"/api/answers/{theirs.id}",
        f"/api/answers/{theirs.id}/export",
    ):
        assert (await client.get(path)).status_code == 404
    assert (await client.post(f"/api/answers/{theirs.id}/verify")).status_code == 404
    path = f"/api/sessions/{theirs.session_id}"
    found = await client.get("/api/sessions", params={"query": "ferry"})
    assert found.json() == {"sessions": []}
    mine = await ask(client, AGAIN, theirs.session_id)
    assert mine["sessionId"] == theirs.session_id  # a session of one's own by that name
    assert [one["id"] for one in (await client.get(path)).json()["answers"]] == [mine["id"]]
    assert mine["standalone"] == ""


async def test_answers_are_listed_read_and_checked_again(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    given = await ask(client, FERRY)
    (one,) = (await client.get("/api/answers")).json()["answers"]
    assert (one["id"], one["stale"]) == (given["id"], False)
    whole = (await client.get("/api/answers/last")).json()
    assert (whole["answer"], whole["stale"]) == (given["answer"], False)
    found = (await client.post(f"/api/answers/{given['id']}/verify")).json()
    assert (found["stale"], {each["standing"] for each in found["citations"]}) == (False, {"same"})
    kb.catalogue.remove_sources("town", list(kb.catalogue.sources("town")))
    found = (await client.post(f"/api/answers/{given['id']}/verify")).json()
    assert (found["stale"], {each["standing"] for each in found["citations"]}) == (True, {"gone"})
    assert (await client.get(f"/api/answers/{given['id']}")).json()["stale"]


@pytest.mark.parametrize(
    ("form", "kind", "ending"),
    [
        ("markdown", "text/markdown; charset=utf-8", "md"),
        ("csl-json", "application/vnd.citationstyles.csl+json", "json"),
        ("bibtex", "application/x-bibtex; charset=utf-8", "bib"),
    ],
)
async def test_an_answer_is_exported(
    client: httpx.AsyncClient, form: str, kind: str, ending: str
) -> None:
    given = await ask(client, FERRY)
    response = await client.get(f"/api/answers/{given['id']}/export", params={"format": form})
    assert response.status_code == 200
    assert response.headers["content-type"] == kind
    name = f'attachment; filename="{given["id"]}.{ending}"'
    assert response.headers["content-disposition"] == name
    assert "ferry" in response.text
    refused = await client.get(f"/api/answers/{given['id']}/export", params={"format": "docx"})
    assert refused.status_code == 400
