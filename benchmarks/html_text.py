"""Main text, title, authors and date of web pages, against 60 pages with gold article bodies.

    python -m benchmarks.html_text --worst 20

The measure is that of the public article-extraction benchmark of Zyte (scrapinghub): runs of four
words (``\\w+``) as a multiset; true and false positives and false negatives of a page divided by
their sum; precision over the pages with any output, recall over the pages with any gold, means of
the pages; F1 of the two means. The interval is 1.96 standard deviations over 1,000 draws of pages.

Two baselines stand beside Wellread: the defaults of trafilatura, and every visible text node of
the page. Title, authors and date are compared with what the page's markup declares (JSON-LD,
OpenGraph, ``meta``, ``time``), read here by other code than the loader's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import trafilatura
from lxml import etree
from lxml import html as lxml_html

from benchmarks.declared import Declared, declared
from benchmarks.paths import eval_data
from benchmarks.record import save
from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline import kinds
from wellread.types import Document, HeadingMark

SHINGLE = 4  # words
DRAWS = 1_000
SEED = 11

_WORD = re.compile(r"\w+")
_UNSEEN = ("script", "style", "noscript", "template", "head", "iframe", "svg", "textarea", "select")

Extract = Callable[["Page"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the set: its bytes, its address, and the words that a reader came for."""

    key: str
    data: bytes
    url: str
    gold: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Shares of the shingles of a page that are in both, only in the output, only in the gold."""

    both: float
    extra: float
    missed: float

    @property
    def precision(self) -> float:
        return self.both / (self.both + self.extra) if self.both + self.extra else 0.0

    @property
    def recall(self) -> float:
        return self.both / (self.both + self.missed) if self.both + self.missed else 0.0

    @property
    def f1(self) -> float:
        return _harmonic(self.precision, self.recall)


def main() -> None:
    """Measure, print, write ``results/html_text.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--worst", type=int, default=0, help="list so many of the worst pages")
    options = parser.parse_args()
    found = pages()
    read = {page.key: wellread(page) for page in found}
    extractors: dict[str, Extract] = {
        "wellread": lambda page: read[page.key].text,
        "wellread, title left out": lambda page: untitled(
            read[page.key].text, read[page.key].title
        ),
        "trafilatura": extracted,
        "trafilatura, title left out": lambda page: untitled(extracted(page), read[page.key].title),
        "all visible text": visible,
    }
    overlaps = {
        name: [overlap(page.gold, extract(page)) for page in found]
        for name, extract in extractors.items()
    }
    figures = {
        "pages": len(found),
        "text": {name: scores(rows) for name, rows in overlaps.items()},
        "facts": facts(found, read),
        "share of the text under a heading": round(
            statistics.mean(under_headings(document) for document in read.values()), 3
        ),
    }
    save("html_text", figures)
    print("\n".join(table(figures)))
    ranked = sorted(zip(overlaps["wellread"], found, strict=True), key=lambda row: row[0].f1)
    for row, page in ranked[: options.worst]:
        print(f"{row.f1:.3f} p {row.precision:.3f} r {row.recall:.3f} {page.key[:8]} {page.url}")


def pages() -> list[Page]:
    """The set, by key."""
    folder = eval_data("article_extraction")
    gold = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    return [
        Page(
            key=key,
            data=gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes()),
            url=str(entry["url"]),
            gold=str(entry["articleBody"]),
        )
        for key, entry in sorted(gold.items())
    ]


def wellread(page: Page) -> Document:
    """What the loader yields; a page that it refuses stops the run."""
    source = Source(
        uri=f"file:///pages/{page.key}.html",
        name=f"{page.key}.html",
        data=page.data,
        collection="default",
    )
    try:
        (document,) = kinds.load(source, LoaderLimits())
    except SourceError as error:
        raise SystemExit(f"{page.key}: {error}") from error
    return document


def extracted(page: Page) -> str:
    """What trafilatura extracts with its defaults, with its lines as paragraphs."""
    text = trafilatura.extract(page.data.decode("utf-8", "replace")) or ""
    return str(text).replace("\n", "\n\n")


def untitled(text: str, title: str) -> str:
    """The text without the page's title at its top: the gold bodies have no headlines."""
    first, _, rest = text.partition("\n\n")
    ours, known = _bare(first), _bare(title)
    return rest if ours and (ours in known or known in ours) else text


