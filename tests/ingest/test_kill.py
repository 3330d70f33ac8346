"""SIGKILL at random moments of an ``add``: nothing is lost, and the next run finishes it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from wellread.ask.retrieve.search import search
from wellread.ingest.integrity.damage import DEAD_JOB, ORPHAN, UNFINISHED
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

CHILD = Path(__file__).with_name("adding_process.py")
KILLS = 12  # benchmarks/kills.py strikes far more often
FILES = 16
# Rows of a version that never became live are hidden by the version check and dropped by the
# next run; they are no loss.
LEFTOVERS = (ORPHAN, UNFINISHED, DEAD_JOB)


class Child:
    """A process that is ready to add. It is started early, so that nobody waits for imports."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def let_go(self, home: Path, folder: Path) -> None:
        """Wait until everything is loaded, then start the run."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        self.process.stdin.write(json.dumps([str(home), str(folder)]) + "\n")
        self.process.stdin.flush()

    def end(self) -> str:
        """Wait for the end, however it comes; what the process had said."""
        said, _ = self.process.communicate()
        return said

    def kill(self) -> str:
        self.process.kill()
        return self.end()


def write_files(folder: Path, generation: int) -> dict[str, str]:
    """Documents of a few passages each; every second one changes with the generation."""
    texts = {}
    for number in range(FILES):
        version = generation if (number + generation) % 2 else 0
        words = " ".join(f"harbour{number} tide{version} lantern." for _ in range(40))
        texts[f"{number}.txt"] = f"Paper {number} of generation{version}.\n\n{words}"
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return texts


def texts_of(kb: KnowledgeBase) -> dict[str, str]:
    """File name to the text that is live."""
    held = {}
    for known in kb.catalogue.document_ids():
        document = kb.catalogue.document(known)
        assert document is not None
        held[document.uri.rsplit("/", 1)[1]] = document.text
    return held


def check_whole(kb: KnowledgeBase, before: dict[str, str], after: dict[str, str]) -> bool:
    """Every document is its old or its new version, whole, and found as that.

    Returns whether the run was struck before all of it was done.
    """
    problems = verify(kb).problems
    assert [problem for problem in problems if problem.kind not in LEFTOVERS] == []
    held = texts_of(kb)
    assert set(held) == set(before)
    for name, text in held.items():
        assert text in (before[name], after[name])
    for facts in kb.catalogue.documents("default"):
        name = facts.uri.rsplit("/", 1)[1]
        words = f"harbour{name.removesuffix('.txt')}"
        hits = search(kb, words, Filters(document_ids=(facts.id,)))
        assert hits
        for hit in hits:
            assert hit.passage.text == hit.passage.span.of(held[name])
    return held != after or problems != ()


def finish(kb: KnowledgeBase, folder: Path, after: dict[str, str]) -> None:
    """The next run ends what the killed one began."""
    assert add(kb, [str(folder)]).counts()["failed"] == 0
    assert verify(kb).problems == ()
    assert texts_of(kb) == after


def whole_run(home: Path, folder: Path) -> float:
    """Seconds of a run that nobody kills."""
    child = Child()
    child.let_go(home, folder)
    assert child.process.stdout is not None
    assert child.process.stdout.readline() == "begun\n"
    started = time.perf_counter()
    assert child.end() == "done\n"
    assert child.process.returncode == 0
    return time.perf_counter() - started


def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    chance = random.Random(1)
    home, folder = tmp_path / "home", tmp_path / "papers"
    folder.mkdir()
    write_files(folder, 0)
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder)])
    before = write_files(folder, 1)
    length = whole_run(home, folder)
    struck = at_work = unfinished = 0
    child = Child()
    for generation in range(2, 2 * KILLS):
        after = write_files(folder, generation)
        child.let_go(home, folder)
        time.sleep(chance.uniform(0, length))
        said = child.kill()
        struck += child.process.returncode == -signal.SIGKILL
        at_work += "begun" in said and "done" not in said
        if child.process.returncode == 0:
            length *= 0.8  # the machine has become faster since the length was taken
        if struck < KILLS:
            child = Child()
        with open_kb(home, embedder=ReadableEmbedder()) as kb:
            unfinished += check_whole(kb, before, after)
            finish(kb, folder, after)
        before = after
        if struck == KILLS:
            break
    told = f"{struck} struck, {at_work} at work, {unfinished} left something undone"
    assert struck == KILLS, told
    assert at_work >= KILLS // 3, told
    assert unfinished >= KILLS // 3, told
