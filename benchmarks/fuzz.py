"""Fuzz: mutated real files through every loader, in parser processes under their limits.

    python -m benchmarks.fuzz --inputs 5000

Seeds are files of every kind from the evaluation data and the sample base. Mutations cut, repeat,
swap and splice pieces, flip bytes, plant markers of the formats, and join two files. What counts as
a failure of ours: a parser that crashed, one that had to be stopped, an answer without a reason, or
a document whose passages do not lie in its text. Everything else is a document or a `SourceError`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
from docutils.core import publish_string

from benchmarks.paths import ROOT, eval_data
from benchmarks.record import save
from wellread.ingest.pipeline.parse import Parsed, ParseRequest
from wellread.ingest.pipeline.workers import WorkerPool

SECONDS = 60.0
MEBIBYTES = 3072
LARGEST = 2 << 20  # bytes of a seed
PER_KIND = 12
AHEAD = 8
RST = """Harbour
=======

:Author: Ilse

The *ferry* runs.

.. note:: Mind the step.

* one
* two
"""
WHISPER = {
    "language": "en",
    "text": "The ferry runs.",
    "segments": [{"start": 0.0, "end": 2.5, "text": "The ferry runs.", "speaker": "A"}],
}
BOOK = {
    "META-INF/container.xml": "<container><rootfiles><rootfile full-path='book.opf'/></rootfiles>"
    "</container>",
    "book.opf": "<package xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata><dc:title>Locks"
    "</dc:title></metadata><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'"
    "/><item id='b' href='b.xhtml' media-type='application/xhtml+xml'/></manifest>"
    "<spine><itemref idref='a'/><itemref idref='b'/></spine></package>",
    "a.xhtml": "<html><body><h1>Locks</h1><p>The lock was dug by navvies.</p></body></html>",
    "b.xhtml": "<html><body><h1>Wharves</h1><p>Coal was landed here.</p></body></html>",
}
JSON_FEED = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Herald",
    "items": [{"id": "1", "url": "https://a.example/1", "content_html": "<p>The mill.</p>"}],
}
MARKERS = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"---\n", b"{%", b"%}", b"```\n", b"<!--", b"-->",
    b"<![CDATA[", b"]]>", b"&#x10ffff;", b"<!ENTITY a '&b;&b;'>", b"WEBVTT\n\n",
    b"00:00:01.000 --> ",
    b"endstream endobj", b"/Kids [1 0 R]", b"[" * 200, b"{" * 200, b"(" * 200, b"> " * 300,
    b"| " * 300, b"- " * 300, b"*" * 300, b"#" * 300, b"\r", b"\xe2\x80\xae", b"\xed\xa0\x80",
    b"99999999999999999999", b"-1", b"1e999", b"PK\x03\x04", b"PK\x05\x06", b"xref\n0 1\n",
]  # fmt: skip


def main() -> None:
    """Run, print and write ``results/fuzz.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--inputs", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=(), help="of these suffixes alone, unrecorded")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    seeds = [one for one in seeds_by_suffix() if not arguments.only or one[0] in arguments.only]
    figures = {"inputs": arguments.inputs, "seeds": len(seeds)} | fuzz(
        chance, seeds, arguments.inputs
    )
    if not arguments.only:
        save("fuzz", figures)
    print(json.dumps(figures, indent=1))


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = ["| file | inputs | parsed | failed with a reason | skipped |", "|---|---|---|---|---|"]
    for suffix, counts in figures["by suffix"].items():
        parts = [counts.get(name, 0) for name in ("parsed", "failed", "skipped")]
        lines.append(f"| `{suffix}` | {sum(parts):,} | {' | '.join(f'{n:,}' for n in parts)} |")
    wrong = len(figures["wrong"])
    lines += [
        "",
        f"{figures['inputs']:,} inputs from {figures['seeds']} seeds, "
        f"{figures['seconds']:,.0f} s: "
        f"{wrong} crashed, hung, or gave a wrong answer; the slowest took "
        f"{figures['slowest parse, s']} s.",
    ]
    return lines


