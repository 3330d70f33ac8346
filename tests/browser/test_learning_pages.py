"""Coverage, preferences and past questions in the browser, as somebody clicks through them."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser.conftest import Watched, ask
from tests.browser.test_accessibility import check

LOAN = "How long may a tool be borrowed?"
SAME = "How long may tools be borrowed for?"
NEAR = "How long may a tool be borrowed in 2019?"


def test_a_muted_source_is_not_used_until_it_is_allowed_again(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, LOAN)
    expect(page.locator("article.answer")).to_contain_text("Lending rules")
    page.goto(f"{site}/preferences")
    page.get_by_label("What to do").select_option("Leave out")
    page.get_by_label("Its name").fill("netloft.example")
    page.get_by_label("Length").select_option("short")
    page.get_by_role("button", name="Save").click()
    muted = page.get_by_label("Leave out: web site “netloft.example”")
    expect(muted).to_be_checked()
    try:
        ask(page, site, LOAN)
        expect(page.locator("article.answer blockquote", has_text="A loan")).to_have_count(0)
        expect(page.get_by_text("muted by you and not used").first).to_be_visible()
    finally:
        page.goto(f"{site}/preferences")
        muted.uncheck()
        page.get_by_label("Length").select_option("")
        page.get_by_role("button", name="Save").click()
    expect(muted).to_have_count(0)


def test_consent_is_given_and_taken_back(watched: Watched, site: str) -> None:
    page = watched.page
    page.goto(f"{site}/preferences")
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_text("Wellread learns from your ratings.")).to_be_visible()
    page.get_by_role("button", name="Stop, and forget what was learned").click()
    expect(page.get_by_text("Nothing is learned.")).to_be_visible()


def test_a_past_question_that_was_rated_stands_beside_one_that_is_near(
    watched: Watched, site: str
) -> None:
    page = watched.page
    ask(page, site, LOAN)
    page.get_by_text("Correct or rate this answer").click()
    page.locator("#feedback input[type=number]").first.fill("90")
    page.get_by_role("button", name="Save feedback").click()
    expect(page.locator("#status")).to_have_text("Feedback saved")
    ask(page, site, SAME)
    expect(page.locator("article.answer")).to_contain_text("answered before, rated 90 of 100")
    ask(page, site, NEAR)
    beside = page.get_by_role("region", name="Asked before")
    expect(beside.get_by_role("link", name=LOAN)).to_be_visible()
    assert check(page) == {}
