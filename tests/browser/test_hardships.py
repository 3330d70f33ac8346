"""What goes wrong on the way to an answer: reloads, a killed server, no script, no mouse."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import MANAGER, SECONDS, Watched, ask, free_port, serve, stop
from tests.browser.test_tour import FEED, TALK
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.replies import Held, Text
from tests.doubles.web_server import Reply as Sent
from tests.doubles.web_server import WebServer
from tests.serve.test_web_documents import silence

TOLD = "Callum Voss manages the Netloft Tool Library [e1]. He does so with the help of "
SHIFTS = """self.shifted = 0;
new PerformanceObserver(list => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) self.shifted += one.value;
}).observe({ type: "layout-shift", buffered: true });"""
MAX_SHIFT = 0.05
MORE = "nine volunteers [e1]."


@pytest.fixture
def home(sample_home: Path, tmp_path: Path) -> Path:
    """A copy of the sample that the test may spoil."""
    return Path(shutil.copytree(sample_home, tmp_path / "home"))


@dataclass(frozen=True)
class Model:
    """A model that waits in the middle of its reply until ``go`` is set."""

    server: OpenAIServer
    go: threading.Event

    @property
    def settings(self) -> dict[str, str]:
        """What lets it write."""
        return {
            "WELLREAD_GENERATION_MODEL": "scripted",
            "WELLREAD_GENERATION_BASE_URL": self.server.url,
            "WELLREAD_GENERATION_RETRIES": "0",
        }


@pytest.fixture(scope="module")
def one_model() -> Iterator[Model]:
    """A model over HTTP."""
    go = threading.Event()
    held, whole = Held(text=TOLD, go=go, rest=MORE), Text(text=TOLD + MORE)
    # What asks for JSON reads the question or judges the answer, and would be waited for.
    with OpenAIServer([lambda asked: whole if "response_format" in asked.body else held]) as server:
        yield Model(server, go)


@pytest.fixture
def model(one_model: Model) -> Iterator[Model]:
    """The model; what it still holds back is told at the end of the test."""
    one_model.go.clear()
    yield one_model
    one_model.go.set()


@pytest.fixture(scope="module")
def written_site(
    sample_home: Path, one_model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a server over a copy of the sample, whose answers the model writes."""
    home = shutil.copytree(sample_home, tmp_path_factory.mktemp("written") / "home")
    process, address = serve(Path(home), settings=one_model.settings)
    yield address
    stop(process)


def begin(page: Page, address: str) -> None:
    """Ask, until the first words of the draft are there."""
    page.goto(f"{address}/?q={MANAGER.replace(' ', '+')}&fresh=true")
    expect(page.locator("#draft-text")).to_contain_text("Callum Voss")


def test_a_reload_and_a_second_tab_lose_nothing(
    browser: Browser, written_site: str, model: Model
) -> None:
    asked_before = len(model.server.chats)
    first = browser.new_page()
    begin(first, written_site)
    written = first.locator("#draft-text").inner_text()
    second = browser.new_page()
    second.goto(first.url)
    for page in (first, second):
        page.reload()
        expect(page.locator("#draft-text")).to_have_text(written)
    model.go.set()
    for page in (first, second):
        expect(page.locator("article.answer .said").first).to_contain_text("nine volunteers")
    assert first.url == second.url
    assert "/answers/" in first.url
    assert len(model.server.chats) - asked_before == 3  # one reads, one writes, one judges


def test_nothing_jumps_while_an_answer_is_written(
    browser: Browser, written_site: str, model: Model
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 520})
    page.add_init_script(SHIFTS)
    begin(page, written_site)
    model.go.set()
    expect(page.locator("#source #cited").first).to_be_visible()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert page.evaluate("shifted") <= MAX_SHIFT


def test_after_a_killed_server_the_question_is_interrupted_and_can_be_asked_again(
    browser: Browser, home: Path, model: Model
) -> None:
    port = free_port()
    process, address = serve(home, port=port, settings=model.settings)
    page = browser.new_page()
    begin(page, address)
    asked = page.url
    process.kill()
    process.wait(timeout=120)
    process.stdout.close()
    expect(page.locator("#now")).to_have_text("Connection lost; trying again")
    process, _ = serve(home, port=port)
    try:
        expect(page.locator("#ended-word")).to_have_text("Interrupted.", timeout=SECONDS)
        expect(page.locator("#retry")).to_be_focused()
        page.goto(asked)
        expect(page.locator("#ended-word")).to_have_text("Interrupted.")
        page.locator("#retry").press("Enter")
        expect(page.locator("article.answer")).to_be_visible()
        expect(page.locator("h1.question")).to_have_text(MANAGER)
    finally:
        stop(process)


