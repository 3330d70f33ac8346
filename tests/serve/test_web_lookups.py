"""Pages that look things up: search, stories, entities, recordings, timelines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.serve.conftest import client_of, got, page, words

from wellread.identity import Asker
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.seen_by import view_for
from wellread.library.searches import MAX_SNIPPET_CHARS, snippet
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

PAGES = (
    "/search",
    "/search?query=ferry engine&limit=2",
    "/stories",
    "/entities",
    "/entities/fleet/osprey",
    "/media",
    "/timelines",
    "/timelines?name=Osprey",
)
EMPTY_PAGES = ("/search", "/stories", "/entities", "/media", "/timelines")
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
async def nothing(home: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application in which there is nothing."""
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as opened:
            yield opened


def texts(element: lxml.html.HtmlElement, path: str) -> list[str]:
    return [words(one) for one in element.xpath(path)]


# --- every page ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_can_be_used_without_a_script_a_mouse_or_eyes(
    harbour: httpx.AsyncClient, path: str
) -> None:
    found = await page(harbour, path)
    assert len(found.xpath("//h1")) == 1
    for field in found.xpath("//main//input[not(@type='hidden')] | //main//select"):
        labels = found.xpath(f"//label[@for='{field.get('id')}']") if field.get("id") else []
        assert labels or field.xpath("ancestor::label"), lxml.html.tostring(field)
    for form in found.xpath("//main//form"):
        assert form.xpath(".//button[not(@type)]")
    for table in found.xpath("//table"):
        (wrap,) = table.xpath("ancestor::div[@class='table-wrap']")
        assert (wrap.get("tabindex"), bool(wrap.get("aria-label"))) == ("0", True)
    assert not found.xpath("//@style | //style | //script[not(@src)] | //@onclick")
    ids = found.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {
        name.partition("#")[2] for name in found.xpath("//a[starts-with(@href,'#')]/@href")
    } <= {*ids}


@pytest.mark.parametrize("path", EMPTY_PAGES)
async def test_where_nothing_is_a_page_says_what_to_do(
    nothing: httpx.AsyncClient, path: str
) -> None:
    found = await page(nothing, path)
    (empty,) = found.xpath("//p[@class='empty']")
    assert empty.xpath("a[@href='/library']")


@pytest.mark.parametrize(
    ("path", "params", "said"),
    [
        ("/search", {"query": "x", "speaker": "Nobody"}, "no speaker 'Nobody'"),
        ("/search", {"query": "x", "collection": "sea"}, "'sea'"),
        ("/stories", {"collection": "sea"}, "'sea'"),
        ("/timelines", {"name": "Ospray"}, "entity or story named 'Ospray'. Filters"),
        ("/stories/sty_0", {}, "no story has an id that begins with 'sty_0'"),
        ("/entities/Ospray", {}, "similar names: Osprey"),
        ("/entities", {"collection": "sea"}, "'sea'"),
    ],
)
async def test_an_unknown_name_gives_a_page_that_says_so(
    harbour: httpx.AsyncClient, path: str, params: dict[str, Any], said: str
) -> None:
    found = await page(harbour, path, status=404, **params)
    assert said in words(found.xpath("//main")[0])


# --- what the pages show -----------------------------------------------------------------------


async def test_a_hit_shows_where_it_stands_with_its_words_marked(
    harbour: httpx.AsyncClient,
) -> None:
    asked: dict[str, Any] = {"query": "bells on the hook", "limit": 3, "mode": "text"}
    body = await got(harbour, "/api/search", **asked)
    found = await page(harbour, "/search", **asked)
    hits = found.xpath("//ol[@class='found']/li")
    assert len(hits) == 3
    for one, hit in zip(body["results"], hits, strict=True):
        assert texts(hit, ".//h2/a") == [one["title"]]
        assert hit.xpath(".//h2/a/@href") == [one["viewUrl"]]
        told = words(hit.xpath(".//blockquote")[0]).strip("… ")
        assert told in " ".join(one["quote"].split())
        assert len(told) < 400
        assert {name.casefold() for name in texts(hit, ".//mark")} <= {"bells", "hook"}
        assert hit.xpath(".//blockquote/mark")
        assert one["locator"] in words(hit)
        assert one["kind"] in words(hit)


