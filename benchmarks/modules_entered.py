"""How many modules of Wellread five fixed questions enter: a measure of how far their way is.

    python -m benchmarks.modules_entered --list
    python -m benchmarks.modules_entered --home COPY-OF-THE-DEMO --json

The home is what ``wellread demo`` leaves, so nothing is asked that is kept. A module counts
when a function of it is called between the question and its answer, in any thread; what only
importing runs does not count. A question is asked before, so that opening does not either.
What a server takes up at its start, in a thread of its own, is over before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from starlette.testclient import TestClient

from benchmarks.paths import ROOT
from benchmarks.record import save
from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http.app import create_app
from wellread.values.answers import Answer, Question

PLAIN = "What broke down first on the morning Oldwick went dark?"
COUNTING = "How many news items are there about Oldwick?"
FOLLOW_UP = "And when did it come back?"
PACKAGE = ROOT / "src" / "wellread"


def main() -> None:
    """Count and print; without ``--json`` write ``results/modules_entered.json`` as well."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--home", type=Path, help="what the demo left; else it is run")
    parser.add_argument("--list", action="store_true", help="print the modules")
    parser.add_argument("--json", action="store_true", help="print one JSON value, write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = options.home or Path(folder) / "home"
        if not options.home:
            command = [sys.executable, "-m", "wellread.serve.cli", "--home", str(home), "demo"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open_kb(home, overrides={"gaps": {"ask_again": False}}) as kb:
            found = entered(kb)
    figures = {name: sizes(modules) for name, modules in found.items()}
    if options.list:
        for name, modules in found.items():
            print(f"{name}:", *(f"  {path.relative_to(PACKAGE)}" for path in modules), sep="\n")
    print(json.dumps(figures))
    if not options.json:
        print(save("modules_entered", {"questions": figures}))


def sizes(modules: list[Path]) -> dict[str, int]:
    """How many, and the lines of all."""
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)
    return {"modules": len(modules), "lines": lines}


def entered(kb: KnowledgeBase) -> dict[str, list[Path]]:
    """The modules of which a function is called while each question is answered, sorted."""
    app = create_app(kb)
    ask(kb, f"{PLAIN} ")
    with watching() as called:
        found = {}

        def count(name: str, work: Callable[[], object]) -> None:
            called.clear()
            work()
            files = map(Path, list(called))
            found[name] = sorted(path for path in files if PACKAGE in path.parents)

        count("by Python", lambda: ask(kb, PLAIN))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            # What a server takes up at its start is no part of a question.
            app.state.ingest.close()
            assert client.portal is not None
            client.portal.call(app.state.research.close)
            count("by API", lambda: ask_api(client))
            count("by page", lambda: ask_page(client))
        count("a count", lambda: ask(kb, COUNTING))
        session = ask(kb, PLAIN, "new").session_id
        count("a follow-up", lambda: ask(kb, FOLLOW_UP, session))
    return found


@contextmanager
def watching() -> Iterator[set[str]]:
    """The files of all functions that are called inside, in this thread and those begun inside."""
    files: set[str] = set()

    def called(frame: FrameType, _event: str, _: Any) -> None:
        if frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    threading.settrace(called)  # told of calls alone, as it asks for no more
    sys.settrace(called)
    try:
        yield files
    finally:
        sys.settrace(None)
        threading.settrace(None)


def ask(kb: KnowledgeBase, question: str, session: str = "") -> Answer:
    """The answer, written anew."""
    asked = Question(text=question, fresh=True, session_id=session)
    return asyncio.run(final(answer(kb, asked)))


def ask_api(client: TestClient) -> None:
    """Ask by the API."""
    client.post("/api/ask", json={"question": PLAIN, "options": {"fresh": True}}).raise_for_status()


def ask_page(client: TestClient) -> None:
    """Ask by the page, and read what it shows to the end."""
    page = client.get("/", params={"q": PLAIN, "fresh": "true"})
    run = page.url.path if "/ask/" in page.url.path else page.text.partition("/ask/")[2][:200]
    name = run.rpartition("/ask/")[2].partition("/")[0].partition('"')[0]
    client.get(f"/ask/{name}/events").raise_for_status()


if __name__ == "__main__":
    main()