def visible(page: Page) -> str:
    """Every text node outside scripts, styles and the page's head."""
    text = page.data.decode("utf-8", "replace")
    root = lxml_html.document_fromstring(text.encode(), lxml_html.HTMLParser(encoding="utf-8"))
    etree.strip_elements(root, *_UNSEEN, etree.Comment, with_tail=False)
    return " ".join(str(piece) for piece in root.itertext())


def overlap(gold: str, output: str) -> Overlap:
    """How the shingles of ``output`` lie to those of ``gold``."""
    wanted, found = shingles(gold), shingles(output)
    both = (wanted & found).total()
    extra, missed = found.total() - both, wanted.total() - both
    whole = max(both + extra + missed, 1)
    return Overlap(both=both / whole, extra=extra / whole, missed=missed / whole)


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Runs of four words with their counts; a shorter text is one run."""
    words = _WORD.findall(text)
    starts = range(max(1, len(words) - SHINGLE + 1)) if words else ()
    return Counter(tuple(words[start : start + SHINGLE]) for start in starts)


def scores(rows: Sequence[Overlap]) -> dict[str, float]:
    """F1, precision, recall, and the half-width of the 95 % interval of F1."""
    draw = random.Random(SEED)
    drawn = [_means(draw.choices(rows, k=len(rows)))[0] for _ in range(DRAWS)]
    f1, precision, recall = _means(rows)
    return {
        "f1": round(f1, 3),
        "f1_interval": round(1.96 * statistics.stdev(drawn), 3),
        "precision": round(precision, 3),
        "recall": round(recall, 3),
    }


def _means(rows: Sequence[Overlap]) -> tuple[float, float, float]:
    precision = statistics.mean(row.precision for row in rows if row.both + row.extra)
    recall = statistics.mean(row.recall for row in rows if row.both + row.missed)
    return _harmonic(precision, recall), precision, recall


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0


def facts(found: Sequence[Page], read: Mapping[str, Document]) -> dict[str, dict[str, object]]:
    """Title, authors and date: on how many pages declared, found, and agreeing."""
    rows: dict[str, dict[str, object]] = {}
    for name, agree in AGREEMENTS.items():
        given = [(page, declared(page.data)) for page in found]
        asked = [(page, one) for page, one in given if getattr(one, name)]
        right = [page.key for page, one in asked if agree(read[page.key], one)]
        rows[name] = {
            "declared": len(asked),
            "agreeing": len(right),
            "found in all": sum(bool(_held(read[page.key], name)) for page in found),
            "differing": [page.key[:8] for page, _ in asked if page.key not in right],
        }
    return rows


def under_headings(document: Document) -> float:
    """The share of the text that stands under a heading."""
    spans = [mark for mark in document.marks if isinstance(mark, HeadingMark)]
    return sum(mark.end - mark.start for mark in spans) / len(document.text)


def _held(document: Document, name: str) -> object:
    return {
        "titles": document.title,
        "authors": document.authors,
        "days": document.published_at,
    }[name]


def _titled(document: Document, one: Declared) -> bool:
    """Alike when one holds the other: sites add their own name to either."""
    ours = _bare(document.title)
    return any(ours == title or ours in title or title in ours for title in map(_bare, one.titles))


def _authored(document: Document, one: Declared) -> bool:
    ours = {_bare(name) for name in document.authors}
    return bool(ours & {_bare(name) for name in one.authors})


def _dated(document: Document, one: Declared) -> bool:
    return document.published_at is not None and document.published_at.date() in one.days


def _bare(text: str) -> str:
    return "".join(_WORD.findall(text)).lower()


AGREEMENTS: dict[str, Callable[[Document, Declared], bool]] = {
    "titles": _titled,
    "authors": _authored,
    "days": _dated,
}


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures for people."""
    lines = ["| text by | F1 | ± | precision | recall |", "|---|---|---|---|---|"]
    for name, row in figures["text"].items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row.values()) + " |")
    lines += [
        "",
        "| fact | pages that declare it | agreeing | found on all pages |",
        "|---|---|---|---|",
    ]
    for name, row in figures["facts"].items():
        lines.append(f"| {name} | {row['declared']} | {row['agreeing']} | {row['found in all']} |")
        lines += [f"  differing: {key}" for key in row["differing"]]
    share = figures["share of the text under a heading"]
    return [*lines, "", f"Text under a heading: {share:.1%}", ""]


if __name__ == "__main__":
    main()