@given(st.text(alphabet="ab鐘 .\n", max_size=1_500), st.sampled_from(["ab", "鐘", "bab aab"]))
def test_a_snippet_is_a_short_part_of_the_text(text: str, query: str) -> None:
    told = "".join(piece for piece, _ in snippet(text, query))
    bare = " ".join(told.removeprefix("… ").removesuffix(" …").split())
    assert bare in " ".join(text.split())
    assert len(told) <= MAX_SNIPPET_CHARS + 4


def test_a_long_sentence_is_cut_around_the_words_that_are_sought() -> None:
    text = "of this and that, " * 60 + "the lighthouse keepers slept" + " and so on" * 60
    pieces = snippet(f"A lamp. {text}. Another keeper.", "lighthouse keeper")
    assert [piece for piece, marked in pieces if marked] == ["lighthouse", "keepers"]
    assert pieces[0] == ("… ", False)
    assert pieces[-1][0].endswith(" …")


async def test_what_is_only_near_in_meaning_is_set_apart(harbour: httpx.AsyncClient) -> None:
    found = await page(harbour, "/search", query="xylophones quartz")
    assert "No passage holds these words. Near in meaning:" in words(found.xpath("//main")[0])
    assert found.xpath("//ol[@class='found']/li")
    assert not found.xpath("//main//mark")
    found = await page(harbour, "/search", query="engine", limit=20)
    (apart,) = found.xpath("//section[@class='apart']")
    assert not apart.xpath(".//mark")
    assert all(hit.xpath(".//mark") for hit in apart.xpath("preceding-sibling::ol/li"))


@pytest.mark.parametrize("path", ["/search", "/stories", "/timelines"])
async def test_a_wrong_date_is_told_at_its_field_and_all_else_is_kept(
    harbour: httpx.AsyncClient, path: str
) -> None:
    name = "name" if path == "/timelines" else "query"
    asked: dict[str, Any] = {name: "Osprey", "collection": "harbour", "to": "2026-13"}
    found = await page(harbour, path, status=400, **asked)
    (field,) = found.xpath("//main//input[@aria-invalid]")
    assert (field.get("name"), field.get("value")) == ("to", "2026-13")
    (told,) = found.xpath(f"//*[@id='{field.get('aria-describedby')}']")
    assert "'2026-13' is not a date" in words(told)
    assert found.xpath(f"//main//input[@name='{name}']/@value") == ["Osprey"]
    kept = "//main//*[@name='collection'][@checked]/@value|//main//option[@selected]/@value"
    assert "harbour" in found.xpath(kept)


# --- recordings and timelines ------------------------------------------------------------------


async def test_recordings_have_date_length_and_speakers(harbour: httpx.AsyncClient) -> None:
    found = await page(harbour, "/media", collection="harbour")
    assert [texts(row, "td") for row in found.xpath("//tbody/tr")] == [
        ["Harbour meeting", "2026-03-01", "1:00:06", "Ana Holm, Ben Reed, Ana Weir", "harbour"],
        ["Sounds of the pier", "2026-02-01", "", "", "harbour"],
        ["Captions", "no date", "00:04", "", "harbour"],
    ]
    found = await page(harbour, "/media", speaker="Cem Kaya")
    assert texts(found, "//tbody//a") == ["Hill meeting"]


async def test_a_timeline_has_a_chart_its_numbers_and_what_happened(
    harbour: httpx.AsyncClient,
) -> None:
    asked: dict[str, Any] = {"name": "Osprey", "collection": "harbour"}
    body = await got(harbour, "/api/topics/Osprey/timeline", collection="harbour")
    found = await page(harbour, "/timelines", **asked)
    assert len(found.xpath("//figure//rect")) == sum(
        period["count"] > 0 for period in body["periods"]
    )
    numbers = [texts(row, "th|td") for row in found.xpath("//figure//tbody/tr")]
    assert numbers == [[one["label"], str(one["count"])] for one in body["periods"]]
    events = found.xpath("//ol[@class='events']/li")
    assert texts(found, "//ol[@class='events']/li//a") == [
        entry["title"] for entry in reversed(body["entries"])
    ]
    assert len(events) == body["total"] >= 2
    for address, status in (("/timelines", 200), ("/timelines?name=Ospray", 404)):
        offered = await page(harbour, address, status=status)
        assert "/timelines?name=Osprey&collection=harbour" in offered.xpath("//main//a/@href")


