"""Locators: random quotations of stored documents, checked against the source files.

    python -m benchmarks.locators --quotes 50

The checks (``places.py``) read the files by other means than Wellread's loaders, and each fact of a
locator (page, box, minute, speaker, heading, line) is counted by itself. The base is the sample,
real files (PDF papers, newsletters and recaps of Bitcoin Optech, talks, captions, HTML pages) and,
for kinds without a real set, files made here. Vectors do not matter, so the quick static embedder
fills the home.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from benchmarks.homes import COLLECTION, documents, refresh
from benchmarks.made_files import write_made
from benchmarks.paths import CACHE, eval_data
from benchmarks.places import CHECKS
from benchmarks.record import save
from benchmarks.sets.sample import SAMPLE_SET
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts
from wellread.values.locators import Marks

SEED = 5
SHORTEST = 40  # characters of a quotation: shorter ones stand in many places
REAL_FILES = 12  # of each real source
RECORDS = (".xml", ".jsonl", ".json", ".csv")  # many documents in one file
FACTS = ("page", "box", "minute", "speaker", "heading", "line", "entry")
REAL = (
    ("aragog/pdf", "*.pdf"),
    ("docling_pdfs", "**/*.pdf"),
    ("bitcoin_optech/_posts/en/newsletters", "*.md"),
    ("bitcoin_optech/_posts/en/podcast", "*.md"),
    ("bitcoin_transcripts", "**/*.md"),
    ("s3_patterns/content", "**/*.md"),
    ("webvtt_samples", "**/*.vtt"),
    ("webvtt_samples", "**/*.s[rb][tv]"),
    ("article_extraction/html", "*.html.gz"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One quotation: what its locator says, and for each checked fact what is wrong with it."""

    group: str
    file: str
    quote: str
    label: str
    facts: Mapping[str, str]

    @property
    def wrong(self) -> str:
        """What is wrong, in words; empty for nothing."""
        return "; ".join(why for why in self.facts.values() if why)


