"""The page of metrics in a browser: figures of what was asked, charts, calibration and back."""

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
from tests.learning.test_calibrate import answers, too_sure

from wellread.kb import open_kb


@pytest.fixture(scope="module")
def rated_site(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over the sample with 240 rated answers that were too sure."""
    home = tmp_path_factory.mktemp("rated") / "home"
    shutil.copytree(sample_home, home)
    with open_kb(home) as kb:
        for one in answers(too_sure, 240):
            kb.catalogue.record_answer(cited(one.answer_id, one.shipped, question=one.question))
            ((author, score),) = one.ratings
            kb.catalogue.feedback.put(rated(one.answer_id, score, author, one.question))
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
    expect(page.get_by_role("img", name=re.compile("Mean rating"))).to_be_visible()
    page.get_by_text("The numbers of the chart").click()
    expect(page.get_by_role("region", name="Numbers of the chart")).to_be_visible()
    assert check(page) == {}


def test_confidence_is_fitted_and_brought_back(metrics_page: Watched, rated_site: str) -> None:
    page = metrics_page.page
    page.goto(f"{rated_site}/figures")
    page.get_by_role("button", name="Fit, and keep if better").click()
    expect(page.locator(".notice")).to_contain_text("Kept: better on answers")
    assert check(page) == {}
    page.get_by_role("link", name="Back to the metrics").click()
    expect(page.get_by_text("calibrated on 240 answers")).to_be_visible()
    page.get_by_role("button", name="Bring back the one before").click()
    expect(page.get_by_text("Confidence is as it ships with the package.")).to_be_visible()
