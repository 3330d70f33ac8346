"""SIGKILL at random moments of an ``add``: nothing is lost, and the next run finishes it."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wellread.ask.retrieve import search
from wellread.ingest.run import add
from wellread.ingest.verify import verify
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

CHILD = Path(__file__).with_name("adding_process.py")
KILLS = 32
FILES = 24


def write_files(folder: Path, generation: int) -> dict[str, str]:
    """Documents of a few passages each; which ones change differs by generation."""
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


def start(home: Path, folder: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(home), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def let_go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()


def end(child: subprocess.Popen[str]) -> None:
    child.wait()
    for pipe in (child.stdin, child.stdout):
        assert pipe is not None
        pipe.close()


def check_whole(home: Path, before: dict[str, str], after: dict[str, str]) -> None:
    """Every document is its old or its new version, whole, and found as that."""
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        report = verify(kb)
        missing = [p for p in report.problems if p.kind not in _LEFTOVERS]
        assert missing == []
        for facts in kb.catalogue.facts(list(kb.catalogue.document_ids())).values():
            document = kb.catalogue.document(facts.id)
            assert document is not None
            name = facts.uri.rsplit("/", 1)[1]
            assert document.text in (before[name], after[name])
            hits = search(
                kb, f"harbour{name.removesuffix('.txt')}", Filters(document_ids=(facts.id,))
            )
            assert hits
            for hit in hits:
                assert hit.passage.text == hit.passage.span.of(document.text)
        assert {
            f.uri.rsplit("/", 1)[1]
            for f in kb.catalogue.facts(list(kb.catalogue.document_ids())).values()
        } == set(before)


# Rows of a version that never became live are hidden by the version check and dropped by the
# next run; they are no loss.
_LEFTOVERS = ("in the index but not live", "left by an interrupted run")


@pytest.mark.parametrize("seed", [1])
def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    home, folder = tmp_path / "home", tmp_path / "papers"
    folder.mkdir()
    before = write_files(folder, 0)
    started = time.perf_counter()
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder)])
    whole_run = time.perf_counter() - started
    killed_midway = 0
    for generation in range(1, KILLS + 1):
        after = write_files(folder, generation)
        child = start(home, folder)
        let_go(child)
        time.sleep(chance.uniform(0, whole_run))
        child.kill()
        end(child)
        killed_midway += child.returncode == -9
        check_whole(home, before, after)
        with open_kb(home, embedder=ReadableEmbedder()) as kb:
            report = add(kb, [str(folder)])
            assert report.counts()["failed"] == 0
            assert verify(kb).problems == ()
            texts = {
                f.uri.rsplit("/", 1)[1]: kb.catalogue.document(f.id)
                for f in kb.catalogue.facts(list(kb.catalogue.document_ids())).values()
            }
        assert {name: doc.text for name, doc in texts.items() if doc} == after
        before = after
    assert killed_midway >= KILLS // 2