def fuzz(chance: random.Random, seeds: list[tuple[str, bytes]], inputs: int) -> dict[str, Any]:
    """Parse so many mutated seeds; what became of them."""
    tally = Tally()
    started = time.perf_counter()
    waiting: dict[Future[Parsed], tuple[str, bytes]] = {}
    with WorkerPool(seconds=SECONDS, memory=MEBIBYTES) as pool:
        for number in range(inputs):
            suffix, data = mutated(chance, seeds)
            request = ParseRequest(uri=f"fuzz:{number}", name=f"fuzz{suffix}", collection="c")
            waiting[pool.submit(request, data)] = (suffix, data)
            if len(waiting) >= AHEAD:
                first = next(iter(waiting))
                tally.take(first.result(), *waiting.pop(first))
            if number % 250 == 249:
                print(f"{number + 1:,} inputs, {len(tally.wrong)} wrong", flush=True)
        for future, (suffix, data) in waiting.items():
            tally.take(future.result(), suffix, data)
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "by suffix": {suffix: dict(counts) for suffix, counts in sorted(tally.statuses.items())},
        "slowest parse, s": round(tally.slowest, 2),
        "wrong": tally.wrong,
        "unforeseen": tally.unforeseen.most_common(25),
        "most frequent reasons": tally.reasons.most_common(25),
    }


class Tally:
    """Counts what became of the inputs."""

    def __init__(self) -> None:
        self.statuses: dict[str, Counter[str]] = defaultdict(Counter)
        self.reasons: Counter[str] = Counter()
        self.unforeseen: Counter[str] = Counter()  # caught at the last place that can
        self.wrong: list[dict[str, Any]] = []
        self.slowest = 0.0

    def take(self, parsed: Parsed, suffix: str, data: bytes) -> None:
        """Count one answer."""
        self.statuses[suffix][parsed.status] += 1
        self.slowest = max(self.slowest, parsed.seconds)
        if parsed.status == "failed":
            self.reasons[general(parsed.reason)] += 1
        if "cannot be parsed" in parsed.reason:
            self.unforeseen[f"{suffix} {parsed.reason}"[:120]] += 1
        if fault := fault_of(parsed):
            self.wrong.append({"suffix": suffix, "fault": fault, "seconds": parsed.seconds})
            keep(len(self.wrong), suffix, data)


def seeds_by_suffix() -> Iterator[tuple[str, bytes]]:
    """Some files of each kind, the same in every run."""
    found: dict[str, list[Path]] = defaultdict(list)
    for root in (eval_data(), ROOT / "src" / "wellread" / "sample"):
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.stat().st_size <= LARGEST:
                found[path.suffix.lower()].append(path)
    known = (
        ".md", ".html", ".htm", ".txt", ".pdf", ".vtt", ".srt", ".sbv", ".rss", ".xml", ".jsonl",
        ".csv", ".json", ".yaml", ".rst", ".docx", ".pptx", ".xlsx", ".atom", ".opml",
    )  # fmt: skip
    chance = random.Random(0)
    for suffix in known:
        paths = found.get(suffix, [])
        most = 2 if suffix in (".json", ".yaml") else PER_KIND  # most of those are nothing to read
        for path in chance.sample(paths, min(most, len(paths))):
            yield suffix, path.read_bytes()
    yield from made_seeds()


def made_seeds() -> Iterator[tuple[str, bytes]]:
    """Kinds that the data has no file of, and pages that it keeps packed."""
    for path in sorted(eval_data("article_extraction", "html").glob("*.gz"))[:PER_KIND]:
        yield ".html", gzip.decompress(path.read_bytes())
    yield ".docx", _docx()
    yield ".pptx", _pptx()
    yield ".xlsx", _xlsx()
    yield ".odt", publish_string(RST, writer="odt", settings_overrides={"report_level": 5})
    yield ".epub", _epub()
    yield ".rst", RST.encode()
    yield (
        ".opml",
        b'<opml version="2.0"><body><outline xmlUrl="https://a.example/x.rss"/></body></opml>',
    )
    yield ".json", json.dumps(WHISPER).encode()
    yield ".json", json.dumps(JSON_FEED).encode()


def _docx() -> bytes:
    document = docx.Document()
    document.add_heading("Harbour", 1)
    document.add_paragraph("The ferry runs twice a day. It carries ninety people.")
    table = document.add_table(rows=3, cols=3)
    for number, row in enumerate(table.rows):
        for cell in row.cells:
            cell.text = f"cell {number}"
    return _saved(document)


