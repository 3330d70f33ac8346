"""The page of metrics in a browser: figures of what was asked, and charts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser.conftest import Watched, serve, stop
from tests.browser.test_accessibility import check
from tests.learning.ledger import cited, rated, unanswered

from wellread.kb import open_kb


@pytest.fixture(scope="module")
def rated_site(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over the sample with answers that were rated."""
    home = tmp_path_factory.mktemp("rated") / "home"
    shutil.copytree(sample_home, home)
    with open_kb(home) as kb:
        for number in range(3):
            kb.catalogue.record_answer(cited(f"ans_{number}"))
            kb.catalogue.feedback.put(rated(f"ans_{number}", 90))
        kb.catalogue.record_answer(unanswered("ans_none"))
    process, address = serve(home)
    yield address
    stop(process)


@pytest.fixture
def metrics_page(context: BrowserContext, rated_site: str) -> Iterator[Watched]:
    """A page over the rated answers, whose errors and foreign requests must stay none."""
    seen = Watched(page=context.new_page(), origin=rated_site)
    seen.begin()
    yield seen
    assert seen.errors == []
    assert seen.elsewhere == []


def test_what_was_asked_is_counted(watched: Watched, site: str) -> None:
    page = watched.page
    page.goto(f"{site}/?q=Who+manages+the+tool+library%3F")
    expect(page.locator("article.answer")).to_be_visible()
    page.get_by_role("link", name="Metrics", exact=True).click()
    expect(page).to_have_url(re.compile("/figures$"))
    figure = page.locator(".numbers-of li", has_text="Questions").locator("strong")
    asked = int(figure.inner_text())
    assert asked >= 1
    page.goto(f"{site}/?q=Who+manages+the+tool+library%3F")
    expect(page.locator("article.answer")).to_be_visible()
    page.goto(f"{site}/figures")
    expect(figure).to_have_text(str(asked + 1))
    page.locator("select[name=period]").select_option("day")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("img", name=re.compile("Questions by hour"))).to_be_visible()


def test_figures_and_charts_have_no_violation(metrics_page: Watched, rated_site: str) -> None:
    page = metrics_page.page
    page.goto(f"{rated_site}/figures?period=all")
    expect(page.get_by_text("90 of 100")).to_be_visible()
    page.get_by_text("The numbers of the chart").click()
    expect(page.get_by_role("region", name="Numbers of the chart")).to_be_visible()
    assert check(page) == {}
