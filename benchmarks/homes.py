"""Homes that are filled through the real ingest path and kept between runs.

A home is named by what it holds and by the index fingerprint, so that a second run embeds nothing
and a changed embedder or chunking gets a home of its own. ``add`` is called every time: it finds
unchanged sources by itself and reads again those whose loader changed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.paths import CACHE
from wellread.identity import tagged_hash
from wellread.ingest.pipeline.job_log import Report
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Embedder
from wellread.models.embedders.open_embedder import open_embedder
from wellread.settings_file import load_settings
from wellread.types import DocumentFacts, Span

COLLECTION = "default"

Write = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of a JSONL source. ``key`` becomes the last part of its address."""

    key: str
    text: str
    title: str = ""


@cache
def default_embedder() -> Embedder:
    """The embedder that the default settings name, opened once for all homes."""
    return open_embedder(load_settings(CACHE, environ={}).embedding, CACHE / "model")


@contextmanager
def filled(
    name: str, write: Write, overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[KnowledgeBase]:
    """The home ``name`` with the sources that ``write`` puts into a folder.

    Raises:
        SystemExit: a source could not be read: figures over a part would mislead.
    """
    with open_home(name, overrides) as kb:
        sources = CACHE / "sources" / name
        refresh(sources, write)
        ingest(kb, sources)
        yield kb


def open_home(name: str, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> KnowledgeBase:
    """The home ``name`` for today's fingerprint; empty at first."""
    embedder = default_embedder()
    settings = load_settings(CACHE, overrides, environ={})
    shaped = KnowledgeBase(CACHE, settings, embedder=embedder).wanted
    mark = tagged_hash("idx", shaped.embedder, shaped.dimensions, shaped.chunking, shaped.schema)
    home = CACHE / "homes" / f"{name}-{mark.removeprefix('idx_')[:8]}"
    return open_kb(home, overrides=overrides, embedder=embedder)


def refresh(folder: Path, write: Write) -> None:
    """Bring ``folder`` to what ``write`` writes; files that stay the same keep their time."""
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    write(fresh)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
    for old in [path for path in folder.rglob("*") if path.is_file()]:
        if old.relative_to(folder) not in wanted:
            old.unlink()
    for name in sorted(wanted):
        there, here = folder / name, fresh / name
        if not there.exists() or there.read_bytes() != here.read_bytes():
            there.parent.mkdir(parents=True, exist_ok=True)
            here.replace(there)
    shutil.rmtree(fresh)


def ingest(kb: KnowledgeBase, folder: Path) -> Report:
    """``add`` the folder to the home.

    Raises:
        SystemExit: a source failed or was skipped.
    """
    report = add(kb, [str(folder)], collection=COLLECTION)
    bad = [row for row in report.rows if row.status in ("failed", "skipped")]
    if bad:
        lines = "\n".join(f"  {row.uri}: {row.reason}" for row in bad[:10])
        raise SystemExit(f"{len(bad)} of {len(report.rows)} sources were not taken in:\n{lines}")
    return report


def write_items(path: Path, name: str, items: Iterable[Item]) -> None:
    """Write a JSONL source; each item's address is ``https://eval.example/<name>/<key>``."""
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            line = {"title": item.title, "text": item.text, "url": item_url(name, item.key)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def item_url(name: str, key: str) -> str:
    """The address of an item; keys are hashed, since they hold any character."""
    return f"https://eval.example/{name}/{tagged_hash('itm', key)}"


def documents(kb: KnowledgeBase) -> list[DocumentFacts]:
    """Every document of the home."""
    return kb.catalogue.documents(COLLECTION)


def by_url(kb: KnowledgeBase) -> dict[str, DocumentFacts]:
    """Address (the uri where there is none) to document."""
    return {document.url or document.uri: document for document in documents(kb)}


def by_file_name(kb: KnowledgeBase) -> dict[str, DocumentFacts]:
    """File name without extension to document."""
    return {Path(document.uri).stem: document for document in documents(kb)}


def text_of(kb: KnowledgeBase, document: DocumentFacts) -> str:
    """The stored text of ``document``."""
    whole = Span(start=0, end=document.characters)
    return kb.catalogue.texts([(document.id, whole)])[0]


def find_quote(text: str, quote: str, near: int = 0) -> Span | None:
    """The occurrence of ``quote`` in ``text`` that starts nearest to ``near``.

    White space in either may differ, and hyphens at the ends of lines. None when it is not there.
    """
    if not quote.split():
        return None
    plain, places = squeeze(text)
    wanted = " ".join(quote.split())
    if wanted not in plain:  # a word that was broken over two lines is whole again when stored
        (plain, places), (wanted, _) = _unbroken(text), _unbroken(quote)
    found: list[int] = []
    start = plain.find(wanted)
    while start >= 0:
        found.append(start)
        start = plain.find(wanted, start + 1)
    if not found or not wanted:
        return None
    best = min(found, key=lambda place: abs(places[place] - near))
    return Span(start=places[best], end=places[best + len(wanted) - 1] + 1)


def _unbroken(text: str) -> tuple[str, list[int]]:
    """``text`` without white space and hyphens, and where each character stood."""
    places = [
        place for place, sign in enumerate(text) if not sign.isspace() and sign not in "-\u00ad"
    ]
    return "".join(text[place] for place in places), places


def squeeze(text: str) -> tuple[str, list[int]]:
    """``text`` with every run of white space as one space, and where each character stood."""
    pieces: list[str] = []
    places: list[int] = []
    gap = False
    for place, character in enumerate(text):
        if character.isspace():
            gap = True
            continue
        if gap and pieces:
            pieces.append(" ")
            places.append(place - 1)
        gap = False
        pieces.append(character)
        places.append(place)
    return "".join(pieces), places
