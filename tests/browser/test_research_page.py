"""Research and the settings of a model in the browser, by keyboard alone."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser.conftest import Watched
from tests.browser.test_accessibility import check

ASKED = "Compare the ferry and the microgrid"


def test_a_plan_is_changed_followed_and_its_report_opened_by_keyboard(
    watched: Watched, site: str
) -> None:
    page = watched.page
    page.goto(f"{site}/research")
    page.keyboard.type(ASKED)  # the box has the focus
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Title of part 3")).to_have_value("microgrid")
    page.get_by_label("Keep “microgrid”").focus()
    page.keyboard.press("Space")
    page.get_by_label("Add a part").first.focus()
    page.keyboard.type("diesel")
    page.get_by_role("button", name="Start research").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=ASKED)).to_be_visible()
    address = page.url
    page.goto(f"{site}/")  # it goes on while nobody looks
    page.goto(address)
    expect(page.locator("article.answer")).to_contain_text("Diesel")
    expect(page.get_by_text("documents read")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("#source #cited").first).to_be_visible()
    assert check(page) == {}


def test_a_run_is_cancelled_and_taken_off_the_list(watched: Watched, site: str) -> None:
    page = watched.page
    page.goto(f"{site}/research?q=Compare+seagrass+and+the+tidal+turbine")
    page.get_by_role("button", name="Start research").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("You stopped this run.")).to_be_visible()
    assert check(page) == {}
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("link", name="Compare seagrass")).to_have_count(0)


def test_a_model_is_chosen_and_a_setting_found_by_keyboard(watched: Watched, site: str) -> None:
    page = watched.page
    page.goto(f"{site}/settings")
    page.get_by_role("link", name="Ollama").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Address")).to_have_value("http://localhost:11434/v1")
    page.locator("details.all > summary").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Find a setting").focus()
    page.keyboard.type("session_days")
    page.keyboard.press("Enter")
    expect(page.locator("table.settings tbody tr")).to_have_count(1)
