"""The page of metrics in a browser: figures of what was asked, and charts."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.browser.conftest import MANAGER, Watched, ask


def test_what_was_asked_is_counted(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, MANAGER)
    page.get_by_role("link", name="Insights", exact=True).click()
    page.get_by_role("link", name="Metrics", exact=True).click()
    expect(page).to_have_url(re.compile("/figures$"))
    figures = page.locator(".figures li")
    expect(figures).to_have_count(5)
    figure = figures.first.locator("strong")
    asked = int(figure.inner_text())
    assert asked >= 1
    ask(page, site, MANAGER)
    page.goto(f"{site}/figures")
    expect(figure).to_have_text(str(asked + 1))
    page.locator("select[name=period]").select_option("day")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("img", name=re.compile("questions per hour"))).to_be_visible()
    page.get_by_text("The numbers in a table").click()
    expect(page.get_by_role("region", name="Questions per hour, as a table")).to_be_visible()
    page.get_by_text("Where the time goes").click()
    expect(page.get_by_role("region", name="Seconds by step")).to_be_visible()
