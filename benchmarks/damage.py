"""Damage: some seventy ways of damaging a home, each met by ``verify``, ``ask`` and a repair.

    python -m benchmarks.damage
    python -m benchmarks.damage --only manifest --show

Every way starts from the same home: two dozen files, an answer, a backup, removed rows. In a
process of its own the command line is called: ``verify`` and ``ask`` on the damage, then ``verify
--repair``, and ``add`` of the sources where the repair says so; then both again. No command may
end in a traceback or a panic; every error is one line without places in somebody's sources;
``verify`` says what is wrong. At the end every text that the home held is there again, the
question has its answer, and nothing is left to report.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.damage_ways import Way, ways
from benchmarks.record import save
from wellread.ingest.pipeline.commit import index_rows
from wellread.kb import open_kb
from wellread.store.index import lance_tables

QUESTION = "How many passengers does the ferry Osprey carry?"
ANSWER = "ninety"
NOTES = 24
WAYS_A_PROCESS = 12
BAD = re.compile(
    r"Traceback|panicked|RustPanic|PanicException|/root/|\.cargo|\.rs:\d|site-packages"
)
MENDS = re.compile(r"wellread verify|wellread backup restore")
SOURCES = "sources"
SETTINGS = "reader:\n  answers: lexical\n"


@dataclass
class Said:
    """How a command ended."""

    status: int
    out: str
    err: str


@dataclass
class Met:
    """What came of one way."""

    name: str
    diagnosis: str = ""
    repaired: str = ""
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Run, print and write ``results/damage.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="ways whose name holds this")
    parser.add_argument("--show", action="store_true", help="print what the commands said")
    parser.add_argument("--child", action="store_true", help="be the process of the commands")
    arguments = parser.parse_args()
    if arguments.child:
        child()
        return
    chosen = [way for way in ways() if arguments.only in way.name]
    line = CommandLine()
    met: list[Met] = []
    with tempfile.TemporaryDirectory(prefix="damage-") as folder:
        whole = prepare(line, Path(folder))
        for way in chosen:
            met.append(meet(line, way, whole, show=arguments.show))
            print(len(met), way.name, met[-1].diagnosis, met[-1].wrong, flush=True)
            if len(met) % WAYS_A_PROCESS == 0:
                line.end()
    line.end()
    wrong = [one for one in met if one.wrong]
    figures: dict[str, Any] = {
        "ways": len(met),
        "commands": len(met) * 5,
        "wrong": len(wrong),
        "each": [asdict(one) for one in met],
    }
    if not arguments.only:
        save("damage", figures)
    print(json.dumps({name: figures[name] for name in ("ways", "commands", "wrong")}, indent=1))
    sys.exit(bool(wrong))


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = [
        f"{figures['ways']} ways, {figures['commands']} commands: {figures['wrong']} wrong.",
        "",
        "| damage | `verify` says | wrong |",
        "|---|---|---|",
    ]
    for row in figures["each"]:
        lines.append(f"| {row['name']} | {row['diagnosis'][:120]} | {len(row['wrong'])} |")
    return lines


# --- the home that is damaged ---


def write_sources(folder: Path) -> None:
    """Two dozen notes."""
    folder.mkdir()
    ferry = "The ferry Osprey carries ninety passengers across the eastern sound. " * 3
    (folder / "ferry.md").write_text(f"# Ferry\n\n{ferry}\n\n# Winter\n\nThen it leaves at ten.\n")
    for number in range(NOTES):
        said = [
            f"Lighthouse {number} has the lamp number {number * 17 + line} on floor {line}, and "
            f"keeper {number} cleans it with rag {line * 3 + number}."
            for line in range(12)
        ]
        (folder / f"note{number}.md").write_text(f"# Note {number}\n\n{' '.join(said)}\n")


def prepare(line: CommandLine, folder: Path) -> Path:
    """The home that every way starts from."""
    home = folder / "home"
    home.mkdir()
    (home / "wellread.yaml").write_text(SETTINGS)
    write_sources(folder / SOURCES)
    sources = str(folder / SOURCES)
    for words in (["add", sources], ["ask", QUESTION]):
        said = line.run(home, *words)
        assert said.status == 0, said
    (backup,) = (home / "backups").glob("*.db")
    backup.unlink()
    said = line.run(home, "add", sources)  # its backup holds the answer too
    assert list((home / "backups").glob("*.db")), said
    lance_tables.FILTER_INDEX_ROWS = 1  # as a large home has, so that all structures are damaged
    with open_kb(home) as kb:  # rows written again, so that there are files of removed rows
        kb.index.optimize()
        known = next(each.id for each in kb.catalogue.documents("default") if "ferry" in each.uri)
        document, passages = kb.catalogue.document(known), kb.catalogue.passages_of([known])
        assert document is not None
        texts = [f"{one.context}\n{one.text}" for one in passages]
        kb.index.write(index_rows(document, passages), kb.embedder.embed(texts, "passage"))
    return home


def held(home: Path) -> dict[str, str]:
    """Address of every document and a hash of its text."""
    with closing(sqlite3.connect(home / "catalogue.db")) as connection:
        query = (
            "SELECT documents.uri, texts.text FROM documents JOIN texts ON document_id = id "
            "ORDER BY uri, piece"
        )
        found: dict[str, str] = {}
        for uri, text in connection.execute(query):
            found[uri] = found.get(uri, "") + text
    return {uri: hashlib.sha256(text.encode()).hexdigest() for uri, text in found.items()}


# --- one way ---


def meet(line: CommandLine, way: Way, whole: Path, *, show: bool = False) -> Met:
    """Damage a copy of the home, and go through the commands."""
    met = Met(name=way.name)
    before = held(whole)
    with tempfile.TemporaryDirectory(prefix="damaged-", dir=whole.parent) as folder:
        home = Path(shutil.copytree(whole, Path(folder) / "home"))
        way.harm(home, random.Random(way.name))
        ask = ("ask", QUESTION, "--fresh")
        said = [line.run(home, *words) for words in (("verify",), ask, ("verify", "--repair"))]
        if way.add:
            if "To begin anew" in said[-1].out:
                for name in ("catalogue.db", "index", "backups"):
                    if (home / name).exists():
                        shutil.move(home / name, Path(folder) / name)
            line.run(home, "add", str(whole.parent / SOURCES))
        said += [line.run(home, *words) for words in (("verify",), ask)]
        if show:
            for one in said:
                print(f"--- {one.status}\n{one.out}\n{one.err}")
        met.wrong += judge(way, said, met)
        if lost := sum(held(home).get(uri) != text for uri, text in before.items()):
            met.wrong.append(f"{lost} texts are lost")
    return met


def judge(way: Way, said: Sequence[Said], met: Met) -> Iterator[str]:
    """What is wrong about what the commands said."""
    looked, asked, repaired, after, answered = said
    for name, one in zip(
        ("verify", "ask", "repair", "verify again", "ask again"), said, strict=True
    ):
        if BAD.search(one.out + one.err) or one.status not in (0, 1):
            yield f"{name} ended with {one.status}: {(one.err or one.out)[-300:]}"
        errors = [line for line in one.err.splitlines() if line.startswith("Error")]
        if len(errors) > 1 or (errors and not MENDS.search(errors[0])):
            yield f"{name} does not say in one line what mends it: {errors}"
    lines = [line for line in looked.out.splitlines() if line.startswith("problem ")]
    met.diagnosis = lines[0].removeprefix("problem  ") if lines else "everything matches"
    met.repaired = next((line for line in repaired.out.splitlines() if "repaired  " in line), "")
    if way.told and way.told != "*" and way.told not in met.diagnosis:
        yield f"verify says {met.diagnosis!r}"
    if bool(lines) != (looked.status == 1):
        yield f"verify ends with {looked.status}"
    if "Everything matches" in repaired.out and repaired.status:
        yield "the repair says that everything matches, and ends with 1"
    if asked.status == 0 and ANSWER not in asked.out and not MENDS.search(asked.err):
        yield f"ask answers something else: {asked.out[:200]!r}"
    if after.status or "Everything matches" not in after.out:
        yield f"problems are left: {after.out[-300:]} {after.err[-300:]}"
    if answered.status or ANSWER not in answered.out:
        yield f"no answer afterwards: {answered.out[-200:]} {answered.err[-200:]}"


# --- the command line, in a process of its own ---


class CommandLine:
    """A process that runs commands one after the other; another one follows where it dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, home: Path, *words: str) -> Said:
        """How the command ended."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.damage", "--child"],
                env=os.environ | {"COLUMNS": "2000", "NO_COLOR": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        process = self._process
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps([str(home), *words]) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if line:
            return Said(**json.loads(line))
        status = process.wait()
        self._process = None
        return Said(status, "", f"the process died: {status}")

    def end(self) -> None:
        """Let the process end."""
        if self._process is not None:
            self._process.communicate()
        self._process = None


def child() -> None:
    """Be the command line: each command's ending as a line of JSON."""
    from wellread.serve import cli  # noqa: PLC0415 - the process of its own

    tell = os.dup(1)
    for line in sys.stdin:
        with redirected() as read:
            home, *words = json.loads(line)
            sys.argv = ["wellread", "--home", home, *words]
            status = ended(cli.main)
        out, err = read()
        os.write(tell, (json.dumps({"status": status, "out": out, "err": err}) + "\n").encode())


def ended(program: Callable[[], None]) -> int:
    """The exit status of a program, as the interpreter has it."""
    try:
        program()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 - whatever it is, a reader would see it
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def redirected() -> Iterator[Callable[[], tuple[str, str]]]:
    """Send both outputs of the process into files; what reads them."""
    streams = (sys.stdout, sys.stderr)
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        for number, file in enumerate((out, err), 1):
            os.dup2(file.fileno(), number)
        sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8", buffering=1)
        sys.stderr = os.fdopen(2, "w", closefd=False, encoding="utf-8", buffering=1)
        said: list[str] = []
        try:
            yield lambda: (said[0], said[1])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, was in enumerate(kept, 1):
                os.dup2(was, number)
                os.close(was)
            sys.stdout, sys.stderr = streams
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode("utf-8", "replace"))


if __name__ == "__main__":
    main()
