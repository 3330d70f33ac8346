"""Moving a large home: export and import, their time and memory, and whether answers stay the same.

    python -m benchmarks.moving [--passages 200000]

The home holds so many passages in records of made-up wards and wares, embedded by the static model.
Sixty questions are asked of it and of the copy that comes out of the archive: the text, the
citations and the confidence of each have to be the same. Each step is a process of its own;
memory is its peak resident set.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from benchmarks.paths import CACHE
from benchmarks.record import save
from wellread.ask.answer import answer, final
from wellread.ingest.backup import export_home, import_home
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.values.answers import Question

ASKED = 60
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
    chosen = parser.parse_args()
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
            assert sum(row.passages for row in kb.catalogue.stats()) >= passages
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
        "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
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
    found = []
    with open_kb(home, overrides=STATIC) as kb:
        count = sum(row.documents for row in kb.catalogue.stats())
        for _ in range(ASKED):
            which, month = chance.randrange(count), chance.randint(1, MONTHS)
            text = f"How many sacks did warehouse {which} store in month {month}?"
            given = await final(answer(kb, Question(text=text, fresh=True)))
            cited = [[one.document_id, one.quote] for one in given.citations]
            found.append([given.text, cited, round(given.confidence.score, 6)])
    return found


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


if __name__ == "__main__":
    main()
