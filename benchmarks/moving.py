"""Moving a large home: export and import, their time and memory, and whether answers stay the same.

    python -m benchmarks.moving [--passages 200000]
    python -m benchmarks.moving --postgres postgresql+psycopg://…/name --cluster URL,URL,URL \\
        [--sets covid,qmsum,scifact] [--questions 500]

The home holds so many passages in records of made-up wards and wares, embedded by the static model.
Sixty questions are asked of it and of the copy that comes out of the archive: the text, the
citations and the confidence of each have to be the same. Each step is a process of its own;
memory is its peak resident set.

With a database, which has to be empty, and a cluster, a folder with these sets is upgraded by
``export``, ``import`` and ``reindex``. The same questions, as many of each set, are asked before
and after: how many of the ten best passages are the same, and how many answers (text and
citations). Every document is compared by version and text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from benchmarks.homes import documents, filled, text_of
from benchmarks.paths import CACHE
from benchmarks.record import memory_of, save
from benchmarks.retrieval import SETS
from benchmarks.team import moved
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.identity import tagged_hash
from wellread.ingest.backup import export_home, import_home
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.types import Filters
from wellread.values.answers import Question

ASKED = 60
BEST = 10  # passages of a question that are compared
SHOWN = 20
RECORDS = 500  # of a file
MONTHS = 20  # that a record tells of, a passage each
SENTENCES, SENTENCE = 9, 9  # beside the one that says something
STATIC = {"embedding": {"backend": "static"}}
WARES = "amber barley copper damask ebony flax ginger hemp indigo jute linen madder nutmeg".split()
WARDS = "Ashgate Birchway Coldwell Dunmere Elmfold Farrow Glenside Harrowby Inglewood".split()


def main() -> None:
    """Make the home, move it, ask both, write ``results/moving.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--step", help="be the process that is measured")
    parser.add_argument("--place", type=Path)
    parser.add_argument("--postgres", help="URL of an empty database")
    parser.add_argument("--cluster", help="URLs of nodes, with commas between them")
    parser.add_argument("--sets", default="covid,qmsum,scifact", help=f"of {','.join(SETS)}")
    parser.add_argument("--questions", type=int, default=500)
    chosen = parser.parse_args()
    if chosen.postgres:
        upgrade(chosen)
        return
    if chosen.step:
        print(json.dumps(measured(chosen.step, chosen.place, chosen.passages)))
        return
    place = CACHE / f"moving-{chosen.passages}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    figures: dict[str, Any] = {"passages": chosen.passages}
    for step in ("add", "export", "import", "ask", "ask the copy"):
        figures[step] = in_a_process(step, place, chosen.passages)
        print(step, {name: figures[step][name] for name in ("seconds", "peak MiB")}, flush=True)
    first, second = (figures[step].pop("answers") for step in ("ask", "ask the copy"))
    figures["the same answers"] = sum(
        one == other for one, other in zip(first, second, strict=True)
    )
    figures["asked"] = len(first)
    figures["archive, MiB"] = (place / "home.tar.gz").stat().st_size >> 20
    shutil.rmtree(place)
    save("moving", figures)
    print("\n".join(table(figures)))


