"""How many modules of Wellread one plain question enters: a measure of how far its way is.

    python -m benchmarks.modules_entered
    python -m benchmarks.modules_entered "Who runs the tool library?" --list

A fresh home with the sample base, the default embedder, no language model. A module counts when a
function of it is called between the question and its answer, in the main thread or one that is
started meanwhile; what only importing runs does not count. The question is asked once before, so
that opening the stores does not either.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.paths import ROOT, SAMPLE
from benchmarks.record import save
from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb

QUESTION = "What broke down first on the morning Oldwick went dark?"
PACKAGE = ROOT / "src" / "wellread"


def main() -> None:
    """Count, print, write ``results/modules_entered.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--list", action="store_true", help="print the modules")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_kb(Path(folder)) as kb:
        add(kb, [str(SAMPLE)])
        ask(kb, f"{options.question} ")
        modules = entered(kb, options.question)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)
    rooms: dict[str, int] = {}
    for path in modules:
        room = path.relative_to(PACKAGE).parts[0]
        rooms[room] = rooms.get(room, 0) + 1
    if options.list:
        print("\n".join(str(path.relative_to(PACKAGE)) for path in modules))
    print(f"{len(modules)} modules, {lines:,} lines: {rooms}")
    print(save("modules_entered", {"modules": len(modules), "lines": lines, "rooms": rooms}))


def ask(kb: KnowledgeBase, question: str) -> None:
    """Ask, and throw the answer away."""
    asyncio.run(final(answer(kb, Question(text=question, fresh=True))))


def entered(kb: KnowledgeBase, question: str) -> list[Path]:
    """The modules of which a function is called while ``question`` is answered, sorted."""
    files: set[str] = set()

    def called(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        ask(kb, question)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(path for path in map(Path, files) if PACKAGE in path.parents)


if __name__ == "__main__":
    main()
