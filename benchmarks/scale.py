"""One machine, large: what each kind of work takes at 10,000, 200,000 and 1,000,000 passages.

    python -m benchmarks.scale --sizes 10000,200000,1000000

Generated files of records (``scale_files.py``) are taken in by ``wellread add`` with the static
embedder: the full model, at some thirty passages a second, would need nine hours for the largest
base; its rate is that of ``benchmarks.ingest``. Each row is a process of its own, so memory is the
peak resident set of that row alone. What is asked is asked in turn, each question once. A base that
is there is not taken in again (``--anew`` does); its sync and remove are undone afterwards, so that
a later run finds the same. The memory of a server over many requests is in ``server_memory.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import scale_files
from benchmarks.ledger import served
from benchmarks.material import COLLECTIONS, questions
from benchmarks.paths import CACHE
from benchmarks.record import memory_of, save
from benchmarks.speed import FILTERS, Run, asked_of, bare, measured
from wellread.ask.retrieve.search import search
from wellread.evaluation.scores import percentile
from wellread.ingest.joining.story_refresh import finish_run
from wellread.kb import open_kb
from wellread.types import Filters

SETTINGS = """\
embedding: {backend: static}
stories: {enabled: false}  # built by a step of its own
gaps: {ask_again: false}  # what was asked before would count as taking in
users: {requests_per_minute: 0, asks_per_minute: 0}
"""
CHANGED = 100  # one file of so many
STARTS = 5  # of a new process
NEWS, ARCHIVE = COLLECTIONS
PAGES = {
    "library": "/library",
    "library, last page": "/library?offset={last}",
    "library, one collection": "/library?collection=news",
    "library, by words": "/library?find=mining",
    "library, collections": "/library/collections",
    "home": "/",
    "search": "/search?query=channel+fees",
    "stories": "/stories",
    "recordings": "/media",
    "timelines": "/timelines",
    "entities": "/entities",
    "coverage": "/coverage",
    "gaps": "/gaps",
    "figures": "/figures",
    "health": "/health",
    "documents (REST)": "/api/documents",
    "collections (REST)": "/api/collections",
    "metrics (Prometheus)": "/metrics",
}
ASKED = ("bare lists", "search", "filtered search", "ask", "list question", "count question")
WORK = ("add", "stories", "reopening", "verify", "backup", "sync of 1 %", "remove")


def main() -> None:
    """Measure every size, print the table, write ``results/scale.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", default="10000,200000", help="passages, with commas")
    parser.add_argument("--questions", type=int, default=100, help="of each kind")
    parser.add_argument("--anew", action="store_true", help="take in again what is there")
    parser.add_argument("--child", choices=("asked", "stories"), help="be a measured process")
    parser.add_argument("--place", type=Path)
    options = parser.parse_args()
    if options.child:
        figures = (
            asked(options.place / "home", options.questions)
            if options.child == "asked"
            else stories(options.place / "home")
        )
        print(json.dumps(figures | {"peak MiB": memory_of(os.getpid())["VmHWM"]}))
        return
    sizes = []
    for size in map(int, options.sizes.split(",")):
        sizes.append(measure(size, options.questions, anew=options.anew))
        save("scale", {"questions": options.questions, "sizes": sizes})
    print("\n".join(table({"questions": options.questions, "sizes": sizes})))


def measure(size: int, count: int, *, anew: bool = False) -> dict[str, Any]:
    """Every figure of one size."""
    place = CACHE / f"scale-{size}"
    if anew:
        shutil.rmtree(place / "home", ignore_errors=True)
    kept = place / "home" / "taken_in.json"
    if not kept.exists():
        kept.write_text(json.dumps(taken_in(place, size)), encoding="utf-8")
    figures: dict[str, Any] = {"size": size, "load": os.getloadavg()[0]}
    figures |= json.loads(kept.read_text(encoding="utf-8"))
    for name, step in STEPS.items():
        figures |= step(place, count)
        print(name, {key: figures[key] for key in figures if key in (*ASKED, *WORK)}, flush=True)
    return figures


# --- taking in ---------------------------------------------------------------------------------


