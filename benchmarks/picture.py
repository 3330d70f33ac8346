"""Draws the README's picture: a real answer of the demo, as the terminal shows it.

python -m benchmarks.picture docs/answer.svg
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli.demo_cli import COLLECTION, FOLDERS, QUESTIONS
from wellread.serve.features.asking.answer_print import print_answer

WIDTH = 96


def main() -> None:
    """Answer the demo's first and last question and save what is shown."""
    console = Console(record=True, width=WIDTH, force_terminal=True)
    sample = Path(__file__).parents[1] / "src" / "wellread" / "sample"
    with tempfile.TemporaryDirectory() as home, open_kb(Path(home)) as kb:
        add(kb, [str(sample / name) for name in FOLDERS], collection=COLLECTION)
        for text in (QUESTIONS[0], QUESTIONS[-1]):
            asyncio.run(final(answer(kb, Question(text=text, fresh=True))))
            started = time.perf_counter()
            given = asyncio.run(final(answer(kb, Question(text=text, fresh=True))))
            console.print(Text(f"$ wellread ask {text!r}", style="bold"))
            seconds = time.perf_counter() - started
            print_answer(console, given, seconds=seconds, detailed=False)
            console.print()
    console.save_svg(sys.argv[1], title="wellread")


if __name__ == "__main__":
    main()
