"""The pages about the home: usage, settings, health."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import httpx
from tests.serve.test_usage import CALLS

from wellread.kb import KnowledgeBase

PAGE = {"accept": "text/html"}


async def page(client: httpx.AsyncClient, address: str) -> str:
    reply = await client.get(address, headers=PAGE)
    assert reply.status_code == 200, reply.text
    return reply.text


def cells(html: str, label: str) -> list[list[str]]:
    """The words in each cell of the body of the table in the region of that name."""
    region = html.split(f'aria-label="{label}"')[1].split("</table>")[0].split("<tbody>")[1]
    rows = re.findall(r"<tr.*?</tr>", region, re.S)
    return [
        [
            " ".join(re.sub("<.*?>", " ", cell).split())
            for cell in re.findall("<t[dh].*?</t[dh]>", row, re.S)
        ]
        for row in rows
    ]


# --- usage -----------------------------------------------------------------------------------


async def test_usage_shows_what_the_interface_tells(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    for call in CALLS:
        kb.catalogue.calls.record(call)
    html = await page(client, "/usage?days=7")
    today = datetime.now(UTC).date().isoformat()
    assert cells(html, "Calls by day") == [[today, "4", "1", "13,090", "209", "$1.25 and more, "
                                            "price unknown"]]  # fmt: skip
    lines = cells(html, "Calls by day, purpose and model")
    assert lines[0] == [today, "answer", "gpt-4o-mini (openai)", "2", "1", "4,000", "200", "2.0",
                        "$0.75"]  # fmt: skip
    assert [line[-1] for line in lines] == ["$0.75", "$0.50", "price unknown"]
    assert f"<title>{today}: $1.25</title>" in html