def test_cancel_stops_the_work(browser: Browser, written_site: str, model: Model) -> None:
    page = browser.new_page()
    begin(page, written_site)
    page.get_by_role("button", name="Stop").press("Enter")
    expect(page.locator("#ended-word")).to_have_text("Stopped.")
    expect(page.locator("#retry")).to_be_focused()
    page.reload()
    expect(page.locator("#ended-word")).to_have_text("Stopped.")


def test_a_recording_beside_its_transcript_is_sought(
    watched: Watched, site: str, tmp_path: Path
) -> None:
    # What is removed from the same site elsewhere must stand nowhere else in it.
    talk = TALK.replace("smithy", "brewery")
    (tmp_path / "brewery.vtt").write_text(talk, encoding="utf-8")
    silence(tmp_path / "brewery.wav", 90)
    page = watched.page
    page.goto(f"{site}/library/add")
    page.locator("input[name=address]").fill(str(tmp_path))
    page.locator("form[action='/library/address'] input[name=collection]").fill("recorded")
    page.locator("input[name=address]").press("Enter")
    expect(page.locator(".run > p .state")).to_have_text("Done", timeout=SECONDS)
    page.goto(f"{site}/?collection=recorded&q=Where+do+the+keys+of+the+brewery+hang%3F")
    expect(page.locator("article.answer")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("#source audio")).to_be_visible()
    page.wait_for_function("() => document.querySelector('#source audio').currentTime === 70")
    marks = page.locator("#source .timeline-marks")
    expect(marks).to_contain_text("1:10")
    page.keyboard.press("p")
    page.wait_for_function("() => document.querySelector('#source audio').currentTime > 70.2")
    expect(page.locator("#source .playing")).to_contain_text("behind the bellows")


def test_a_feed_is_added_by_its_address(watched: Watched, site: str) -> None:
    feed = FEED.replace("smithy", "brewery")
    sent = Sent(body=feed.encode(), headers={"content-type": "application/rss+xml"})
    page = watched.page
    with WebServer({"/feed.xml": sent}) as web:
        page.goto(f"{site}/library/add")
        page.locator("input[name=address]").fill(web.url("/feed.xml"))
        page.locator("form[action='/library/address'] input[name=collection]").fill("news")
        page.locator("input[name=address]").press("Enter")
        expect(page.locator(".run > p .state")).to_have_text("Done", timeout=SECONDS)
    page.goto(f"{site}/?collection=news&q=What+were+the+bellows+mended+with%3F")
    expect(page.locator("article.answer")).to_contain_text("ox leather")


def test_the_question_as_it_was_understood_is_corrected(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, MANAGER)
    page.keyboard.press("/")
    page.keyboard.type("How many tools does it keep?")
    page.keyboard.press("Enter")
    understood = page.locator(".understood input[name=q]")
    expect(understood).to_be_visible()
    understood.fill("How many volunteers mend things at the repair cafe?")
    understood.press("Enter")
    expect(page.locator("h1.question")).to_have_text(
        "How many volunteers mend things at the repair cafe?"
    )
    expect(page.locator("article.answer")).to_be_visible()
    expect(page.locator(".turns > li")).to_have_count(2)


def test_without_script_one_asks_reads_opens_and_uploads(
    browser: Browser, site: str, tmp_path: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(SECONDS)
    page = context.new_page()
    page.goto(site)
    page.locator("#q").fill(MANAGER)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("article.answer")).to_be_visible()
    page.locator("article.answer [data-cite]").first.click()
    expect(page.locator("mark").first).to_be_visible()
    (tmp_path / "bell.md").write_text(
        "# The bell\n\nThe bell of Tarn Chapel was cast in 1712.\n", encoding="utf-8"
    )
    page.goto(f"{site}/library/add")
    page.locator("input[type=file]").set_input_files(str(tmp_path / "bell.md"))
    collection = page.locator("form[action='/library/upload'] input[name=collection]")
    collection.fill("bells")
    collection.press("Enter")
    page.wait_for_url(re.compile("/library/jobs/job_"))
    expect(page.locator(".run > p .state")).to_have_text("Done", timeout=SECONDS)
    page.goto(f"{site}/?collection=bells")
    page.locator("#q").fill("When was the bell of Tarn Chapel cast?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("article.answer")).to_contain_text("1712")
    context.close()
