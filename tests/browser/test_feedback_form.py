"""Rating an answer in the browser: kept without a reload, a citation taken from the source."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser.conftest import Watched, ask
from tests.browser.test_accessibility import check

# Rated here alone: a rating changes the answers to come.
QUESTION = "What is the penalty for bringing a borrowed tool back after the deadline?"
SELECT = """() => {
  const mark = document.querySelector("#source #cited");
  const range = document.createRange();
  range.selectNodeContents(mark);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  return String(getSelection());
}"""


def test_one_press_rates_an_answer_and_keeps_what_was_said(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, "Who owns the turbines in the Gannet Narrows?")
    page.get_by_text("Correct or rate this answer").click()
    page.get_by_label("What it should say").first.fill("The cooperative owns both.")
    page.get_by_role("button", name="Save feedback").click()
    expect(page.locator("#status")).to_have_text("Feedback saved")
    page.get_by_role("button", name="Helpful", exact=True).press("Enter")
    expect(page.get_by_text("Your feedback: 100 of 100")).to_be_visible()
    page.reload()
    pressed = page.get_by_role("button", name="Helpful", exact=True)
    expect(pressed).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("What it should say").first).to_have_value(
        "The cooperative owns both."
    )


def test_an_answer_is_rated(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, QUESTION)
    summary = page.get_by_text("Correct or rate this answer")
    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("0")
    first = page.locator("details.rated").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    first.get_by_label("Score").fill("12.5")
    first.get_by_label("Harmful").press("Space")
    page.locator(".answer [data-cite]").first.click()
    expect(page.locator("#source #cited")).to_be_visible()
    words = page.evaluate(SELECT)
    first.get_by_role("button", name="Take the text selected").click()
    expect(first.get_by_label("Quotation")).to_have_value(words.strip())
    page.locator("#feedback").evaluate("one => one.dataset.kept = 'yes'")
    page.get_by_role("button", name="Save feedback").click()
    expect(page.locator("#status")).to_have_text("Feedback saved")
    assert page.locator("#feedback").get_attribute("data-kept") == "yes", "it was reloaded"
    for _ in range(2):
        expect(page.get_by_text("Your feedback: 0 of 100")).to_be_visible()
        expect(page.locator("details.rated").first.get_by_label("Score")).to_have_value("12.5")
        expect(page.locator("details.rated").first.get_by_label("Harmful")).to_be_checked()
        expect(page.locator("details.rated").first.get_by_label("Quotation")).to_have_value(
            words.strip()
        )
        page.reload()
    assert check(page) == {}