def main() -> None:
    """Check, print what is wrong, write ``results/locators.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--quotes", type=int, default=50, help="of each kind of file")
    parser.add_argument("--home", type=Path, help="check this home instead of the built one")
    options = parser.parse_args()
    sources = CACHE / "sources" / "locators"
    overrides = {} if options.home else {"embedding": {"backend": "static"}}
    with open_kb(options.home or CACHE / "homes" / "locators", overrides=overrides) as kb:
        if options.home is None:
            refresh(sources, write)
            rows = add(kb, [str(sources)], collection=COLLECTION).rows
            files = taken([(Path(row.uri), row.status, row.reason) for row in rows])
        else:
            files = {}
        checked = check(kb, options.quotes)
    figures = {
        "files": files,
        "groups": summary(checked),
        "wrong": [
            asdict(one) | {"facts": {fact: why for fact, why in one.facts.items() if why}}
            for one in checked
            if one.wrong
        ],
    }
    save("locators", figures)
    print("\n".join(table(figures)))


def write(folder: Path) -> None:
    """The sample base, some real files of each kind, and the made ones."""
    SAMPLE_SET.write(folder / "sample")
    write_made(folder / "made")
    for place, pattern in REAL:
        found = sorted(eval_data(place).glob(pattern))
        step = max(1, len(found) // REAL_FILES)
        target = folder / place.replace("/", "-")
        target.mkdir(parents=True, exist_ok=True)
        for number, path in enumerate(found[::step][:REAL_FILES]):
            name = f"{number:02}-{path.name}"
            if path.suffix == ".gz":
                page = gzip.decompress(path.read_bytes())
                (target / name.removesuffix(".gz")).write_bytes(page)
            else:
                shutil.copy(path, target / name)


def taken(rows: Sequence[tuple[Path, str, str]]) -> dict[str, dict[str, Any]]:
    """By extension: files tried, files taken in, and the reasons of the others."""
    found: dict[str, dict[str, Any]] = {}
    for path, status, reason in rows:
        row = found.setdefault(path.suffix.lower(), {"tried": 0, "taken": 0, "failed": {}})
        row["tried"] += 1
        if status in ("failed", "skipped"):
            row["failed"][path.name] = reason
        else:
            row["taken"] += 1
    return dict(sorted(found.items()))


def check(kb: KnowledgeBase, quotes: int) -> list[Checked]:
    """Draw ``quotes`` sentences of each kind of file and check each."""
    groups: dict[str, list[DocumentFacts]] = defaultdict(list)
    for fact in documents(kb):
        path = _file(kb, fact)
        if path is not None:
            groups[f"{path.suffix.lower()} ({fact.kind})"].append(fact)
    draw = random.Random(SEED)
    checked = []
    for group, facts in sorted(groups.items()):
        for _ in range(quotes):
            checked.append(_check(kb, group, draw.choice(facts), draw))
    return checked


def _check(kb: KnowledgeBase, group: str, fact: DocumentFacts, draw: random.Random) -> Checked:
    document = kb.catalogue.document(fact.id)
    path = _file(kb, fact)
    if document is None or path is None:
        raise SystemExit(f"{fact.uri} went away while it was being checked")
    spans = [span for span in sentence_spans(document.text) if len(span) >= SHORTEST]
    span = draw.choice(spans or sentence_spans(document.text))
    locator = Marks(document.marks).locate(span)
    quote = span.of(document.text)
    facts = CHECKS[path.suffix.lower()](path, quote, locator, document.url)
    return Checked(group=group, file=path.name, quote=quote[:160], label=locator.label, facts=facts)


def _file(kb: KnowledgeBase, fact: DocumentFacts) -> Path | None:
    """The source file of ``fact``, when it is one that can be checked.

    A feed's or a record's own address is not its file; then the only source that can have
    yielded it is looked for among the known ones.
    """
    known = kb.catalogue.sources(COLLECTION)
    uri = fact.uri.partition("#")[0]
    if not uri.startswith("file:"):
        holders = [
            name
            for name in known
            if name.endswith(RECORDS) and fact.uri in _local(name).read_text("utf-8")
        ]
        uri = holders[0] if len(holders) == 1 else ""
    path = _local(uri) if uri else None
    return path if path and path.suffix.lower() in CHECKS else None


def _local(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def summary(checked: Sequence[Checked]) -> dict[str, dict[str, Any]]:
    """By kind of file: quotations that are right in every fact, and right and asked by fact."""
    figures: dict[str, dict[str, Any]] = {}
    for one in checked:
        row = figures.setdefault(one.group, {"right": 0, "asked": 0, "facts": {}})
        row["asked"] += 1
        row["right"] += not one.wrong
        for fact, why in one.facts.items():
            known = row["facts"].setdefault(fact, {"right": 0, "asked": 0})
            known["asked"] += 1
            known["right"] += not why
    return figures


def table(figures: Mapping[str, Any]) -> list[str]:
    """Files and shares by kind, and each quotation that is wrong."""
    lines = ["| files | tried | taken |", "|---|---|---|"]
    for name, row in figures["files"].items():
        lines.append(f"| {name} | {row['tried']} | {row['taken']} |")
    lines += ["", f"| file (kind) | all right | of | {' | '.join(FACTS)} |"]
    lines.append("|---|---|---|" + "---|" * len(FACTS))
    for group, row in figures["groups"].items():
        cells = [
            f"{known['right']} of {known['asked']}" if (known := row["facts"].get(fact)) else "–"
            for fact in FACTS
        ]
        lines.append(f"| {group} | {row['right']} | {row['asked']} | {' | '.join(cells)} |")
    lines.append("")
    for one in figures["wrong"]:
        quote = " ".join(one["quote"].split())[:90].replace("|", "/")
        wrong = "; ".join(one["facts"].values())
        lines.append(f"- {one['file']}, {one['label']}: {wrong} – “{quote}”")
    for row in figures["files"].values():
        lines += [f"- not read: {name}: {why}" for name, why in row["failed"].items()]
    return [*lines, ""]


if __name__ == "__main__":
    main()
