"""A stranger walks every route: nothing of a collection that may not be read is there.

Every answer is the same as that of a home without the foreign collection, but for the ids and times
of what was asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
from fastapi import APIRouter
from fastapi.routing import APIRoute
from tests.serve.rights.conftest import CANARIES, RIVAL, As, Place, both, client_of, foreign_names
from tests.serve.rights.requests_of_a_stranger import EXAMPLES, Example, filled

from wellread.serve.http.app import ROUTERS

# What differs from one run to the next: ids that are drawn or counted, moments, how long it took.
DRAWN = re.compile(
    r"(?:ans|run|job|ses|fbk)_[\w-]{16,24}|/ask/[\w-]{16}|(?:resp|msg|chatcmpl)[_-][\w-]+"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::[\d.]+)?(?:Z|\+00:00| UTC)?"
    r'|"(?:seconds|created|created_at|completed_at)": ?[\d.e-]+|\b\d+(?:\.\d+)? (?:ms|s)\b'
    r'|"(?:latencies|steps)": ?\[.*?\]'
    r'|"(?:id|cluster)": ?"?c?\d+"?|/gaps/c?\d+|value="c?\d+"'
)
TIMED = ("/usage", "/figures")  # pages with how long everything took in all their tables


def declared() -> Iterator[str]:
    """Method and path of every route that the application answers."""
    for router in ROUTERS:
        yield from _of(router)


def _of(router: APIRouter) -> Iterator[str]:
    for route in router.routes:
        if isinstance(route, APIRoute):
            yield from (f"{method} {route.path}" for method in route.methods or ())
        else:
            yield from _of(getattr(route, "original_router"))  # noqa: B009 - of no public type


def test_no_route_is_forgotten() -> None:
    assert set(declared()) == set(EXAMPLES)


async def test_a_stranger_finds_nothing_foreign(
    rights_homes: tuple[Path, Path], tmp_path: Path
) -> None:
    wrong: list[str] = []
    async with both(rights_homes, tmp_path) as (mixed, alone):
        foreign = foreign_names(mixed.kb)
        names = {f"f_{kind}": value for kind, value in foreign.items()}
        names["f_ask"] = await begun_by_another(mixed)
        await begin(mixed)
        await begin(alone)
        for route, examples in EXAMPLES.items():
            method = route.partition(" ")[0]
            for example in examples:
                both_said = [
                    await send(place, method, filled(example, names | place.own))
                    for place in (mixed, alone)
                ]
                wrong += compared(f"{method} {example}", *both_said)
        if foreign_names(mixed.kb) != foreign:
            wrong.append("something foreign was changed")
    assert wrong == []


async def begun_by_another(place: Place) -> str:
    """The id of a question that somebody else had asked of the same server."""
    async with client_of(As(place.app, RIVAL)) as client:
        reply = await client.get("/", params={"q": "What is quixomel?"})
        path = reply.headers["location"].partition("?")[0]
        await client.get(f"{path}/events")
        return str(path.rpartition("/")[2])


async def begin(place: Place) -> None:
    """Ask in the name of the stranger, who has things of their own then."""
    asked = await place.client.post(
        "/api/ask", json={"question": "What does the ferry cost?", "sessionId": "new"}
    )
    assert asked.status_code == 200, asked.text
    body = asked.json()
    place.own |= {"o_answer": body["id"], "o_session": body["sessionId"]}
    place.own["o_document"] = body["citations"][0]["documentId"]


async def send(place: Place, method: str, example: Example) -> httpx.Response:
    """The response to an example."""
    given = dict(example)
    return await place.client.request(method, given.pop("path"), **given)


def compared(said: str, first: httpx.Response, second: httpx.Response) -> list[str]:
    """What is wrong with a response beside that of the home without the foreign collection."""
    wrong = []
    told, echoed = (f"{one.headers} {one.text}".lower() for one in (first, second))
    if leaked := [word for word in CANARIES if word in told and word not in echoed]:
        wrong.append(f"{said}: tells of {leaked}: {first.text[:2_000]}")
    if first.status_code != second.status_code:
        wrong.append(f"{said}: {first.status_code}, not {second.status_code}: {first.text[:300]}")
    elif (apart := difference(first, second)) and not is_timed(first):
        wrong.append(f"{said}: {apart}")
    # A role that does not do such a thing is told so, wherever it is done: 403 in both homes.
    if first.status_code >= 500 or (first.status_code == 403 and second.text != first.text):
        wrong.append(f"{said}: {first.status_code}: {first.text[:300]}")
    return wrong


def is_timed(response: httpx.Response) -> bool:
    """Whether it is a page that tells above all how long things took."""
    html = response.headers.get("content-type", "").startswith("text/html")
    return html and response.request.url.path in TIMED


def difference(first: httpx.Response, second: httpx.Response) -> str:
    """Where the two responses differ; empty where only what is drawn anew does."""
    one, other = (DRAWN.sub("·", response.text) for response in (first, second))
    if one == other:
        return ""
    places = range(min(len(one), len(other)))
    at = next((place for place in places if one[place] != other[place]), len(places))
    return f"…{one[max(0, at - 150) : at + 150]}… / …{other[max(0, at - 150) : at + 150]}…"