def in_a_process(step: str, place: Path, passages: int) -> dict[str, Any]:
    """What a step took."""
    command = [sys.executable, "-m", "benchmarks.moving", "--step", step, "--place", str(place)]
    command += ["--passages", str(passages)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measured(step: str, place: Path, passages: int) -> dict[str, Any]:
    """Do it."""
    began = time.perf_counter()
    found: dict[str, Any] = {}
    if step == "add":
        write_records(place / "records", passages)
        with open_kb(place / "home", overrides=STATIC) as kb:
            add(kb, [str(place / "records")])
            assert sum(row.passages for row in kb.catalogue.listings.kinds()) >= passages
    elif step == "export":
        with open_kb(place / "home", overrides=STATIC) as kb:
            export_home(kb, place / "home.tar.gz")
    elif step == "import":
        import_home(place / "home.tar.gz", place / "copy")
        with open_kb(place / "copy", overrides=STATIC) as kb:
            assert verify(kb).problems == ()
    else:
        found["answers"] = anyio.run(asked, place / ("home" if step == "ask" else "copy"))
    return found | {
        "seconds": round(time.perf_counter() - began, 1),
        "peak MiB": memory_of(os.getpid())["VmHWM"],
    }


def write_records(folder: Path, passages: int) -> None:
    """A record a line, in files of so many; each says one thing of its own."""
    chance = random.Random(11)
    folder.mkdir()
    records = passages // MONTHS
    for first in range(0, records, RECORDS):
        with (folder / f"{first}.jsonl").open("w", encoding="utf-8") as file:
            for number in range(first, min(first + RECORDS, records)):
                file.write(json.dumps(record(number, chance)) + "\n")


def record(number: int, chance: random.Random) -> dict[str, str]:
    """What is said of a warehouse, a passage a month."""
    ward, months = chance.choice(WARDS), []
    for month in range(1, MONTHS + 1):
        ware, sacks = chance.choice(WARES), chance.randint(10, 9_999)
        said = f"In month {month} warehouse {number} in {ward} stored {sacks} sacks of {ware}."
        rest = (" ".join(chance.choices(WARES + WARDS, k=SENTENCE)) for _ in range(SENTENCES))
        months.append(f"{said} {' '.join(f'It was near {words}.' for words in rest)}")
    text = "\n\n".join(months)
    return {"title": f"Warehouse {number}", "text": text, "url": f"https://w.example/{number}"}


async def asked(home: Path) -> list[list[Any]]:
    """What is answered to each question."""
    chance = random.Random(12)
    with open_kb(home, overrides=STATIC) as kb:
        count = sum(row.documents for row in kb.catalogue.listings.kinds())
        which = [(chance.randrange(count), chance.randint(1, MONTHS)) for _ in range(ASKED)]
        return [
            await answered(kb, f"How many sacks did warehouse {number} store in month {month}?")
            for number, month in which
        ]


async def answered(kb: KnowledgeBase, text: str) -> list[Any]:
    """What an answer says, from where, and how sure it is."""
    given = await final(answer(kb, Question(text=text, fresh=True, recorded=False)))
    cited = [[one.document_id, one.quote] for one in given.citations]
    return [given.text, cited, round(given.confidence.score, 6)]


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = [
        f"{figures['passages']:,} passages, an archive of {figures['archive, MiB']:,} MiB; "
        f"{figures['the same answers']} of {figures['asked']} answers are the same.",
        "",
        "| step | seconds | peak, MiB |",
        "|---|---|---|",
    ]
    for step in ("add", "export", "import", "ask", "ask the copy"):
        said = f"{step}, and verify" if step == "import" else step
        lines.append(f"| {said} | {figures[step]['seconds']:,} | {figures[step]['peak MiB']:,} |")
    return lines


# --- onto a database and a cluster ---


def upgrade(chosen: argparse.Namespace) -> None:
    """Ask the folder and what became of it; print, write ``results/moving-upgrade.json``."""
    names = chosen.sets.split(",")

    def write(folder: Path) -> None:
        for name in names:
            SETS[name].write(folder)

    with filled("-".join(names), write) as kb:
        home = Path(shutil.copytree(kb.home, CACHE / f"upgraded-{kb.home.name}"))
        each = -(-chosen.questions // len(names))
        questions = [query.text for name in names for query in SETS[name].queries(kb)[:each]]
        folder = anyio.run(seen, kb, questions)
    began = time.perf_counter()
    try:
        with moved(home, chosen.postgres, chosen.cluster), open_kb(home) as kb:
            took = time.perf_counter() - began
            team = anyio.run(seen, kb, questions)
    finally:
        shutil.rmtree(home)
        home.with_suffix(".tar").unlink(missing_ok=True)
    figures = compared(folder, team) | {"export, import and reindex, s": round(took)}
    differing = figures.pop("differ")  # shown and not kept, as it quotes the sets
    save("moving-upgrade", figures)
    print("\n".join(f"- {name}: {value}" for name, value in figures.items()))
    for line in differing[:SHOWN]:
        print(json.dumps(line, ensure_ascii=False))


async def seen(kb: KnowledgeBase, questions: list[str]) -> dict[str, Any]:
    """The documents, and for each question the best passages and the answer."""
    held = {one.id: [one.version, tagged_hash("txt", text_of(kb, one))] for one in documents(kb)}
    asked = {}
    for text in questions:
        best = [hit.passage.id for hit in search(kb, text, Filters(), limit=BEST)]
        asked[text] = (best, await answered(kb, text))
    return {"documents": held, "asked": asked}


def compared(folder: Mapping[str, Any], team: Mapping[str, Any]) -> dict[str, Any]:
    """How much of both is the same."""
    pairs = {text: (folder["asked"][text], team["asked"][text]) for text in folder["asked"]}
    shared = [
        len({*one[0]} & {*other[0]}) / max(len(one[0]), len(other[0]), 1)
        for one, other in pairs.values()
    ]
    same = [one[1][:2] == other[1][:2] for one, other in pairs.values()]
    before, after = folder["documents"], team["documents"]
    return {
        "questions": len(pairs),
        f"of the {BEST} best passages the same": round(sum(shared) / len(shared), 4),
        "same passages in the same order": sum(one[0] == two[0] for one, two in pairs.values()),
        "same answer and citations": f"{sum(same)} ({sum(same) / len(same):.4f})",
        "same document": sum(after.get(known) == was for known, was in before.items()),
        "documents": f"{len(before)} before, {len(after)} after",
        "differ": [
            [text, *pair]
            for (text, pair), alike in zip(pairs.items(), same, strict=True)
            if not alike
        ],
    }


if __name__ == "__main__":
    main()
