"""A real server over the real sample, and Debian's Chromium in front of it."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote_plus, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.doubles import forked
from tests.doubles.one_thread import ONE_THREAD

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "WELLREAD_BROWSER_REQUIRED"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MANAGER = "Who manages the tool library?"
SECONDS = 120_000  # milliseconds until something that should happen is given up
expect.set_options(timeout=SECONDS)


def chromium() -> str | None:
    """Where a browser is; ``make browser`` installs one where it may."""
    named = os.environ.get("WELLREAD_BROWSER")
    return named or next((found for name in BROWSERS if (found := shutil.which(name))), None)


# Playwright keeps an event loop running in this thread until it is closed: with a scope wider
# than a module, every async test that shares the process would find that loop and fail.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser, started once for each module."""
    path = chromium()
    if path is None:
        if os.environ.get(REQUIRED):
            pytest.fail("no Chromium was found; 'make browser' installs it (Debian, as root)")
        pytest.skip("no Chromium was found; 'make browser' says how to get one")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


@dataclass
class Watched:
    """What a page did that it should not: errors, and requests to anywhere else."""

    page: Page
    origin: str
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def begin(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._request(request.url))

    def _console(self, message: object) -> None:
        if getattr(message, "type", "") in ("error", "warning"):
            self.errors.append(str(getattr(message, "text", "")))

    def _request(self, url: str) -> None:
        if urlsplit(url).scheme in ("http", "https") and not url.startswith(self.origin):
            self.elsewhere.append(url)


def serve(
    home: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None
) -> tuple[forked.Forked, str]:
    """``wellread serve`` in a process of its own with these variables, and its address."""
    words = ("--home", str(home), "serve", "--port", str(port or free_port()))
    env = {**os.environ, **ONE_THREAD, **(settings or {})}
    process = forked.Forked(forked.PROGRAM, *words, env=env)
    told = re.search(r"http://\S+", process.stdout.readline())
    assert told is not None
    return process, told.group()


def stop(process: forked.Forked) -> None:
    process.terminate()
    process.wait(timeout=120)
    process.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def sample_home(demo: Path) -> Path:
    """A home with the sample, made by the command that a newcomer uses."""
    return demo / "home"


@pytest.fixture(scope="session")
def site(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over a copy of the sample, which may read this machine's feeds.

    All modules share it: what a test adds or rates there is its own, in a collection or by a
    question that no other test names.
    """
    home = tmp_path_factory.mktemp("site") / "home"
    shutil.copytree(sample_home, home)
    process, address = serve(
        home, settings={"WELLREAD_WEB_ALLOW_PRIVATE": "true", "WELLREAD_WEB_ANY_PORT": "true"}
    )
    yield address
    stop(process)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser window with nothing in it from before."""
    made = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made.set_default_timeout(SECONDS)
    yield made
    made.close()


@pytest.fixture
def watched(context: BrowserContext, site: str) -> Iterator[Watched]:
    """A page whose errors and requests are counted; both must stay none."""
    seen = Watched(page=context.new_page(), origin=site)
    seen.begin()
    yield seen
    assert seen.errors == []
    assert seen.elsewhere == []


def ask(page: Page, site: str, question: str) -> None:
    """Put a question by its address, and wait for the answer."""
    page.goto(f"{site}/?q={quote_plus(question)}")
    expect(page.locator("article.answer")).to_be_visible()
