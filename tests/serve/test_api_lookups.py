"""Search, lists, transcripts, context and timelines over HTTP, on two collections."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from tests.serve.conftest import got

MEETING = "Harbour meeting"


async def refused(client: httpx.AsyncClient, path: str, **params: Any) -> tuple[int, str, str]:
    """Status, detail and hint."""
    response = await client.get(path, params=params)
    body = response.json()
    assert set(body) == {"error", "detail", "hint"}
    return response.status_code, body["detail"], body["hint"]


def titles(body: Any, name: str = "results") -> list[str]:
    return [one["title"] for one in body[name]]


# --- search ----------------------------------------------------------------------------------


async def test_a_search_shows_where_each_passage_stands(harbour: httpx.AsyncClient) -> None:
    body = await got(harbour, "/api/search", query="bells on the hook", limit=3, topic="harbour")
    assert (body["query"], body["mode"], body["total"]) == ("bells on the hook", "hybrid", None)
    assert len(body["results"]) == 3
    first = body["results"][0]
    assert (first["title"], first["locator"]) == ("Handbook", "§ Handbook › Bells")
    assert first["collection"] == "harbour"
    assert {"text", "vector"} <= {place["name"] for place in first["ranks"]}
    whole = await got(harbour, f"/api/documents/{first['documentId']}")
    assert first["quote"] == whole["text"][slice(*first["sourceSpan"].values())]
    assert (await harbour.get(first["viewUrl"])).status_code == 200
    around = await got(harbour, f"/api/segments/{first['passageId']}/context", before=1, after=1)
    assert around["passage"]["quote"] == first["quote"]


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        ({"taxonomy": "sectors=food"}, {"Bakery wins prize for rye bread"}),
        ({"taxonomy": "Sectors=FOOD"}, {"Bakery wins prize for rye bread"}),
        (
            {"author": "marrane"},
            {"Ferry Osprey breaks down", "Ferry Osprey back in service"},
        ),
        ({"author": "Jon Tarn", "from": "2026-03"}, {"Ferry Osprey back in service"}),
        ({"language": "EN", "taxonomy": "sectors=food"}, {"Bakery wins prize for rye bread"}),
        ({"kind": "entity"}, {"Osprey"}),
        ({"source_type": "vtt", "topic": "harbour"}, {MEETING, "Captions"}),
        ({"from": "2026-03-20", "to": "2026-03-20"}, {"Ferry Osprey back in service"}),
        ({"collection": "hills"}, {"Hill meeting"}),
        ({"speaker": "cem", "author": "", "topic": ""}, {"Hill meeting"}),
    ],
)
async def test_a_search_stays_inside_its_limits(
    harbour: httpx.AsyncClient, limit: dict[str, str], found: set[str]
) -> None:
    body = await got(harbour, "/api/search", query="ferry Osprey engine bread gulls", **limit)
    assert set(titles(body)) == found


@pytest.mark.parametrize(
    ("path", "params", "status", "detail", "hint"),
    [
        ("/api/search", {}, 400, "query is missing", "at /docs"),
        ("/api/search", {"query": " "}, 400, "the query is empty", "give words"),
        ("/api/search", {"query": "x", "speakr": "y"}, 400, "speakr is not known", "at /docs"),
        ("/api/search", {"query": "x", "limit": "0"}, 400, "limit has to be", "at /docs"),
        ("/api/search", {"query": "x", "limit": "many"}, 400, "limit has to be", "at /docs"),
        ("/api/search", {"query": "x", "kind": "novel"}, 400, "kind.0 has to be", "at /docs"),
        ("/api/search", {"query": "x", "from": "soon"}, 400, "'soon' is not a date", "2025-10"),
        (
            "/api/search",
            {"query": "x", "from": "2026", "to": "2025"},
            400,
            "from 2026 to 2025 is empty",
            "swap",
        ),
        ("/api/search", {"query": "x", "taxonomy": "food"}, 400, "'food'", "dimension=value"),
        ("/api/search", {"query": "x", "taxonomy": "sectors=fod"}, 404, "'fod'", "food"),
        ("/api/search", {"query": "x", "taxonomy": "scale=big"}, 404, "field 'scale'", "sectors"),
        ("/api/search", {"query": "x", "author": "Ilse Maran"}, 404, "author", "Ilse Marrane"),
        ("/api/search", {"query": "x", "language": "xx"}, 404, "language 'xx'", "known: en"),
        ("/api/search", {"query": "x", "speaker": "Ana"}, 404, "several", "Ana Holm, Ana Weir"),
        ("/api/search", {"query": "x", "topic": "sea"}, 404, "'sea'", "known: harbour, hills"),
        ("/api/search/speaker/Ben Reet", {}, 404, "no speaker 'Ben Reet'", "similar: Ben Reed"),
        ("/api/search/speaker/Cem", {"topic": "harbour"}, 404, "'Cem'", "Ana Holm"),
        ("/api/search/date-range", {"query": "x"}, 400, "neither start nor end", "give start"),
        ("/api/search/date-range", {"start": "2026-13"}, 400, "'2026-13'", "write 2025"),
        ("/api/segments/psg_0/context", {}, 404, "no passage 'psg_0'", "search again"),
        ("/api/segments/psg_0/context", {"before": "51"}, 400, "before has to be", "at /docs"),
        ("/api/documents/Handbok", {}, 404, "'Handbok'", "similar titles: Handbook"),
        ("/api/documents/meeting", {}, 404, "2 documents have 'meeting'", "Hill meeting"),
        ("/api/documents", {"order": "size"}, 400, "order has to be", "at /docs"),
        ("/api/videos/Osprey/transcript", {}, 404, "no recording", "there are 4"),
        ("/api/videos/Sounds of the pier/transcript", {}, 400, "not a transcript", "as a document"),
        (f"/api/videos/{MEETING}/transcript", {"from": "a"}, 400, "'a' is not a time", "MM:SS"),
        (f"/api/videos/{MEETING}/transcript", {"from": "9", "to": "1"}, 400, "ends", "swap"),
        (f"/api/videos/{MEETING}/transcript", {"speaker": "Cem"}, 404, "'Cem'", "Ben Reed"),
        ("/api/topics", {"topic": "sea"}, 404, "'sea'", "known: harbour, hills"),
        ("/api/topics/harbor/timeline", {}, 404, "'harbor'", "similar names: harbour"),
        ("/api/topics/osprei/timeline", {"topic": "hills"}, 404, "'osprei'", "no similar names"),
        ("/api/topics/harbour/timeline", {"kind": "entity"}, 404, "no entity", ""),
        ("/api/topics/harbour/timeline", {"from": "2026", "to": "2025"}, 400, "ends", "swap"),
        ("/api/topics/harbour/timeline", {"kind": "place"}, 400, "kind has to be", "at /docs"),
    ],
)
async def test_what_cannot_be_served_says_why_and_what_to_do(
    harbour: httpx.AsyncClient,
    path: str,
    params: dict[str, str],
    status: int,
    detail: str,
    hint: str,
) -> None:
    said = await refused(harbour, path, **params)
    assert said[0] == status, said
    assert detail in said[1]
    assert hint in said[2]


# --- by speaker, by date ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Ana Holm", "ana holm", "HOLM"])
async def test_only_what_the_speaker_says_is_quoted(harbour: httpx.AsyncClient, name: str) -> None:
    body = await got(harbour, f"/api/search/speaker/{name}", query="measure the noise")
    (result,) = body["results"]
    assert body["limits"]["speakers"] == ["Ana Holm"]
    assert result["quote"] == "We will measure the noise in April. The bakery has offered bread."
    assert result["locator"] == "00:10 · Ana Holm"
    assert result["link"] == "https://media.example/meeting.mp3#t=10"
    assert result["score"] > 0


async def test_a_date_range_is_searched_or_listed_newest_first(
    harbour: httpx.AsyncClient,
) -> None:
    path = "/api/search/date-range"
    listed = await got(harbour, path, start="2026-02", end="2026-03-01")
    assert titles(listed) == [MEETING, "Bakery wins prize for rye bread", "Sounds of the pier"]
    assert listed["total"] == 3
    assert listed["results"][2]["quote"].startswith("An hour of waves")
    part = await got(harbour, path, start="2026-02", end="2026-03-01", limit=1, offset=1)
    assert titles(part) == ["Bakery wins prize for rye bread"]
    found = await got(harbour, path, start="2026-02", query="bread prize", limit=1)
    assert titles(found) == ["Bakery wins prize for rye bread"]
    assert found["total"] is None
    assert titles(await got(harbour, path, start="2026-03-02", topic="hills")) == ["Hill meeting"]


async def test_context_is_what_stands_around_in_the_document(harbour: httpx.AsyncClient) -> None:
    found = await got(harbour, "/api/search", query="anchors", limit=1, mode="text")
    known = found["results"][0]["passageId"]
    body = await got(harbour, f"/api/segments/{known}/context", before=5, after=2)
    assert (body["title"], body["ordinal"], body["passages"]) == ("Handbook", 1, 5)
    assert [one["locator"] for one in body["before"]] == ["§ Handbook"]
    assert [one["locator"] for one in body["after"]] == ["§ Handbook › Lamps", "§ Handbook › Pumps"]
    assert body["passage"]["passageId"] == known
    short = await got(harbour, f"/api/segments/{known[:14]}/context", before=0, after=0)
    assert (short["passage"], short["before"], short["after"]) == (body["passage"], [], [])
    inside = await harbour.get(f"/api/segments/{known}/context", params={"topic": "hills"})
    assert inside.status_code == 404


# --- lists -----------------------------------------------------------------------------------


async def test_documents_come_in_pages(harbour: httpx.AsyncClient) -> None:
    whole = await got(harbour, "/api/documents", order="title")
    assert whole["total"] == len(whole["documents"]) == 9
    assert titles(whole, "documents") == sorted(titles(whole, "documents"), key=str.lower)
    part = await got(harbour, "/api/documents", order="title", limit=2, offset=8)
    assert part["documents"] == whole["documents"][8:]
    assert (part["total"], part["offset"]) == (9, 8)
    newest = await got(harbour, "/api/documents")
    assert titles(newest, "documents")[0] == "Ferry Osprey back in service"
    assert newest["documents"][-1]["publishedAt"] is None
    oldest = await got(harbour, "/api/documents", order="oldest", limit=1)
    assert titles(oldest, "documents") == ["Ferry Osprey breaks down"]
    said = await got(harbour, "/api/documents", speaker="weir", taxonomy=[])
    assert titles(said, "documents") == [MEETING]
    both = await got(harbour, "/api/documents", taxonomy=["sectors=food", "sectors=transport"])
    assert both["total"] == 3


async def test_a_document_is_found_by_id_title_and_address(harbour: httpx.AsyncClient) -> None:
    body = await got(harbour, "/api/documents/https://herald.example/2")
    assert body["title"] == "Ferry Osprey back in service"
    assert body["authors"] == ["Ilse Marrane", "Jon Tarn"]
    assert body["taxonomy"] == {"sectors": ["transport"]}
    assert [(one["id"], one["mentions"]) for one in body["entities"]] == [("fleet/osprey", 1)]
    assert body["text"].startswith("The ferry Osprey is back")
    for name in (body["documentId"], "ferry osprey back in service", "back in service"):
        again = await got(harbour, f"/api/documents/{name}", text="false")
        assert again == {**body, "text": None}
    outside = await harbour.get(f"/api/documents/{body['documentId']}", params={"topic": "hills"})
    assert outside.status_code == 404


async def test_a_transcript_is_told_turn_by_turn(harbour: httpx.AsyncClient) -> None:
    body = await got(harbour, f"/api/videos/{MEETING}/transcript")
    assert [(one["speaker"], one["begin"], one["finish"]) for one in body["turns"]] == [
        ("Ana Holm", 1.0, 5.0),
        ("Ben Reed", 6.0, 9.5),
        ("Ana Holm", 10.0, 19.0),
        ("Ana Weir", 3602.0, 3606.0),
    ]
    last = body["turns"][-1]
    assert (last["locator"], last["text"]) == (
        "1:00:02 · Ana Weir",
        "Good night to everyone on the pier.",
    )
    assert last["link"] == "https://media.example/meeting.mp3#t=3602"
    assert [cue["begin"] for cue in body["turns"][2]["cues"]] == [10.0, 14.5]
    context = await got(harbour, f"/api/segments/{last['passageId']}/context")
    assert last["text"] in context["passage"]["quote"]
    captions = await got(harbour, "/api/videos/captions/transcript")
    assert [(one["speaker"], one["begin"]) for one in captions["turns"]] == [("", 1.0)]


@pytest.mark.parametrize(
    ("params", "begins"),
    [
        ({"speaker": "ana"}, [1.0, 10.0, 3602.0]),
        ({"speaker": "Ana Weir"}, [3602.0]),
        ({"from": "0:06", "to": "10"}, [6.0, 10.0]),
        ({"from": "9.5"}, [10.0, 3602.0]),
        ({"from": "1:00:00"}, [3602.0]),
        ({"to": "00:05"}, [1.0]),
        ({"speaker": "ben", "from": "0:20"}, []),
    ],
)
async def test_part_of_a_transcript(
    harbour: httpx.AsyncClient, params: dict[str, str], begins: list[float]
) -> None:
    body = await got(harbour, f"/api/videos/{MEETING}/transcript", **params)
    assert [turn["begin"] for turn in body["turns"]] == begins
    assert body["total"] == 4


# --- topics ----------------------------------------------------------------------------------


async def test_topics_have_counts_and_what_is_named_most(harbour: httpx.AsyncClient) -> None:
    body = await got(harbour, "/api/topics")
    town, hills = body["topics"]
    assert (town["name"], town["documents"], town["passages"]) == ("harbour", 8, 12)
    assert town["kinds"] == {"article": 4, "entity": 1, "page": 1, "transcript": 2}
    assert (town["first"], town["last"]) == ("2026-01-05T00:00:00Z", "2026-03-20T00:00:00Z")
    assert [(one["title"], one["mentionedIn"]) for one in town["entities"]] == [("Osprey", 2)]
    assert (hills["name"], hills["entityCount"], hills["entities"]) == ("hills", 0, [])
    only = await got(harbour, "/api/topics", topic="hills")
    assert titles({"results": [{"title": one["name"]} for one in only["topics"]]}) == ["hills"]
    none = await got(harbour, "/api/topics", entities=0)
    assert none["topics"][0]["entities"] == []


async def test_the_timeline_of_a_collection_is_its_stories(harbour: httpx.AsyncClient) -> None:
    body = await got(harbour, "/api/topics/Harbour/timeline", unit="month")
    assert (body["taken"], body["id"], body["counted"]) == ("collection", "harbour", "documents")
    assert [(one["label"], one["count"]) for one in body["periods"]] == [
        ("2026-01", 1),
        ("2026-02", 2),
        ("2026-03", 2),
    ]
    assert body["undated"] == 3
    assert {one["kind"] for one in body["entries"]} == {"story"}
    ferry = body["entries"][0]
    assert (ferry["count"], ferry["at"][:10], ferry["last"][:10]) == (2, "2026-01-05", "2026-03-20")
    assert ferry["source"]["quote"] == "The ferry Osprey broke down off the harbour on Monday."
    assert (await harbour.get(f"/api/segments/{ferry['passageId']}/context")).status_code == 200
    february = await got(
        harbour, "/api/topics/harbour/timeline", **{"from": "2026-02", "to": "2026-02", "limit": 1}
    )
    assert (february["total"], titles(february, "entries")) == (
        2,
        ["Bakery wins prize for rye bread"],
    )


@pytest.mark.parametrize("name", ["osprey", "the white ferry", "fleet/osprey"])
async def test_the_timeline_of_an_entity_is_who_names_it(
    harbour: httpx.AsyncClient, name: str
) -> None:
    body = await got(harbour, f"/api/topics/{name}/timeline")
    assert (body["taken"], body["id"], body["collections"]) == (
        "entity",
        "fleet/osprey",
        ["harbour"],
    )
    assert (body["unit"], len(body["periods"])) == ("week", 11)
    assert titles(body, "entries") == ["Ferry Osprey breaks down", "Ferry Osprey back in service"]
    newest = await got(harbour, f"/api/topics/{name}/timeline", limit=1)
    assert titles(newest, "entries") == ["Ferry Osprey back in service"]
    assert newest["total"] == 2
    early = await got(harbour, f"/api/topics/{name}/timeline", to="2026-02")
    assert titles(early, "entries") == ["Ferry Osprey breaks down"]
    assert sum(one["count"] for one in early["periods"]) == 1


# --- documentation ---------------------------------------------------------------------------


async def test_every_route_and_body_is_on_the_page_of_the_interface(
    harbour: httpx.AsyncClient,
) -> None:
    described = (await harbour.get("/openapi.json")).json()
    page = (await harbour.get("/docs", headers={"accept": "text/html"})).text
    for path, methods in described["paths"].items():
        for method in methods:
            assert f">{method.upper()}</code> <code>{path}</code>" in page
    bodies = set(described["components"]["schemas"])
    assert set(re.findall(r'<section id="(\w+)"><h3>', page)) == bodies
    assert set(re.findall(r'<a href="#(\w+)">\w+</a>', page)) <= bodies
