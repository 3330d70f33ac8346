"""The page of metrics in a browser: figures of what was asked, and charts."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.browser.conftest import MANAGER, Watched, ask


def test_what_was_asked_is_counted(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, MANAGER)
    page.get_by_role("link", name="Metrics", exact=True).click()
    expect(page).to_have_url(re.compile("/figures$"))
    figure = page.locator(".numbers-of li", has_text="Questions").locator("strong")
    asked = int(figure.inner_text())
    assert asked >= 1
    ask(page, site, MANAGER)
    page.goto(f"{site}/figures")
    expect(figure).to_have_text(str(asked + 1))
    page.locator("select[name=period]").select_option("day")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("img", name=re.compile("Questions by hour"))).to_be_visible()
    page.get_by_text("The numbers of the chart").click()
    expect(page.get_by_role("region", name="Numbers of the chart")).to_be_visible()
