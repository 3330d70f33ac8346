"""The app that shows an answer inside a client: a host page speaks the bridge, tools are real."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from mcp import Client
from mcp.types import CallToolResult
from playwright.sync_api import BrowserContext, Frame, Page, expect
from tests.browser.conftest import Watched
from tests.browser.test_accessibility import ALL

from wellread.serve.mcp.document_resources import app_page

QUESTION = "How many families make their living from lobster pots north of the dividing line?"
# What a host allows a page that asks for no other address.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">"
)
HOST = """<!doctype html><title>Host</title>
<iframe id="app" sandbox="allow-scripts" title="app" style="width: 100%; height: 700px"></iframe>
<script>
const frame = document.getElementById("app");
window.heard = [];
window.opened = [];
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
addEventListener("message", async (event) => {
  if (event.source !== frame.contentWindow) return;
  const { id, method, params } = event.data;
  window.heard.push(method);
  if (method === "ui/initialize")
    post({ id, result: { protocolVersion: "2026-01-26", hostInfo: { name: "test", version: "1" },
      hostCapabilities: window.capabilities, hostContext: { theme: window.theme } } });
  if (method === "ui/notifications/initialized") {
    post({ method: "ui/notifications/tool-input", params: { arguments: window.asked } });
    post({ method: "ui/notifications/tool-result", params: window.result });
  }
  if (method === "tools/call")
    post({ id, result: await window.callTool(params.name, params.arguments) });
  if (method === "ui/open-link") { window.opened.push(params.url); post({ id, result: {} }); }
});
window.start = (html) => { frame.srcdoc = html; };
</script>"""


def called(site: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool of the real server, as a client sends it on to the app."""

    async def call() -> CallToolResult:
        async with Client(f"{site}/mcp") as client:
            return await client.call_tool(tool, arguments)

    # Playwright's own event loop runs in this thread.
    with ThreadPoolExecutor(1) as other:
        result = other.submit(anyio.run, call).result()
    sent: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return sent


def shown(
    page: Page, site: str, result: dict[str, Any], *, theme: str = "light", tools: bool = True
) -> Frame:
    """The app over ``result``."""
    page.goto("about:blank")
    page.set_content(HOST)
    page.evaluate(
        "given => Object.assign(window, given)",
        {
            "asked": {"question": QUESTION},
            "result": result,
            "theme": theme,
            "capabilities": {"serverTools": {}, "openLinks": {}} if tools else {},
        },
    )
    page.evaluate("html => window.start(html)", app_page().replace("<head>", f"<head>{POLICY}"))
    page.frame_locator("#app").locator("main").wait_for()
    (frame,) = page.main_frame.child_frames
    return frame


@pytest.fixture
def host(context: BrowserContext, watched: Watched, site: str) -> Page:
    """A page that stands for a client; errors and requests of it are counted."""
    page = watched.page
    page.expose_function("callTool", lambda tool, arguments: called(site, tool, arguments))
    return page


@pytest.fixture(scope="module")
def answer(site: str) -> dict[str, Any]:
    """A real answer."""
    return called(site, "ask", {"question": QUESTION})


def test_an_answer_is_shown_and_its_source_opens_inside(
    host: Page, site: str, answer: dict[str, Any]
) -> None:
    facts = answer["structuredContent"]
    citation = facts["citations"][0]
    frame = shown(host, site, answer)
    expect(frame.locator("h1")).to_have_text(QUESTION)
    expect(frame.locator(".said").first).to_have_text(facts["sentences"][0]["text"])
    expect(frame.locator("[role=img]").first).to_have_attribute("aria-label", "quoted")
    expect(frame.locator("main")).to_contain_text(facts["confidence"]["reasoning"])
    assert "tools/call" not in host.evaluate("window.heard")
    frame.locator("button.number").first.click()
    expect(frame.locator(".source.current mark")).to_have_text(citation["quote"])
    expect(frame.locator(".source.current")).to_be_focused()
    frame.locator(".source.current").get_by_role("button", name="browser").click()
    host.wait_for_function("window.opened.length === 1")
    assert host.evaluate("window.opened") == [citation["viewUrl"]]
    assert host.evaluate("window.heard").count("tools/call") == 1


