"""Words that became a limit are not looked for in what meets it: the same answer, and as sure.

The models are those of a new home, since they read the words; asked is the HTTP interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import client_of

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http.app import create_app

PAGES = {
    "2025-05-04 mill.md": "# Mill\n\nRook Works mended the wheel. The repair cost 900 pounds.\n",
    "2025-06-09 mill.md": "# Mill\n\nAlder Yard mended the wheel. The repair cost 70 pounds.\n",
    "Council 2025-05-06.md": "# Council\n\nThe council decided to tar the sluice in autumn.\n",
    "2025-05-06 talk.vtt": (
        "WEBVTT\n\n00:01.000 --> 00:09.000\n<v Una Reed>The weir survey costs 310 pounds.\n"
    ),
    "2025-01-20 barge.md": "# Barge\n\nThe barge was shut for a day by its owner.\n",
    "letter.md": "---\nauthor: Nia Holt\n---\n# Letter\n\nThe kiln is fired with peat.\n",
    "story.md": (
        "---\ndate: 2025-08-01\n---\n# Look back\n\nIn January 2025 the lock was shut by ice. "
        "In July 2025 the lock was shut by weeds.\n"
    ),
}
COUNCIL = "decided to tar the sluice in autumn"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root: Path = tmp_path_factory.mktemp("mill")
    for name, text in PAGES.items():
        (root / name).write_text(text)
    with open_kb(tmp_path_factory.mktemp("home")) as opened:
        add(opened, [str(root)])
        yield opened


async def ask(kb: KnowledgeBase, question: str) -> dict[str, Any]:
    async with client_of(create_app(kb)) as client:
        reply: dict[str, Any] = (await client.post("/api/ask", json={"question": question})).json()
    return reply


@pytest.mark.parametrize(
    ("question", "told", "not_told"),
    [
        ("What did the council decide in May 2025?", COUNCIL, "mended"),
        ("What did the council decide on 2025-05-06?", COUNCIL, "mended"),
        ("What did the council decide on 06.05.2025?", COUNCIL, "mended"),
        ("Who mended the wheel in June 2025?", "Alder Yard", "Rook Works"),
        ("What does the weir survey cost according to the talk of 6 May 2025?", "310", "900"),
        ("What is the kiln fired with according to Nia Holt?", "fired with peat", "mended"),
    ],
)
async def test_a_limit_that_held_costs_no_confidence(
    kb: KnowledgeBase, question: str, told: str, not_told: str
) -> None:
    found = await ask(kb, question)
    assert told in found["answer"]
    assert not_told not in found["answer"]
    assert found["confidence"]["band"] in ("medium", "high")
    assert found["limits"]


async def test_what_only_names_the_time_has_to_say_so(kb: KnowledgeBase) -> None:
    found = await ask(kb, "What shut the lock in January 2025?")
    assert found["sentences"][0]["text"].startswith("In January 2025")
