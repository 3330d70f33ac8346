"""SIGKILL after each step of an ``add``: nothing is lost, and the next run finishes it.

``benchmarks/kills.py`` strikes at random moments, far more often.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

from benchmarks.kills import LEFTOVERS
from tests.doubles import forked
from tests.ingest.fault_points import ADDING

from wellread.ask.retrieve.search import search
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

CHILD = "from tests.ingest.adding_process import main; main()"
FILES = 8


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


def test_a_kill_at_any_point_loses_nothing(tmp_path: Path) -> None:
    """At the first and the second pass of a point in turn: nothing, or one window, is written."""
    home, folder = tmp_path / "home", tmp_path / "papers"
    folder.mkdir()
    before = write_files(folder, 0)
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder)])
    for generation, point in enumerate(ADDING, 1):
        after = write_files(folder, generation)
        times = 1 + generation % 2
        child = forked.run(CHILD, typed=json.dumps([str(home), str(folder), point, times]))
        assert child.returncode == -signal.SIGKILL, point
        with open_kb(home, embedder=ReadableEmbedder()) as kb:
            assert bool(kb.catalogue.pending()) == (point in ("intend", "index", "commit"))
            assert check_whole(kb, before, after), point
            finish(kb, folder, after)
        before = after