def test_a_source_is_read_on_and_back_by_the_keyboard(
    host: Page, site: str, answer: dict[str, Any]
) -> None:
    frame = shown(host, site, answer)
    source = frame.locator(".source").first
    source.get_by_role("button", name="Open the source here").press("Enter")
    quote = source.locator("mark").inner_text()
    later = source.get_by_role("button", name="Later").or_(
        source.get_by_role("button", name="Earlier")
    )
    later.first.press("Enter")
    expect(source.locator("mark")).to_have_text("")
    source.get_by_role("button", name="Back to the quotation").press("Enter")
    expect(source.locator("mark")).to_have_text(quote)


EVIL = "<img src=x onerror=\"parent.postMessage({jsonrpc:'2.0',method:'hacked'},'*')\"><b>bold</b>"


def test_what_a_source_says_is_shown_letter_by_letter(
    host: Page, site: str, answer: dict[str, Any]
) -> None:
    told = json.loads(json.dumps(answer))
    facts = told["structuredContent"]
    sentence, citation = facts["sentences"][0], facts["citations"][0]
    facts["answer"] = f"# {EVIL}\n\n{EVIL} [1]\n"
    sentence.update(text=EVIL, verdict="unsupported", reason=EVIL)
    facts["sentences"] = [sentence]
    citation.update(title=EVIL, quote=EVIL, locator=EVIL, link="javascript:alert(1)")
    citation.pop("viewUrl")
    facts.update(citations=[citation], question=EVIL, dataGaps=[EVIL], notes=[EVIL])
    facts["table"] = {"columns": [EVIL], "rows": [[EVIL]], "total": 1, "method": EVIL}
    frame = shown(host, site, told)
    expect(frame.locator("h3")).to_contain_text(EVIL)
    assert frame.locator("main img, main b, main a, main script").count() == 0
    assert frame.locator("main").inner_text().count(EVIL) >= 10
    assert frame.get_by_role("button", name="browser").count() == 0
    heard = set(host.evaluate("window.heard"))
    assert heard == {
        "ui/initialize",
        "ui/notifications/initialized",
        "ui/notifications/size-changed",
    }


@pytest.mark.parametrize("error", [True, False])
def test_a_result_without_structure_is_shown_as_text(
    host: Page, site: str, answer: dict[str, Any], error: bool
) -> None:
    told = {"content": [{"type": "text", "text": f"What to do: {EVIL}"}], "isError": error}
    frame = shown(host, site, told)
    expect(frame.locator("pre")).to_have_text(f"What to do: {EVIL}")


def test_a_host_without_tools_gets_the_quotations(
    host: Page, site: str, answer: dict[str, Any]
) -> None:
    frame = shown(host, site, answer, tools=False)
    expect(frame.locator(".quote").first).to_be_visible()
    assert frame.locator(".source button").count() == 0
    frame.locator("button.number").first.click()
    expect(frame.locator(".source.current")).to_be_focused()
    assert "tools/call" not in host.evaluate("window.heard")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("research", {"question": "How many documents mention seagrass?"}),
        ("ask", {"question": "How far away is the Andromeda galaxy?"}),
        ("check_text", {"text": "Seagrass stores carbon. It was planted by 9,000 robots."}),
    ],
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_kind_of_result_can_be_read_by_everybody(
    host: Page, site: str, tool: str, arguments: dict[str, Any], theme: str
) -> None:
    host.set_viewport_size({"width": 420, "height": 800})
    frame = shown(host, site, called(site, tool, arguments), theme=theme)
    expect(frame.locator(".facts").first).to_be_visible()
    if frame.get_by_role("button", name="Open the source here").count():
        frame.get_by_role("button", name="Open the source here").first.click()
        expect(frame.locator(".opened mark")).not_to_be_empty()
    frame.evaluate(AXE_SCRIPT)
    rules = ALL | {"resultTypes": ["violations"]}
    found = frame.evaluate("async rules => (await axe.run(document, rules)).violations", rules)
    assert [f"{one['id']}: {one['nodes'][0]['html']}" for one in found] == []
    assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
