"""Gaps in the browser: from a question without an answer to the entry, and to its new answer."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Watched, ask
from tests.browser.test_accessibility import check

KEEPER = "Who is the lighthouse keeper?"
NOTE = """# The lighthouse

The lighthouse keeper is Ilse Marrane. She has lived in the lighthouse since 1998.
"""


def test_a_gap_is_planned_suggested_and_closes_by_itself(
    watched: Watched, site: str, tmp_path: Path
) -> None:
    page = watched.page
    ask(page, site, KEEPER)
    page.get_by_role("link", name="Insights", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Gaps")
    page.get_by_role("link", name="Lighthouse keeper", exact=True).click()
    expect(page.get_by_text(KEEPER).first).to_be_visible()
    expect(page.locator("pre")).to_contain_text("To be written.")
    assert check(page) == {}
    page.get_by_role("button", name="Plan all of them").click()
    expect(page.locator(".tag", has_text="planned").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert KEEPER in Path(download.value.path()).read_text(encoding="utf-8")

    note = tmp_path / "lighthouse.md"
    note.write_text(NOTE, encoding="utf-8")
    page.goto(f"{site}/library/add")
    page.locator("input[type=file]").set_input_files(str(note))
    page.locator("form[action='/library/upload'] button").first.click()
    expect(page.locator(".run > p .state")).to_have_text("Done", timeout=60_000)
    page.get_by_role("link", name="All activity").click()
    asking = page.get_by_role("listitem").filter(has_text="Asked again")
    expect(asking.locator(".state").first).to_have_text("done", timeout=60_000)
    page.goto(f"{site}/gaps?status=closed")
    page.get_by_role("link", name="Lighthouse keeper", exact=True).click()
    expect(page.get_by_text("answered since")).to_be_visible()
    page.get_by_role("link", name="The new answer").click()
    expect(page.locator("article.answer")).to_contain_text("Ilse Marrane")
