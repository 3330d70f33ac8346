"""Draws the README's picture of a real answer from what the demo prints.

    python -m benchmarks.picture    # runs the demo in a fresh home, writes docs/answer.svg

``make test`` compares the words of the picture with those of a demo.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

from benchmarks.paths import ROOT
from wellread.serve.cli.ask_cli import QUESTIONS

WIDTH = 96
PICTURE = ROOT / "docs" / "answer.svg"
SHOWN = (QUESTIONS[-2], QUESTIONS[-1])
END = "Next"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
_FRACTION = re.compile(r"\d+\.\d+|\d+%|(?<=about\s)\d+")  # processors round scores differently
_FOLDER = re.compile(r"file://\S*?/wellread/sample")  # wherever it is installed


def main() -> None:
    """Run the demo and draw two of its answers."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-m", "wellread.serve.cli", "--home", home, "demo"],
            env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=WIDTH, force_terminal=True, file=nowhere)
        for question in SHOWN:
            shown = _FOLDER.sub("file://…/wellread/sample", answer_in(done.stdout, question))
            console.print(Text.from_ansi(shown))
        console.save_svg(str(PICTURE), title="make demo")
    print(PICTURE)


def answer_in(printed: str, question: str) -> str:
    """What the demo prints from this question up to the next one."""
    lines = printed.splitlines()
    plain = [_ANSI.sub("", line) for line in lines]
    start = next(place for place, line in enumerate(plain) if question[:40] in line)
    ends = (
        place
        for place, line in enumerate(plain)
        if place > start and (line.startswith("» ") or line == END)
    )
    return "\n".join(lines[start : next(ends)])


def words_of_picture(svg: str) -> str:
    """What the picture says, without white space, styles and decimals."""
    said = " ".join(html.unescape(piece) for piece in _TEXT.findall(svg))
    return squeezed(said)


def squeezed(printed: str) -> str:
    """The same for what a terminal shows, without the bar in front of each line of a quotation."""
    said = re.sub(r"[\s▌]+", "", _FRACTION.sub("#", _ANSI.sub("", printed)))
    return _FOLDER.sub("file://", said)


if __name__ == "__main__":
    main()
