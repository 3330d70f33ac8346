"""Documents at their cited place: changed and removed sources, recordings, pages as pictures."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from tests.serve.conftest import page, words

import wellread.sample
from wellread.ask.answer import answer, final
from wellread.identity import document_id
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.serve.web.answer_parts import citation_address
from wellread.types import Filters
from wellread.values.answers import Answer, Question

SPRING = "The lighthouse keeper paints the lantern room every spring."
TALK = """WEBVTT

00:00:02.000 --> 00:00:06.000
<v Greta Holt>The smithy roof will be mended in August.

00:00:41.500 --> 00:00:45.000
<v Per Lind>The keys of the smithy hang behind the bellows.
"""


async def asked(kb: KnowledgeBase, question: str, collection: str) -> Answer:
    given = await final(
        answer(kb, Question(text=question, filters=Filters(collections=(collection,))))
    )
    assert given.citations
    return given


def marked(found: Any) -> str:
    return "".join(one.text_content() for one in found.xpath("//mark[not(@class)]"))


# --- sources that have changed ---------------------------------------------------------------


@pytest.fixture
def note(tmp_path: Path, kb: KnowledgeBase) -> Path:
    """A file that says when the keeper paints."""
    path = tmp_path / "keeper.txt"
    path.write_text(SPRING, encoding="utf-8")
    add(kb, [str(path)], collection="light")
    return path


async def test_a_source_that_has_changed_says_so_and_marks_nothing(
    kb: KnowledgeBase, client: httpx.AsyncClient, note: Path
) -> None:
    given = await asked(kb, "When does the lighthouse keeper paint the lantern room?", "light")
    note.write_text(f"A storm came in the night.\n\n{SPRING}\n", encoding="utf-8")
    add(kb, [str(note)], collection="light")
    found = await page(client, citation_address(given, given.citations[0]))
    assert marked(found) == ""
    assert "has changed since it was cited" in words(found.xpath("//*[@role='note']")[0])


async def test_a_removed_source_shows_that_it_was_and_keeps_no_quote(
    kb: KnowledgeBase, client: httpx.AsyncClient, note: Path
) -> None:
    given = await asked(kb, "When does the lighthouse keeper paint the lantern room?", "light")
    kb.catalogue.remove_documents([document_id("light", note.as_uri())])
    found = await page(client, citation_address(given, given.citations[0]), status=404)
    assert "removed since it was cited" in words(found)
    assert "every spring" not in words(found)


# --- recordings ------------------------------------------------------------------------------


def silence(path: Path, seconds: int) -> Path:
    """A recording in which nothing is said."""
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(1)
        out.setframerate(8_000)
        out.writeframes(b"\x80" * 8_000 * seconds)
    return path


@pytest.fixture
def talk(tmp_path: Path, kb: KnowledgeBase) -> Path:
    """A transcript with its recording beside it."""
    path = tmp_path / "smithy.vtt"
    path.write_text(TALK, encoding="utf-8")
    silence(path.with_suffix(".wav"), 60)
    add(kb, [str(path)], collection="smithy")
    return path


async def test_the_player_begins_at_the_second_of_the_turn(
    kb: KnowledgeBase, client: httpx.AsyncClient, talk: Path
) -> None:
    given = await asked(kb, "Where do the keys of the smithy hang?", "smithy")
    found = await page(client, citation_address(given, given.citations[0]))
    (player,) = found.xpath("//audio")
    assert float(player.get("data-begin")) == 41.5
    assert "0:41" in words(found.xpath("//*[@class='timeline-marks']")[0])
    whole = await client.get(player.get("src"))
    assert whole.status_code == 200
    assert whole.headers["content-type"] == "audio/x-wav"
    assert whole.content == talk.with_suffix(".wav").read_bytes()


async def test_a_recording_comes_in_the_parts_that_a_player_asks_for(
    kb: KnowledgeBase, client: httpx.AsyncClient, talk: Path
) -> None:
    known = document_id("smithy", talk.as_uri())
    address = f"/documents/{known}/media"
    part = await client.get(address, headers={"range": "bytes=100-199"})
    assert part.status_code == 206
    assert part.content == talk.with_suffix(".wav").read_bytes()[100:200]
    beyond = await client.get(address, headers={"range": "bytes=99999999-"})
    assert beyond.status_code == 416


async def test_nothing_but_a_recording_is_given_out(
    kb: KnowledgeBase, client: httpx.AsyncClient, talk: Path
) -> None:
    wav = talk.with_suffix(".wav")
    wav.unlink()
    wav.with_suffix(".txt").write_text("a secret", encoding="utf-8")
    known = document_id("smithy", talk.as_uri())
    assert (await client.get(f"/documents/{known}/media")).status_code == 404
    assert (await client.get("/documents/..%2F..%2Fetc/media")).status_code == 404


# --- pages as pictures -----------------------------------------------------------------------


@pytest.fixture
def paper(tmp_path: Path, kb: KnowledgeBase) -> Path:
    """The sample's paper, in a file that the test may change."""
    path = tmp_path / "seagrass.pdf"
    sample = Path(wellread.sample.__file__).parent / "papers" / "seagrass.pdf"
    path.write_bytes(sample.read_bytes())
    add(kb, [str(path)], collection="papers")
    return path


async def test_a_cited_page_is_a_picture_with_boxes_over_the_quote(
    kb: KnowledgeBase, client: httpx.AsyncClient, paper: Path
) -> None:
    given = await asked(kb, "How many seeds were sown in Skerrick Bay?", "papers")
    cited = given.citations[0]
    found = await page(client, citation_address(given, cited))
    assert found.xpath("//*[@id='cited']")
    assert found.xpath("//*[local-name()='rect']")
    picture = found.xpath(f"//img[contains(@src, '/pages/{cited.locator.page}.png')]/@src")[0]
    reply = await client.get(picture)
    assert reply.headers["content-type"] == "image/png"
    with Image.open(io.BytesIO(reply.content)) as image:
        assert image.width > 500
        assert image.height > image.width
    text = await page(client, citation_address(given, cited).replace("#", "&text=true#"))
    assert marked(text) == cited.quote


async def test_a_page_that_is_not_there_is_an_error(client: httpx.AsyncClient, paper: Path) -> None:
    known = document_id("papers", paper.as_uri())
    for number in ("0", "999", "-1", "one"):
        reply = await client.get(f"/documents/{known}/pages/{number}.png")
        assert reply.status_code in (400, 404, 422)


async def test_a_file_that_has_changed_on_the_disk_is_shown_as_text(
    kb: KnowledgeBase, client: httpx.AsyncClient, paper: Path
) -> None:
    given = await asked(kb, "How many seeds were sown in Skerrick Bay?", "papers")
    paper.write_bytes(paper.read_bytes()[:-200] + b"%" * 200)
    found = await page(client, citation_address(given, given.citations[0]))
    assert not found.xpath("//img[contains(@src, '.png')]")
    assert marked(found) == given.citations[0].quote
