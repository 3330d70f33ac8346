"""How small and how cold: the wheel, what an install adds, the first answer, a new process's time.

    python -m benchmarks.small                  # about 5 minutes; installs from the package index
    python -m benchmarks.small --pdf paper.pdf --question "Who …?"

The wheel is built and installed into a new environment, as a user does it; the environment without
it is taken off. Then a PDF is added and asked about, the first time that anything runs there. A
cold ``ask`` is compared with bare imports of the same environment, in turn, ``RUNS`` times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from benchmarks.paths import ROOT, eval_data
from benchmarks.record import save
from benchmarks.speed import IMPORTS, ran
from wellread.evaluation.scores import percentile

RUNS = 9
LARGEST = 12  # packages shown
MEGABYTE = 1024 * 1024
PDF = ("docling_pdfs", "tests", "data", "pdf", "sources", "2305.03393v1-pg9.pdf")
QUESTION = "How does the number of tokens compare between OTSL and HTML?"
LIMITS = {"wheel, MB": 25, "installed, MB": 800, "first answer, s": 20, "cold by imports": 1.0}


def main() -> None:
    """Measure, print the table, write ``results/small.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--pdf", type=Path, help="default: a page of Docling's tests")
    parser.add_argument("--question", default=QUESTION, help="about the PDF")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(Path(folder), options.pdf or eval_data(*PDF), options.question)
    save("small", figures)
    print("\n".join(table(figures)))


def measured(folder: Path, pdf: Path, question: str) -> dict[str, Any]:
    """Every figure of a wheel built from this tree."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, stdout=sys.stderr)
    (wheel,) = (folder / "dist").glob("*.whl")
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    before = size(folder / "venv")
    ran([str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheel)])
    figures: dict[str, Any] = {
        "load before": os.getloadavg()[0],
        "wheel, MB": round(wheel.stat().st_size / MEGABYTE, 1),
        "installed, MB": size(folder / "venv") - before,
        "of it bytecode, MB": size(folder / "venv", "*.pyc"),
        "packages": dict(packages(folder / "venv")),
    }
    wellread = [str(programs / "wellread"), "--home", str(folder / "home")]
    started = time.perf_counter()
    ran([*wellread, "add", str(pdf)])
    figures["add, s"] = round(time.perf_counter() - started, 1)
    ran([*wellread, "ask", question])
    figures["first answer, s"] = round(time.perf_counter() - started, 1)
    figures |= cold([*wellread, "ask", "--fresh", question], str(programs / "python"))
    return figures | {"load after": os.getloadavg()[0]}


def size(folder: Path, pattern: str = "*") -> int:
    """Mebibytes that the files under ``folder`` take on disk, as ``du -sm`` counts them."""
    found = (path.lstat() for path in folder.rglob(pattern))
    # A file with several names is counted once.
    blocks = {(each.st_dev, each.st_ino): each.st_blocks for each in found}
    return round(512 * sum(blocks.values()) / MEGABYTE)


def packages(environment: Path) -> Iterator[tuple[str, int]]:
    """The largest packages with their mebibytes, bytecode among them."""
    (site,) = environment.glob("[Ll]ib/**/site-packages")
    sizes: dict[str, int] = {}
    for package in distributions(path=[str(site)]):
        places = {Path(str(package.locate_file(file))) for file in package.files or ()}
        sizes[package.name] = sum(place.stat().st_size for place in places if place.is_file())
    for name in sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]:
        yield name, round(sizes[name] / MEGABYTE)


def cold(ask: list[str], python: str) -> dict[str, float]:
    """Medians of a new process that asks and of bare imports, wall clock and processor seconds."""
    seconds: dict[str, list[float]] = {}
    for _ in range(RUNS):
        for name, command in (("cold ask", ask), ("imports", [python, "-c", IMPORTS])):
            wall, processor = ran(command)
            seconds.setdefault(f"{name}, s", []).append(wall)
            seconds.setdefault(f"{name}, processor s", []).append(processor)
    medians = {name: round(percentile(found, 0.5), 2) for name, found in seconds.items()}
    return medians | {"cold by imports": round(medians["cold ask, s"] / medians["imports, s"], 2)}


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures with their limits, then the largest packages."""
    lines = ["| what | found | at most |", "|---|---|---|"]
    for name, value in figures.items():
        if name != "packages":
            lines.append(f"| {name} | {value:,.2f} | {LIMITS.get(name, '')} |")
    lines += [f"| {name}, MB | {value} | |" for name, value in figures["packages"].items()]
    return [*lines, ""]


if __name__ == "__main__":
    main()
