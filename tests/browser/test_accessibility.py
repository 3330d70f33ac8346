"""Every page against WCAG 2.2 A and AA (axe-core), light and dark, from a phone to a desk."""

from __future__ import annotations

import json
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect
from tests.browser.conftest import MANAGER, Watched, ask

ALL: dict[str, Any] = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    }
}
# The dark page is the same but for its colours, and these take the longest to check: they are those
# of a phone, whose small letters are the hardest to read, but for the rail, which a phone hides.
OF_COLOURS = ["color-contrast", "link-in-text-block"]
COLOURS: dict[str, Any] = {"runOnly": {"type": "rule", "values": OF_COLOURS}}
NO_COLOURS = ALL | {"rules": {rule: {"enabled": False} for rule in OF_COLOURS}}
Looks = dict[int, dict[str, dict[str, Any] | None]]
LOOKS: Looks = {
    320: {"light": ALL, "dark": COLOURS},
    768: {"light": None},  # between the two it is arranged anew: does it fit?
    1280: {"light": NO_COLOURS},
}
FEWER = "document.querySelectorAll('main section').forEach((one, at) => at % 10 && one.remove())"
PAGES = (
    "/",
    "/?q=Who+manages+the+tool+library%3F",
    "/?q=How+many+documents+mention+seagrass%3F",
    "/?q=How+far+away+is+the+Andromeda+galaxy%3F",
    "/conversations",
    "/library",
    "/library/add",
    "/library/collections?name=town",
    "/library/jobs",
    "/search?query=seagrass",
    "/stories",
    "/entities",
    "/entities/Skerrick%20microgrid",
    "/media",
    "/timelines",
    "/timelines?name=halden-sound",
    "/figures?period=all",
    "/gaps",
    "/preferences",
    "/research",
    "/research?q=Compare+the+ferry+and+the+microgrid&mode=auto",
    "/settings",
    "/settings?preset=ollama",
    "/health",
    "/users",
    "/coverage",
    "/usage",
    "/docs",
    "/nowhere",
)


def violations(page: Page, rules: dict[str, Any]) -> list[str]:
    """What axe finds, each with the elements that it is about."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    options = rules | {"resultTypes": ["violations"]}
    # What it found right has no part in the result: on large pages that takes the longest.
    found = page.evaluate("async options => (await axe.run(options)).violations", options)
    return [
        f"{one['id']}: {json.dumps([node['html'] for node in one['nodes']])[:600]}" for one in found
    ]


def check(page: Page, looks: Looks = LOOKS) -> dict[str, list[str]]:
    """The page at every width, and in both colours; none may scroll sideways."""
    wrong: dict[str, list[str]] = {}
    for width, schemes in looks.items():
        page.set_viewport_size({"width": width, "height": 800})
        for scheme, rules in schemes.items():
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            found = violations(page, rules) if rules else []
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append("scrolls sideways")
            if found:
                wrong[f"{width} {scheme}"] = found
    return wrong


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_violation(watched: Watched, site: str, path: str) -> None:
    page = watched.page
    page.goto(f"{site}{path}")
    if path.startswith("/?q="):
        expect(page.locator("article.answer")).to_be_visible()
    if path == "/docs":  # its sections are alike: a tenth of them will do, once all of them fit
        page.set_viewport_size({"width": min(LOOKS), "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= min(LOOKS)
        page.evaluate(FEWER)
    assert check(page) == {}
    if path == "/":
        assert check(page, {1280: {"light": COLOURS, "dark": COLOURS}}) == {}
    watched.errors = [one for one in watched.errors if "404" not in one or path != "/nowhere"]


def test_what_is_wrong_is_seen(watched: Watched, site: str) -> None:
    page = watched.page
    page.goto(f"{site}/library/add")
    page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    assert any(one.startswith("label") for one in violations(page, ALL))
    page.evaluate("document.querySelector('h1').setAttribute('class', 'faint')")
    page.evaluate("document.adoptedStyleSheets = [new CSSStyleSheet()]")
    page.evaluate(
        "document.adoptedStyleSheets[0].replaceSync("
        "'@media (prefers-color-scheme: dark) { .faint { color: #222 } }')"
    )
    wrong = check(page)
    assert set(wrong) == {"320 light", "320 dark", "1280 light"}
    assert [one.partition(":")[0] for one in wrong["320 dark"]] == ["color-contrast"]


def test_an_open_source_has_none(watched: Watched, site: str) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1280, "height": 800})
    ask(page, site, MANAGER)
    page.keyboard.press("j")
    expect(page.locator("#source #cited").first).to_be_visible()
    assert check(page) == {}


@pytest.mark.parametrize("kind", ["paper", "transcript", "entity", "article"])
def test_a_source_by_itself_has_none(watched: Watched, site: str, kind: str) -> None:
    page = watched.page
    page.goto(f"{site}/library?kind={kind}")
    page.locator(".documents tbody th a").first.click()
    assert check(page) == {}


def test_the_library_s_sheet_selection_and_collections_have_none(
    watched: Watched, site: str
) -> None:
    page = watched.page
    page.goto(f"{site}/library")
    expect(page.locator("[data-needs-script]")).to_be_visible()  # the script is there
    page.locator("a[data-add]").first.click()
    expect(page.get_by_role("dialog", name="Add files")).to_be_visible()
    assert check(page) == {}
    page.keyboard.press("Escape")
    page.locator(".documents tbody input").first.check()
    assert check(page) == {}
    page.get_by_role("button", name="Move to …").click()
    page.wait_for_url("**/library/selected*")
    assert check(page) == {}
    page.goto(f"{site}/library/collections")
    page.get_by_role("link", name="Change").first.click()
    expect(page.locator("#change")).to_be_visible()
    assert check(page) == {}


def test_a_long_word_and_large_text_fit(watched: Watched, site: str) -> None:
    page = watched.page
    ask(page, site, f"{'Seagrass' * 30} in the bay?")
    page.set_viewport_size({"width": 640, "height": 800})
    # Text at 200 %: what the browser's own setting does to the root.
    page.evaluate("document.documentElement.setAttribute('class', 'twice')")
    page.evaluate("document.adoptedStyleSheets = [Object.assign(new CSSStyleSheet())]")
    page.evaluate("document.adoptedStyleSheets[0].replaceSync('html { font-size: 200% }')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