def taken_in(place: Path, size: int) -> dict[str, Any]:
    """Write the files, take them in, build the stories."""
    files, home = place / "files", place / "home"
    if not files.exists():
        shutil.rmtree(place / "part", ignore_errors=True)
        scale_files.write(place / "part", size)
        (place / "part").rename(files)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / "wellread.yaml").write_text(SETTINGS, encoding="utf-8")
    models = CACHE / "scale-models"  # the embedder's table, which is made once
    if models.exists():
        shutil.copytree(models, home / "models")
    with open_kb(home) as kb:
        kb.embedder.embed(["ready"], "query")
    shutil.copytree(home / "models", models, dirs_exist_ok=True)
    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(first_answer, home, time.perf_counter())
        news = ran(home, "add", "-c", NEWS, str(files / NEWS))
        archive = ran(home, "add", "-c", ARCHIVE, str(files / ARCHIVE))
    with open_kb(home) as kb:
        rows = kb.catalogue.listings.kinds()
    passages, seconds = sum(row.passages for row in rows), news["seconds"] + archive["seconds"]
    built = child("stories", place, 0)
    settings = SETTINGS.replace("enabled: false", "enabled: true")
    (home / "wellread.yaml").write_text(settings, encoding="utf-8")
    return {
        "passages": passages,
        "documents": sum(row.documents for row in rows),
        "add": {
            "seconds": round(seconds, 1),
            "peak MiB": max(news["peak MiB"], archive["peak MiB"]),
            "a second": round(passages / seconds),
            "first answer": round(first.result(), 1),
        },
        "stories": built,
        "home MiB": sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) >> 20,
    }


def first_answer(home: Path, since: float) -> float:
    """Seconds until a search in another process than that of ``add`` finds a passage."""
    with open_kb(home) as kb:
        while not search(kb, "bitcoin", Filters()):
            time.sleep(0.2)
    return time.perf_counter() - since


def stories(home: Path) -> dict[str, Any]:
    """Build the stories of the larger collection."""
    with open_kb(home, overrides={"stories": {"enabled": True}}) as kb:
        started = time.perf_counter()
        finish_run(kb, NEWS)
        seconds = time.perf_counter() - started
        return {"seconds": round(seconds, 1), "stories": kb.catalogue.stories.count(NEWS)[0]}


# --- asking ------------------------------------------------------------------------------------


def asked(home: Path, count: int) -> dict[str, Any]:
    """Milliseconds of each kind of question, in turn."""
    with open_kb(home) as kb, ThreadPoolExecutor(1) as beside:
        documents = sum(row.documents for row in kb.catalogue.listings.kinds())
        answered = asked_of(kb)
        numbers = iter(range(10**6))

        def listed(_: str) -> None:
            answered(f"Which articles are by {scale_files.author(next(numbers) * 37 % documents)}?")

        def counted(_: str) -> None:
            number = next(numbers)
            answered(f"How many papers are there from {month(number)}?")

        parts: tuple[Run, ...] = (
            bare(kb, beside),
            lambda text: search(kb, text, Filters()),
            lambda text: search(kb, text, FILTERS),
            answered,
            listed,
            counted,
        )
        texts = iter(questions(scale_files.shape(), len(parts) * (count + 10), seed=documents))
        seconds = measured(dict(zip(ASKED, parts, strict=True)), texts, count)
    return {name: spread(found) for name, found in seconds.items()}


def month(number: int) -> str:
    """A month that the base has documents of."""
    names = "January February March April May June July August September October November December"
    return f"{names.split()[number % 12]} {2019 + number // 12 % 5}"


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    return {
        name: round(1000 * percentile(seconds, part), 1)
        for name, part in (("p50", 0.5), ("p95", 0.95))
    }


def asking(place: Path, count: int) -> dict[str, Any]:
    """What is asked, in a process of its own."""
    found = child("asked", place, count)
    return {"asking MiB": found.pop("peak MiB")} | found


