"""What the README shows and promises is what happens."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Iterator
from datetime import date
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from tests.conftest import PlaceModel
from tests.doubles import forked
from tests.doubles.one_thread import ONE_THREAD

# The measurements are not part of the installed package.
from benchmarks import picture
from wellread.ask.answer import answer, final
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
QUESTIONS = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
KINDS_OF_QUESTIONS = "you ask | read as | answered from"
COMMAND = "$ wellread "
STRICT = "warnings.simplefilter('error')"


def rows_under(header: str) -> list[list[str]]:
    """The cells of the table with this header."""
    lines = QUESTIONS[QUESTIONS.index(header) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def squeezed(printed: str) -> str:
    """Without line breaks, times, scores and the folder that the material lies in."""
    plain = re.sub(r"file://\S*?/examples", "file://examples", printed.replace("…", "0"))
    return re.sub(r"\s+", "", re.sub(r"\d+\.\d+|\d+%|\b0\b|\(\d+/s\)", "#", plain)).replace(
        "(#/s)", "#"
    )


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    home = tmp_path_factory.mktemp("readme") / "home"
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        with as_file(files("wellread.sample")) as folder:
            add(kb, [str(folder)])
        yield kb


@pytest.mark.parametrize(("question", "kind", "source"), rows_under(KINDS_OF_QUESTIONS))
def test_a_question_is_read_and_answered_as_promised(
    sample: KnowledgeBase, question: str, kind: str, source: str
) -> None:
    analysis = analyse(Question(text=question), vocabulary_of(sample), date.today())
    assert analysis.type == kind
    given = asyncio.run(final(answer(sample, Question(text=question))))
    by_catalogue = source.startswith("the catalogue")
    assert given.answered_by == ("catalogue" if by_catalogue else "extractive"), given.text


def test_the_first_commands_print_what_is_shown(tmp_path: Path, place_model: PlaceModel) -> None:
    place_model(tmp_path / "home")
    environ = os.environ | ONE_THREAD
    environ |= {"WELLREAD_HOME": str(tmp_path / "home"), "COLUMNS": "96"}
    in_root = f"import os; os.chdir({str(ROOT)!r}); {forked.PROGRAM}"
    shown = README[README.index("```console") :].partition("\n")[2].partition("```")[0]
    for part in shown.split(COMMAND)[1:]:
        line, _, expected = part.partition("\n")
        done = forked.run(in_root, *shlex.split(line), env=environ)
        assert done.returncode == 0, done.stderr
        assert squeezed(done.stdout) == squeezed(expected)


def test_the_picture_shows_what_the_demo_prints(demo: Path) -> None:
    """``python -m benchmarks.picture`` draws it anew."""
    printed = (demo / "printed.txt").read_text(encoding="utf-8")
    assert "No answer in this material" in printed
    assert f"wellread --home {demo / 'home'} ask" in printed
    drawn = picture.words_of_picture(picture.PICTURE.read_text(encoding="utf-8"))
    for question in picture.SHOWN:
        assert picture.squeezed(picture.answer_in(printed, question)) in drawn


def test_the_python_of_the_readme_runs(tmp_path: Path, place_model: PlaceModel) -> None:
    place_model(tmp_path / "home")
    code = README[README.index("```python") :].partition("\n")[2].partition("```")[0]
    code = code.replace('"my-home"', repr(str(tmp_path / "home")))
    done = forked.run(f"import os, warnings; os.chdir({str(ROOT)!r})\n{STRICT}\n{code}")
    assert done.returncode == 0, done.stderr
    assert "2,300 euros" in done.stdout
    assert "00:41 · Piet" in done.stdout