def _pptx() -> bytes:
    deck = pptx.Presentation()
    for number in range(3):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = "The mill grinds barley."
        slide.notes_slide.notes_text_frame.text = "Say it slowly."
    return _saved(deck)


def _xlsx() -> bytes:
    book = openpyxl.Workbook()
    for row in range(20):
        book.active.append([f"boat {row}", row, row / 3, "=A1"])
    return _saved(book)


def _epub() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as book:
        for name, text in {"mimetype": "application/epub+zip", **BOOK}.items():
            book.writestr(name, text)
    return stream.getvalue()


def _saved(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def mutated(chance: random.Random, seeds: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """A seed with one to eight mutations; now and then under another kind's name."""
    by_suffix = defaultdict(list)
    for suffix, data in seeds:
        by_suffix[suffix].append(data)
    suffix = chance.choice(sorted(by_suffix))
    seed = chance.choice(by_suffix[suffix])
    inside = seed.startswith(b"PK") and chance.random() < 0.7
    data = _inside(chance, seed, seeds) if inside else _changed(chance, seed, seeds)
    if chance.random() < 0.05:
        suffix = chance.choice(sorted(by_suffix))
    return suffix, data[: LARGEST * 2]


def _changed(chance: random.Random, seed: bytes, seeds: list[tuple[str, bytes]]) -> bytes:
    data = bytearray(seed)
    for _ in range(chance.randint(1, 8)):
        mutate(chance, data, chance.choice(seeds)[1])
    # Most text loaders refuse what is not UTF-8 at once, so that nothing behind it would be tried.
    if b"\x00" not in seed[:4096] and chance.random() < 0.7:
        return data.decode("utf-8", errors="ignore").encode()
    return bytes(data)


def _inside(chance: random.Random, seed: bytes, seeds: list[tuple[str, bytes]]) -> bytes:
    """A zip archive that is whole, with one of its members changed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(seed)) as old, zipfile.ZipFile(stream, "w") as new:
        chosen = chance.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, _changed(chance, content, seeds) if name == chosen else content)
    return stream.getvalue()


def mutate(chance: random.Random, data: bytearray, other: bytes) -> None:
    """One change in place."""
    at = chance.randrange(len(data) + 1)
    span = min(chance.choice((1, 4, 64, 1024, 65536)), max(len(data) - at, 0))
    match chance.randrange(8):
        case 0:
            del data[at : at + span]
        case 1:
            del data[at:]
        case 2:
            data[at:at] = data[at : at + span] * chance.choice((1, 2, 30))
        case 3:
            for _ in range(min(span, 64)):
                if data:
                    data[chance.randrange(len(data))] = chance.randrange(256)
        case 4:
            data[at:at] = chance.choice(MARKERS) * chance.choice((1, 1, 1, 50))
        case 5:
            begin = chance.randrange(len(other) + 1)
            data[at:at] = other[begin : begin + span]
        case 6:
            data[at : at + span] = bytes(reversed(data[at : at + span]))
        case _:
            data[at : at + span] = bytes(chance.randrange(256) for _ in range(min(span, 64)))


def fault_of(parsed: Parsed) -> str:
    """What is wrong with an answer; empty when it is one of those that are allowed."""
    if parsed.status in ("failed", "skipped") and not parsed.reason.strip():
        return "no reason"
    if parsed.status == "failed" and ("crashed" in parsed.reason or "longer than" in parsed.reason):
        return parsed.reason
    for each in parsed.documents:
        text = each.document.text
        if not text.strip():
            return "an empty document"
        if any(not 0 <= cut.span.start < cut.span.end <= len(text) for cut in each.cuts):
            return "a passage outside the text"
        if any(mark.end > len(text) for mark in each.document.marks):
            return "a mark outside the text"
    return ""


def general(reason: str) -> str:
    """A reason without its numbers and names."""
    words = "".join("#" if letter.isdigit() else letter for letter in reason)
    return words.split(":")[0][:80]


def keep(number: int, suffix: str, data: bytes) -> None:
    """Keep an input that went wrong, to be looked at."""
    folder = Path(__file__).parent / ".cache" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"wrong-{number}{suffix}").write_bytes(data)


if __name__ == "__main__":
    main()