def pages(place: Path, count: int) -> dict[str, Any]:
    """Milliseconds of each page, of a server on its own."""
    with open_kb(place / "home") as kb:
        documents = sum(row.documents for row in kb.catalogue.listings.kinds())
    found: dict[str, Any] = {}
    with served(place / "home") as server:
        for name, address in PAGES.items():
            address = address.format(last=documents - 20)
            first = server.milliseconds(address)
            times = [server.milliseconds(address) / 1000 for _ in range(max(50, count // 2))]
            found[name] = spread(times) | {"first": round(first, 1)}
        peak = memory_of(server.process)["VmHWM"]
    return {"pages": found, "server MiB": peak}


# --- upkeep ------------------------------------------------------------------------------------


def reopening(place: Path, _: int) -> dict[str, Any]:
    """A new process that opens the home and searches; the first fills the disk cache."""
    runs = [ran(place / "home", "search", "channel fees") for _ in range(STARTS + 1)][1:]
    return {"reopening": median(runs)}


def verified(place: Path, _: int) -> dict[str, Any]:
    """``wellread verify``."""
    return {"verify": ran(place / "home", "verify")}


def backed_up(place: Path, _: int) -> dict[str, Any]:
    """``wellread backup export``, into a file that is removed again."""
    file = place / "backup.tar.gz"
    file.unlink(missing_ok=True)
    found = ran(place / "home", "backup", "export", str(file))
    found["file MiB"] = file.stat().st_size >> 20
    file.unlink()
    return {"backup": found}


def synced(place: Path, _: int) -> dict[str, Any]:
    """``wellread sync`` after one file of a hundred has changed."""
    folder = place / "files" / NEWS
    changed = scale_files.revise(folder, CHANGED, f"at {time.time_ns()}")
    found = ran(place / "home", "sync", "-c", NEWS, str(folder))
    return {"sync of 1 %": found | {"documents": changed}}


def removed(place: Path, _: int) -> dict[str, Any]:
    """``wellread remove`` of a file's ten documents, which are taken in again."""
    file = next(iter(sorted((place / "files" / ARCHIVE).rglob("*.jsonl"))))
    found = ran(place / "home", "remove", "-y", "-c", ARCHIVE, str(file))
    ran(place / "home", "add", "-c", ARCHIVE, str(file))
    return {"remove": found}


STEPS = {
    "asking": asking,
    "pages": pages,
    "reopening": reopening,
    "verify": verified,
    "backup": backed_up,
    "sync": synced,
    "remove": removed,
}


# --- processes ---------------------------------------------------------------------------------


def ran(home: Path, *arguments: str) -> dict[str, Any]:
    """Seconds and peak memory of a ``wellread`` command."""
    program = str(Path(sys.executable).with_name("wellread"))
    started = time.perf_counter()
    process = subprocess.Popen(
        [program, "--home", str(home), *arguments], stdout=subprocess.DEVNULL
    )
    peak = 0
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        peak = max(peak, memory_of(process.pid).get("VmHWM", 0))
        time.sleep(0.02)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"wellread {' '.join(arguments)} ended with {process.returncode}")
    return {
        "seconds": round(time.perf_counter() - started, 2),
        "processor": round(used.ru_utime + used.ru_stime, 2),
        "peak MiB": peak,
    }


def child(step: str, place: Path, count: int) -> dict[str, Any]:
    """What a step in a process of its own says."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", step, "--place", str(place)]
    command += ["--questions", str(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def median(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each figure of several runs."""
    return {name: round(statistics.median(run[name] for run in runs), 2) for name in runs[0]}


# --- the table ---------------------------------------------------------------------------------


def table(figures: Mapping[str, Any]) -> list[str]:
    """All sizes side by side as Markdown, with the ratio of the largest to the smallest."""
    sizes = figures["sizes"]
    heads = " | ".join(f"{size['passages']:,} passages" for size in sizes)
    lines = [f"| | {heads} | ratio |", f"|---|{'---|' * (len(sizes) + 1)}"]
    for name, cells, ratio in rows(sizes):
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio} |")
    load = ", ".join(f"{size['load']:.1f}" for size in sizes)
    return [
        *lines,
        "",
        f"{figures['questions']} questions of each kind, p50 / p95; load at the start of each size "
        f"{load}. The ratio is of p50 or seconds, largest to smallest; of search, also to its bare "
        "lists at the same size.",
        "",
    ]


def rows(sizes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str], str]]:
    """The name of a row, its cells and its ratio."""
    yield "documents", [f"{size['documents']:,}" for size in sizes], ""
    added = [size["add"] for size in sizes]
    yield (
        "add, passages a second",
        [f"{each['a second']:,}" for each in added],
        of(added, "a second"),
    )
    firsts = [f"{each['first answer']} s" for each in added]
    yield "add, time to the first answer", firsts, of(added, "first answer")
    for name in ASKED:
        cells = [f"{size[name]['p50']} / {size[name]['p95']} ms" for size in sizes]
        yield name, cells, of([size[name] for size in sizes], "p50")
    by_bare = [f"{size['search']['p50'] / size['bare lists']['p50']:.2f}" for size in sizes]
    yield "search by its bare lists", by_bare, ""
    for name in PAGES:
        of_page = [size["pages"][name] for size in sizes]
        cells = [f"{each['p50']} / {each['p95']} ms" for each in of_page]
        yield f"page: {name}", cells, of(of_page, "p50")
    for name in WORK:
        cells = [f"{size[name]['seconds']} s, {size[name]['peak MiB']:,} MiB" for size in sizes]
        yield name, cells, of([size[name] for size in sizes], "seconds")
    for name in ("asking MiB", "server MiB", "home MiB"):
        yield name, [f"{size[name]:,}" for size in sizes], of(sizes, name)


def of(found: Sequence[Mapping[str, float]], name: str) -> str:
    """The last by the first."""
    return f"{found[-1][name] / found[0][name]:.2f}" if found[0][name] else ""


if __name__ == "__main__":
    main()
