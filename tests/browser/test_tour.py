"""A newcomer's way through all of it, by the keyboard alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import MANAGER, SECONDS, Watched, ask

import wellread.sample

QUESTIONS = (
    "How many families make their living from lobster pots north of the dividing line?",
    "Are older appliances easier to mend than recent ones?",
    "How much could a family get back per year from the planned repair vouchers?",
)
TALK = """WEBVTT

00:00:02.000 --> 00:00:06.000
<v Greta Holt>The smithy roof will be mended in August by the Lantern Club.

00:01:10.000 --> 00:01:15.000
<v Per Lind>The keys of the smithy hang behind the bellows.
"""
MAX_PAGE_BYTES = 150_000
FEED = """<?xml version="1.0"?>
<rss version="2.0"><channel><title>Smithy news</title><link>https://smithy.example/</link>
<description>News</description>
<item><title>Bellows mended</title><link>https://smithy.example/bellows</link>
<guid>https://smithy.example/bellows</guid><pubDate>Mon, 05 Jan 2026 08:00:00 GMT</pubDate>
<description>The great bellows of the smithy were mended with ox leather from Oldwick.</description>
</item></channel></rss>
"""


def type_question(page: Page, question: str) -> None:
    """Type a question into the box that has the focus, or that ``/`` gives it."""
    if page.evaluate("document.activeElement?.id") != "q":
        page.keyboard.press("/")
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    expect(page.locator("article.answer")).to_be_visible()


def walk(page: Page) -> list[str]:
    """All sentences one by one; each opens its source beside it, at its place."""
    quotes = []
    count = page.locator("[data-sentence]").count()
    for place in range(count):
        page.keyboard.press("j")
        sentence = page.locator("[data-sentence]").nth(place)
        expect(sentence).to_have_class(re.compile(r"\bcurrent\b"))
        expect(sentence).to_be_focused()
        number = (sentence.get_attribute("data-cited") or "").partition(" ")[0]
        if not number:
            continue
        expect(page.locator(f'.cite.current[data-cite="{number}"]').first).to_be_visible()
        cited = page.locator("#source #cited")
        expect(cited).to_be_visible()
        expect(cited).to_be_in_viewport()
        quotes.append(page.locator(f'[data-source="{number}"] blockquote').text_content() or "")
        page.keyboard.press("o")
        expect(cited).to_be_focused()
        page.keyboard.press("Escape")
        expect(sentence).to_be_focused()
    return quotes


def tab_to(page: Page, selector: str, most: int = 80) -> None:
    """Press Tab until the element has the focus, as somebody without a mouse does."""
    for _ in range(most):
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with Tab")


def test_the_sample_s_questions_are_asked_and_each_source_opened(
    watched: Watched, site: str
) -> None:
    page = watched.page
    page.goto(site)
    expect(page.locator("#q")).to_be_focused()
    for question in QUESTIONS:
        type_question(page, question)
        assert walk(page)
        page.goto(site)
    page.keyboard.press("Escape")
    type_question(page, "How far away is the Andromeda galaxy?")
    expect(page.locator(".said.declined")).to_be_visible()


def test_a_mark_leads_back_to_its_sentence(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, MANAGER)
    page.keyboard.press("j")
    expect(page.locator("#source #cited")).to_be_visible()
    answering = page.locator("[data-sentence]", has=page.locator("mark")).first
    page.locator("h1.question").click()
    page.locator("#source #cited").select_text()
    page.locator("#source #cited").dispatch_event("mouseup")
    expect(answering).to_have_class(re.compile(r"\bcurrent\b"))


def test_a_conversation_goes_on(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, MANAGER)
    page.keyboard.press("/")
    type_question(page, "How many tools does it keep?")
    expect(page.locator(".understood input[name=q]")).to_be_visible()
    expect(page.locator(".turns > li")).to_have_count(1)
    page.goto(f"{site}/conversations")
    expect(page.locator(".list > li").first).to_contain_text("2 questions")


def test_an_answer_s_page_is_light(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, MANAGER)
    page.reload()
    expect(page.locator("#source #cited")).to_be_visible()
    weight = page.evaluate(
        """["navigation", "resource"].flatMap(type => performance.getEntriesByType(type))
        .reduce((sum, one) => sum + one.decodedBodySize, 0)"""
    )
    assert 10_000 < weight <= MAX_PAGE_BYTES


def test_the_sources_of_an_answer_are_turned_over_and_closed(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, QUESTIONS[0])
    position = page.locator("[data-position]")
    places = page.locator("#answer [data-source]").count()
    assert places > 1
    expect(position).to_have_text(f"1 of {places}")
    page.get_by_role("button", name="Next source").press("Enter")
    expect(position).to_have_text(f"2 of {places}")
    expect(page.get_by_role("button", name="Next source")).to_be_focused()
    page.get_by_role("button", name="Close the source").press("Enter")
    expect(page.locator("#source")).to_be_hidden()
    page.reload()
    expect(page.locator("#source")).to_be_hidden()
    page.keyboard.press("j")
    expect(page.locator("#source #cited")).to_be_visible()


def test_the_rail_remembers_the_collections_and_renames_a_conversation(
    watched: Watched, site: str
) -> None:
    page = watched.page
    page.goto(f"{site}/library/add")
    page.locator("main input[name=title]").fill("Toll of the bridge")
    page.locator("textarea[name=text]").fill("Crossing the old bridge costs two euros.")
    collection = page.locator("form[action='/library/text'] input[name=collection]")
    collection.fill("tolls")
    collection.press("Enter")
    page.wait_for_url("**/library/jobs/job_*")
    expect(page.locator(".run > p .state")).to_have_text("Done", timeout=SECONDS)
    page.goto(site)
    for box in page.locator("#scope-choice input").all():
        box.set_checked(box.get_attribute("value") == "tolls")
    expect(page.locator("[data-scope-chip]")).to_have_text("tolls")
    page.get_by_role("button", name="New question").click()
    expect(page.locator("[data-scope-chip]")).to_have_text("tolls")
    page.locator("#q").fill("What does the bridge cost?")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("I mean crossing it.")
    page.keyboard.press("Enter")
    expect(page.locator("article.answer")).to_contain_text("two euros")
    page.reload()
    page.locator(".recent li", has_text="What does the bridge cost?").get_by_role("button").focus()
    page.keyboard.press("Enter")
    menu = page.locator("#rail [popover]:popover-open")
    menu.get_by_label("Name").fill("The bridge")
    page.keyboard.press("Enter")
    expect(page.locator(".recent a[aria-current]")).to_have_text("The bridge")
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator(".recent li", has_text="The bridge").get_by_role("button").press("Enter")
    menu.get_by_role("button", name="Delete this conversation").press("Enter")
    page.wait_for_url("**/conversations")
    expect(page.locator(".recent li", has_text="The bridge")).to_have_count(0)


@pytest.mark.parametrize(("form", "ending"), [("markdown", ".md"), ("bibtex", ".bib")])
def test_an_answer_is_exported(watched: Watched, site: str, form: str, ending: str) -> None:
    page = watched.page
    ask(page, site, MANAGER)
    tab_to(page, ".answer > .actions summary")
    page.keyboard.press("Enter")
    tab_to(page, f'a[href*="export?format={form}"]')
    with page.expect_download() as started:
        page.keyboard.press("Enter")
    kept = started.value.path()
    assert started.value.suggested_filename.endswith(ending)
    assert "Netloft" in kept.read_text(encoding="utf-8")


DROP = """(words) => {
  const data = new DataTransfer();
  data.items.add(new File([words], "quay.md"));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
}"""


def test_a_file_dropped_on_any_page_is_added_in_a_sheet_and_asked(
    watched: Watched, site: str
) -> None:
    page = watched.page
    page.goto(f"{site}/stories")
    page.wait_for_load_state("networkidle")  # the script that takes files has been loaded
    page.evaluate(DROP, "# The quay\n\nThe quay of Netloft was dredged in 1931.\n")
    sheet = page.get_by_role("dialog", name="Add files")
    expect(sheet.locator("[data-chosen-files]")).to_contain_text("quay.md")
    sheet.get_by_label("Collection").fill("quays")
    sheet.get_by_role("button", name="Add").click()
    page.get_by_role("link", name="Ask this document").click()
    page.wait_for_url("**/?document=doc_*")
    page.locator("#q").fill("When was the quay dredged?")
    page.locator("#q").press("Enter")
    expect(page.locator("article.answer")).to_contain_text("1931")


def test_files_are_uploaded_asked_and_removed(watched: Watched, site: str, tmp_path: Path) -> None:
    page = watched.page
    paper = Path(wellread.sample.__file__).parent / "papers" / "seagrass.pdf"
    (tmp_path / "smithy.vtt").write_text(TALK, encoding="utf-8")
    (tmp_path / "smithy.xml").write_text(FEED, encoding="utf-8")
    page.goto(f"{site}/library/add")
    given = [paper, tmp_path / "smithy.vtt", tmp_path / "smithy.xml"]
    page.locator("input[type=file]").set_input_files([str(path) for path in given])
    tab_to(page, "form[action='/library/upload'] input[name=collection]")
    page.keyboard.type("smithy")
    page.keyboard.press("Enter")
    page.wait_for_url("**/library/jobs/job_*")
    expect(page.locator(".run > p .state")).to_have_text("Done", timeout=SECONDS)
    expect(page.get_by_role("link", name="Ask these 3 documents")).to_be_visible()
    page.goto(f"{site}/?collection=smithy&q=Who+mends+the+smithy+roof+in+August%3F")
    expect(page.locator("article.answer")).to_be_visible()
    assert any("Lantern Club" in quote for quote in walk(page))
    page.goto(f"{site}/?collection=smithy&q=What+were+the+bellows+mended+with%3F")
    expect(page.locator("article.answer")).to_contain_text("ox leather")
    page.goto(f"{site}/library?collection=smithy&kind=transcript")
    expect(page.locator(".documents tbody tr")).to_have_count(1)
    tab_to(page, ".documents tbody input")
    page.keyboard.press("Space")
    expect(page.locator("[data-chosen]")).to_have_text("1 chosen")
    page.evaluate("document.querySelector('main').focus()")
    tab_to(page, "button[value=remove]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/library/selected*")
    tab_to(page, "button.danger")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Removed")
    expect(page.locator("main")).to_contain_text("No trace is left")
    page.goto(f"{site}/library?collection=smithy&kind=transcript")
    expect(page.locator(".empty")).to_be_visible()
