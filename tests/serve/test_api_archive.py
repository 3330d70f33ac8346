"""The look-ups of the archive, held to one contract: shape, limits, errors, times, nulls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import client_of, got, schema_of

from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.library.recordings import Transcript
from wellread.serve.features.documents_found import RecordingsBody, WholeDocumentBody
from wellread.serve.features.entities_shown import EntitiesBody, EntityBody
from wellread.serve.features.material_found import ResultsBody
from wellread.serve.features.timelines_shown import StoryListBody, TimelineBody, TopicsBody
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.locators import format_time

SAMPLE = Path(__file__).parents[2] / "src" / "wellread" / "sample"
MEETING = "Harbour meeting"
# Each list of the archive: its address, what it needs, its rows, its body.
LISTS: dict[str, tuple[dict[str, str], str, type]] = {
    "/api/search": ({"query": "engine"}, "results", ResultsBody),
    "/api/search/speaker/Ana Holm": ({}, "results", ResultsBody),
    "/api/search/date-range": ({"start": "2026"}, "results", ResultsBody),
    "/api/videos": ({}, "videos", RecordingsBody),
    "/api/entities": ({}, "entities", EntitiesBody),
    "/api/stories": ({}, "stories", StoryListBody),
}
ONES: dict[str, type] = {
    f"/api/videos/{MEETING}/transcript": Transcript,
    "/api/entities/fleet/osprey": EntityBody,
    "/api/topics": TopicsBody,
    "/api/topics/harbour/timeline": TimelineBody,
    "/api/topics/osprey/timeline": TimelineBody,
    f"/api/documents/{MEETING}": WholeDocumentBody,
}


async def refused(client: httpx.AsyncClient, path: str, status: int, **params: Any) -> str:
    response = await client.get(path, params=params)
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error", "detail", "hint"}
    assert body["detail"]
    assert body["hint"]
    return str(body["detail"])


def places(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every locator of a body with the facts behind it."""
    if isinstance(body, dict):
        if "locator" in body and "place" in body:
            yield body["locator"], body["place"]
        for value in body.values():
            yield from places(value)
    elif isinstance(body, list):
        for value in body:
            yield from places(value)


def same_times(body: Any) -> int:
    """That every place has its time in words and in seconds, or in neither; how many have one."""
    timed = 0
    for locator, place in places(body):
        assert set(place) == {"page", "box", "begin", "speaker", "heading", "line"}
        words = locator.split(" · ")
        if place["begin"] is None:
            assert place["speaker"] is None
        else:
            timed += 1
            assert words[0] == format_time(place["begin"])
            assert words[1:] == [place["speaker"]] * (place["speaker"] is not None)
    return timed


@pytest.mark.parametrize("path", LISTS)
async def test_a_list_has_its_shape_its_limits_and_its_errors(
    harbour: httpx.AsyncClient, path: str
) -> None:
    needed, rows, model = LISTS[path]
    whole = await got(harbour, path, **needed)
    assert schema_of(model).model_validate(whole).model_dump(mode="json") == whole
    assert whole[rows]
    same_times(whole)
    first = await got(harbour, path, **needed, limit=1)
    assert first[rows] == whole[rows][:1]
    rest = await got(harbour, path, **needed, offset=1)
    assert rest[rows][: len(whole[rows]) - 1] == whole[rows][1:]
    if whole["total"] is not None:
        assert whole["total"] == first["total"] == len(whole[rows])
        far = await got(harbour, path, **needed, offset=900)
        assert (far[rows], far["total"]) == ([], whole["total"])
    inside = await got(harbour, path, **needed, topic="harbour")
    assert {one["collection"] for one in inside[rows]} == {"harbour"}
    for wrong in ({"limit": 0}, {"limit": 10_000}, {"offset": -1}, {"speakr": "x"}):
        await refused(harbour, path, 400, **needed, **wrong)
    assert "sea" in await refused(harbour, path, 404, **needed, topic="sea")


