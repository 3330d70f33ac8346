"""The library's pages: the table, what is chosen in it, collections, runs, and who sees what."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from tests.serve.accounts.conftest import Visitor
from tests.serve.accounts.conftest import _cheap as _cheap
from tests.serve.accounts.conftest import accounts as accounts
from tests.serve.accounts.conftest import server as server
from tests.serve.accounts.conftest import visitor as visitor
from tests.serve.conftest import page, words

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.types import Filters
from wellread.values.answers import Question


def titles(found: Any) -> list[str]:
    return [words(one) for one in found.xpath("//table//tbody/tr/th/a")]


async def ended(client: httpx.AsyncClient, address: str) -> Any:
    """The page of a run when it has ended."""
    while True:
        found = await page(client, address)
        if not found.xpath("//*[@data-running]"):
            return found
        await asyncio.sleep(0.05)


async def test_the_table_is_searched_filtered_and_sorted(client: httpx.AsyncClient) -> None:
    every = titles(await page(client, "/library?order=title"))
    assert sorted(every, key=str.casefold) == every
    assert titles(await page(client, "/library?find=SEAGRASS")) == ["Seagrass"]
    assert titles(await page(client, "/library?find=sea+ferry")) == []
    assert titles(await page(client, "/library?kind=transcript&collection=town")) == ["Talk"]
    longest = await page(client, "/library?order=largest")
    lengths = [int(words(one)) for one in longest.xpath("//td[@class='number']")]
    assert lengths == sorted(lengths, reverse=True)
    [sorted_by] = longest.xpath("//th[@aria-sort]")
    assert words(sorted_by).startswith("Words")


async def test_chosen_documents_are_asked_moved_and_removed_with_the_proof(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    [seagrass] = kb.catalogue.documents("nature")
    town = kb.catalogue.documents("town")
    chosen: dict[str, Any] = {"document": [seagrass.id, town[0].id]}
    asking = await client.get("/library/selected", params={**chosen, "action": "ask"})
    assert asking.headers["location"] == f"/?document={seagrass.id}&document={town[0].id}"
    asked = await page(client, f"/library/selected?action=move&document={seagrass.id}")
    assert [one.get("value") for one in asked.xpath("//main//datalist/option")] == [
        "nature",
        "town",
    ]
    moved = await client.post("/library/move", data={**chosen, "collection": "coast"})
    assert moved.headers["location"] == "/library?collection=coast"
    there = kb.catalogue.documents("coast")
    assert {one.title for one in there} == {seagrass.title, town[0].title}
    gone = await client.post("/library/remove", data={"document": [one.id for one in there]})
    assert "No trace is left" in gone.text
    assert kb.catalogue.documents("coast") == []
    nothing = await client.get("/library/selected", params={"action": "move"})
    assert nothing.status_code == 400


async def test_a_question_is_limited_to_the_documents_that_were_chosen(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    [seagrass] = kb.catalogue.documents("nature")
    found = await client.get("/api/search", params={"query": "ferry", "document": seagrass.id})
    assert {one["documentId"] for one in found.json()["results"]} <= {seagrass.id}


async def test_collections_are_made_described_renamed_merged_and_removed(
    client: httpx.AsyncClient,
) -> None:
    async def listed() -> dict[str, str]:
        found = await page(client, "/library/collections")
        rows = found.xpath("//table//tbody/tr")
        return {words(row[0]): words(row[1]) for row in rows}

    async def send(way: str, **form: str) -> None:
        reply = await client.post(f"/library/collections{way}", data=form)
        assert reply.status_code in (200, 303), reply.text

    await send("", name="later", description="Not read yet.")
    assert (await listed())["later"] == "Not read yet."
    await send("/change", collection="nature", name="sea", description="The coast.")
    assert (await listed())["sea"] == "The coast."
    await send("/change", collection="sea", name="town", merge="true")
    assert set(await listed()) == {"later", "town"}
    assert len(titles(await page(client, "/library?collection=town"))) == 4
    await send("/remove", collection="town")
    assert set(await listed()) == {"later"}


async def test_a_run_tells_each_file_and_leads_to_asking_what_it_brought(
    client: httpx.AsyncClient,
) -> None:
    files = [("files", ("pier.md", b"# Pier\n\nIt is green.")), ("files", ("bad.vtt", b"WEBVTT"))]
    reply = await client.post("/library/upload", data={"collection": "new"}, files=files)
    found = await ended(client, reply.headers["location"])
    states = {
        words(one.xpath(".//strong")[0]): words(one.xpath("./*[contains(@class, 'state')]")[0])
        for one in found.xpath("//ul[contains(@class, 'files')]/li")
    }
    assert states == {"pier.md": "ready", "bad.vtt": "failed"}
    assert "add them again" in words(found)
    [ask] = found.xpath("//a[contains(., 'Ask this document')]/@href")
    assert re.fullmatch(r"/\?document=doc_[0-9a-f]{24}", ask)


async def test_a_document_begins_with_what_it_is_about(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    question = "What was the ferry Osprey bought for?"
    given = await final(answer(kb, Question(text=question, filters=Filters())))
    found = await page(client, f"/view/{given.citations[0].document_id}")
    [about] = found.xpath("//section[@aria-label='About this document']")
    assert "bought for 2.6 million euros" in words(about)
    assert about.xpath(f".//a[@href='/answers/{given.id}']")
    assert words(about.xpath(".//a[contains(@href, 'start=')]")[-1]) == "Timetable"
    assert not about.xpath(".//input[@name='q']")  # without a model there is no summary


async def test_a_summary_is_kept_on_the_page_until_the_text_changes(
    client: httpx.AsyncClient, kb: KnowledgeBase, town: Path, tmp_path: Path
) -> None:
    given = await final(answer(kb, Question(text="What was the ferry Osprey bought for?")))
    question = "Summarise “The ferry” in five sentences."
    for name, by in (("ans_summary", "some:model"), ("ans_extracts", given.answered_by)):
        kb.catalogue.record_answer(replace(given, id=name, question=question, answered_by=by))
    address = f"/view/{given.citations[0].document_id}"
    [about] = (await page(client, address)).xpath("//section[@aria-label='About this document']")
    assert about.xpath(".//a[@href='/answers/ans_summary']")
    assert about.xpath(".//p[@class='lead']/a[@class='cite']")
    original = town / "ferry.md"
    before = original.read_text(encoding="utf-8")
    original.write_text(before + "\nIt was sold again.\n", encoding="utf-8")
    try:
        add(kb, [str(town)], collection="town")
    finally:
        original.write_text(before, encoding="utf-8")
    [about] = (await page(client, address)).xpath("//section[@aria-label='About this document']")
    assert not about.xpath(".//a[@href='/answers/ans_summary']")


# --- who sees what ---------------------------------------------------------------------------


async def test_only_an_admin_sees_folders_of_the_server(
    visitor: Visitor, kb: KnowledgeBase
) -> None:
    folder = kb.catalogue.documents("town")[0].uri.rpartition("/")[0].removeprefix("file://")
    job = next(one.id for one in kb.catalogue.jobs.newest() if one.collection == "town")
    known = kb.catalogue.documents("town")[0].id
    addresses = (f"/view/{known}", "/library", "/library/jobs", f"/library/jobs/{job}")
    async with visitor("root") as client:
        assert folder in (await client.get(f"/library/jobs/{job}")).text
    async with visitor("ed") as client:
        for address in addresses:
            reply = await client.get(address)
            assert reply.status_code == 200
            assert folder not in reply.text, address
        assert "Folder on this machine" not in (await client.get("/library/add")).text


async def test_a_reader_has_no_controls_to_change_anything(visitor: Visitor) -> None:
    async with visitor("rea") as client:
        for address in ("/library", "/library/collections?name=town"):
            text = (await client.get(address)).text
            assert "Ask" in text
            assert not re.search(r"Move to|Remove|/library/add|Change|data-may-edit", text), address


async def test_who_may_read_nothing_is_told_whom_to_ask(
    visitor: Visitor, accounts: Accounts
) -> None:
    accounts.users.add("new", "reader", "a pier in the fog")
    async with visitor("new") as client:
        text = (await client.get("/")).text
    assert "Nothing is open to you yet" in text
    assert "Ask root to give you the right" in text
