"""Signing in and the own account, in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Watched, serve, stop
from tests.browser.test_accessibility import check

from wellread.kb import open_kb

SECRET = "a pier in the fog"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over an empty home with an admin and a reader."""
    home = tmp_path_factory.mktemp("team") / "home"
    with open_kb(home) as kb:
        kb.catalogue.accounts.users.add("root", "admin", SECRET)
        kb.catalogue.accounts.users.add("rea", "reader", SECRET)
    process, address = serve(home)
    yield address
    stop(process)


def sign_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(SECRET)
    page.get_by_role("button", name="Sign in").click()


def test_a_reader_signs_in_makes_a_key_and_signs_out(watched: Watched, site: str) -> None:
    page = watched.page
    page.goto(f"{site}/account")
    expect(page).to_have_url(f"{site}/sign-in?next=%2Faccount")
    sign_in(page, "rea")
    expect(page).to_have_url(f"{site}/account")
    navigation = page.get_by_role("navigation", name="Settings")
    expect(navigation.get_by_role("link")).to_have_text(["Preferences", "Account"])
    page.get_by_label("What it is for").fill("notebook")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_role("status").locator("code")).to_contain_text("wr_")
    page.get_by_role("button", name="Revoke notebook").click()
    expect(page.get_by_text("You have no keys.")).to_be_visible()
    page.get_by_role("button", name="Sign out", exact=True).first.click()
    expect(page).to_have_url(f"{site}/sign-in")


def test_an_admin_opens_a_user_and_shuts_them_out(watched: Watched, site: str) -> None:
    page = watched.page
    page.goto(f"{site}/users")
    sign_in(page, "root")
    assert check(page) == {}
    page.get_by_role("link", name="rea", exact=True).click()
    assert check(page) == {}
    page.get_by_label("May sign in").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name="rea")).to_contain_text("may not sign in")
    page.goto(f"{site}/account")
    assert check(page) == {}