@pytest.mark.parametrize("path", ONES)
async def test_one_thing_has_its_shape_and_its_errors(
    harbour: httpx.AsyncClient, path: str
) -> None:
    body = await got(harbour, path)
    model = ONES[path]
    assert schema_of(model).model_validate(body).model_dump(mode="json") == body
    same_times(body)
    known = "limit" if "entities" in path else "speakr"
    await refused(harbour, path, 400, **{known: -1})
    if path != "/api/topics":
        parts = path.split("/")
        parts[3] = "nothing of this name"
        await refused(harbour, "/".join(parts), 404)


# --- a search forgives ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "query"),
    [("/api/search", "engne"), ("/api/search/speaker/Ben Reed", "engne loud")],
)
async def test_a_misspelt_word_is_searched_for_as_it_was_meant(
    harbour: httpx.AsyncClient, path: str, query: str
) -> None:
    body = await got(harbour, path, query=query)
    assert body["query"] == query
    assert body["notes"] == ["“engne” was not found; searched for “engine”"]
    assert any("engine" in one["quote"] for one in body["results"])
    right = await got(harbour, path, query=query.replace("engne", "engine"))
    assert right["notes"] == []
    assert body["results"] == right["results"]


# --- entities and stories ------------------------------------------------------------------


async def test_entities_are_listed_filtered_and_ordered(harbour: httpx.AsyncClient) -> None:
    body = await got(harbour, "/api/entities")
    (osprey,) = body["entities"]
    assert (osprey["title"], osprey["type"], osprey["mentionedIn"]) == ("Osprey", "vessel", 2)
    assert (body["types"], body["total"]) == ({"vessel": 1}, 1)
    assert (await got(harbour, "/api/entities", query="WHITE"))["total"] == 1
    assert (await got(harbour, "/api/entities", query="red"))["total"] == 0
    assert (await got(harbour, "/api/entities", type="vessel", order="title"))["total"] == 1
    said = await refused(harbour, "/api/entities", 404, type="ship")
    assert said == "there is no entity of the type 'ship'"
    await refused(harbour, "/api/entities", 400, order="size")


async def test_stories_are_listed_by_date_and_found_by_words(harbour: httpx.AsyncClient) -> None:
    body = await got(harbour, "/api/stories")
    assert body["stories"][0]["title"] == "Ferry Osprey breaks down"
    ferry = body["stories"][0]
    assert (ferry["items"], ferry["score"], body["query"]) == (2, None, "")
    told = ferry["summary"][0]
    document = await got(harbour, f"/api/documents/{told['documentId']}")
    assert told["text"] == document["text"][slice(*told["sourceSpan"].values())]
    assert (await harbour.get(told["viewUrl"])).status_code == 200
    early = await got(harbour, "/api/stories", to="2026-02-15", **{"from": "2026-02-05"})
    assert [one["title"] for one in early["stories"]] == ["Bakery wins prize for rye bread"]
    assert early["total"] == 1
    found = await got(harbour, "/api/stories", query="rye bread prize", limit=1)
    assert found["stories"][0]["title"] == "Bakery wins prize for rye bread"
    assert (found["total"], found["stories"][0]["score"] > 0) == (None, True)
    await refused(harbour, "/api/stories", 400, **{"from": "2026", "to": "2025"})
    whole = await got(harbour, f"/api/topics/{ferry['id']}/timeline", kind="story")
    assert whole["total"] == 2


# --- papers --------------------------------------------------------------------------------


async def test_a_paper_has_authors_and_abstract(tmp_path: Path) -> None:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(SAMPLE / "papers" / "seagrass.pdf")], collection="sea")
        async with client_of(create_app(kb)) as client:
            body = await got(client, "/api/documents/Hessian Bags")
    assert body["authors"] == ["Elin Marrack", "Owen Tarrant"]
    assert body["abstract"].startswith("Eelgrass meadows are often restored from seed")