async def test_only_tabs_with_something_behind_them_are_offered(
    harbour: httpx.AsyncClient, client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    tabs = "//nav[@class='tabs']//a"
    every = ["Search", "Stories", "Entities", "Recordings", "Timelines"]
    assert texts(await page(harbour, "/search"), tabs) == every
    assert texts(await page(client, "/search"), tabs) == ["Search", "Recordings"]
    nature = Asker(owner="ana", reads=frozenset({"nature"}))  # the recording is in the town
    assert view_for(kb, nature).catalogue.listings.holds() == frozenset()


# --- hostile material --------------------------------------------------------------------------


async def test_what_the_material_says_is_shown_and_not_run(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    said = f"The ferry {HOSTILE} broke down off the harbour. A tug towed the ferry {HOSTILE} home."
    item = {"title": HOSTILE, "published_at": "2026-01-05", "text": said, "authors": [HOSTILE]}
    (folder / "news.jsonl").write_text(json.dumps(item), encoding="utf-8")
    entity: dict[str, Any] = {"id": "x", "type": HOSTILE, "title": HOSTILE, "aliases": [HOSTILE]}
    entity |= {
        "url": "javascript:alert(1)",
        "relations": [{"type": HOSTILE, "target": HOSTILE * 2}],
    }
    (folder / "x.md").write_text(f"---\n{json.dumps(entity)}\n---\n{said}", encoding="utf-8")
    add(kb, [str(folder)], collection="town")
    stories = kb.catalogue.stories.latest()
    async with client_of(create_app(kb)) as client:
        for path in (
            f"/search?query=ferry {HOSTILE}",
            "/stories",
            *(f"/stories/{one.id}" for one in stories),
            "/entities",
            "/entities/x",
            f"/entities/{HOSTILE}nobody",
        ):
            response = await client.get(path, headers={"accept": "text/html"})
            assert response.status_code in (200, 404), response.text
            assert "<img" not in response.text, path
            assert "&lt;img" in response.text, path
            assert 'href="javascript' not in response.text, path


# --- the drawing of a neighbourhood ------------------------------------------------------------


@pytest.fixture
def fleet(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """A hub with eighty ships, one of which moors at a pier; and a pair at the pier."""
    folder = tmp_path / "fleet"
    folder.mkdir()

    def write(known: str, *relations: tuple[str, str]) -> None:
        told = [{"type": how, "target": target} for how, target in relations]
        head = {"id": known, "type": "thing", "title": known.title(), "relations": told}
        (folder / f"{known}.md").write_text(f"---\n{json.dumps(head)}\n---\nA thing.")

    write("hub", *(("owns", f"ship-{number:02}") for number in range(80)))
    write("ship-00", ("moors_at", "pier"))
    write("pier", ("near", "the moon"))
    write("gull", ("sits_on", "pier"))
    add(kb, [str(folder)], collection="town")
    return kb


async def test_a_drawing_has_the_neighbours_and_the_edges_to_them(
    fleet: KnowledgeBase,
) -> None:
    async with client_of(create_app(fleet)) as client:
        found = await page(client, "/entities/pier")
    assert set(found.xpath("//svg//line/title/text()")) == {
        "Ship-00 – moors_at – Pier",
        "Pier – near – the moon",
        "Gull – sits_on – Pier",
    }
    assert set(found.xpath("//main//svg//a/@href")) == {
        f"/entities/{name}?collection=town" for name in ("gull", "ship-00")
    }
    assert "not described yet" in words(found.xpath("//table[contains(., 'the moon')]")[0])
    tables = [texts(one, ".//tbody/tr") for one in found.xpath("//section//table")]
    assert [len(rows) for rows in tables] == [1, 2]
