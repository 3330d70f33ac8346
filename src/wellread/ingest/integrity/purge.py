"""Takes what was removed or replaced off the disk: out of the index's files and the catalogue's.

Removed text is never found or shown again from the moment of its removal; this is about its bytes.
It costs as much as writing the stores anew, so a run does it by itself only where that is quick.
``remove`` and ``verify --repair`` always do.

What is left is looked for by sentences of the removed text, or their ends where they are long (a
database may cut a long one in two, and an answer may quote only a part): first in the values of
every table, then in the bytes of every file of the home, as UTF-8 and as JSON writes it. These are
the live files, with their freed pages and the write-ahead log: a copy of the catalogue has neither.
LanceDB compresses long texts, so the bytes of its files prove less than those of the catalogue;
that nothing removed is left in them rests on ``Index.purge``, and an index that is not purged is a
trace by itself.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from wellread.ingest.integrity.backups import renew_backups
from wellread.ingest.pipeline.commit import writing
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import files_of
from wellread.store.base import Maintenance
from wellread.store.recovery.file_bytes import finder, search_files
from wellread.text.sentences import sentence_spans

logger = logging.getLogger(__name__)

# About three seconds' work (docs/decisions/010-deletes.md).
QUICK_PASSAGES = 20_000


def purge(kb: KnowledgeBase) -> bool:
    """Leave no byte of removed or replaced text in stores and backups; whether that came about.

    Costs nothing when there is nothing to do. Questions are answered meanwhile; writers wait.
    False when a reader that is busy just now needs some of the old bytes.
    """
    with writing(kb):
        if not is_purged(kb):
            logger.info("rewriting the stores, so that nothing of removed text is left in them")
        if not kb.catalogue.forgetting.rewritten():
            renew_backups(kb)
        kb.index.purge()
        attempt = kb.catalogue.reindexing.attempt()
        if attempt is not None:
            kb.open_index(attempt).purge()
        return kb.catalogue.forgetting.rewrite()


def purge_if_quick(kb: KnowledgeBase) -> None:
    """``purge`` where it takes few seconds; else ``verify`` tells that it is left to do."""
    passages = sum(each.passages for each in kb.catalogue.stats())
    if passages <= QUICK_PASSAGES:
        purge(kb)


def is_purged(kb: KnowledgeBase) -> bool:
    """Whether no byte of removed or replaced text can be in the stores."""
    attempt = kb.catalogue.reindexing.attempt()
    others = [kb.open_index(attempt)] if attempt is not None else []
    return kb.catalogue.forgetting.rewritten() and all(
        index.purged() for index in [kb.index, *others]
    )


LEAST_WORDS = 5  # of a sentence: shorter ones are anybody's
LONGEST = 80  # characters: of longer sentences both ends are looked for
MOST = 400  # sentences that are looked for, spread evenly over the texts
LOCK_SUFFIX = ".lock"

_Within = Callable[[str], set[str]]
Store = Literal["catalogue", "index", "files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Where something of the removed text stands; no ``words``: an index that was not purged."""

    store: Store
    place: str
    words: str

    def __str__(self) -> str:
        told = f"{self.store}: {self.place}"
        return f"{told}: “{self.words}”" if self.words else told


def traces(kb: KnowledgeBase, texts: Sequence[str]) -> list[Trace]:
    """Every trace of the sentences of ``texts``, which are taken for removed."""
    return find_traces(kb, needles(texts))


def find_traces(kb: KnowledgeBase, wanted: Collection[str]) -> list[Trace]:
    """Every trace of these words; one for each place and words."""
    if not wanted:
        return []
    within = finder(wanted)
    found = [
        *_in_catalogue(kb, within),
        *_in_indexes(kb, within),
        *_in_files(kb.home, wanted),
    ]
    return list(dict.fromkeys(found))


def needles(texts: Iterable[str]) -> list[str]:
    """What to look for: sentences of at least five words, evenly chosen from all texts."""
    pieces = (
        piece for text in texts for span in sentence_spans(text) for piece in _ends(span.of(text))
    )
    return evenly(list(dict.fromkeys(pieces)), MOST)


def evenly(items: Sequence[str], most: int) -> list[str]:
    """At most so many of the items, evenly spread over all of them."""
    step = max(1.0, len(items) / most)
    return [items[int(place * step)] for place in range(min(most, len(items)))]


def said_elsewhere(
    kb: KnowledgeBase, wanted: Collection[str], besides: Collection[str]
) -> set[str]:
    """Those of the words that a document says that is none of ``besides``."""
    if not wanted:
        return set()
    within = finder(wanted)
    found: set[str] = set()
    leaving = frozenset(besides)
    integrity = kb.catalogue.integrity
    for known, text in chain(integrity.texts(), integrity.titles()):
        if known not in leaving:
            found.update(within(text))
    return found


def _ends(sentence: str) -> Iterator[str]:
    words = sentence.split()
    if len(words) < LEAST_WORDS:
        return
    if len(sentence) <= LONGEST:
        yield sentence
        return
    for piece in (sentence[: LONGEST // 2], sentence[-LONGEST // 2 :]):
        whole = piece.strip()
        if len(whole.split()) >= LEAST_WORDS:
            yield whole


def _in_catalogue(kb: KnowledgeBase, within: _Within) -> Iterator[Trace]:
    for table, row, value in kb.catalogue.integrity.cells():
        for text in _strings(value):
            for words in within(text):
                yield Trace(store="catalogue", place=f"{table} {row}", words=words)
    for known, text in kb.catalogue.integrity.texts():
        for words in within(f"{known}\n{text}"):
            yield Trace(store="catalogue", place=f"texts {known}", words=words)


def _in_indexes(kb: KnowledgeBase, within: _Within) -> Iterator[Trace]:
    attempt = kb.catalogue.reindexing.attempt()
    indexes: list[tuple[str, Maintenance]] = [("live", kb.index)]
    if attempt is not None:
        indexes.append(("next", kb.open_index(attempt)))
    for name, index in indexes:
        for row in index.held():
            for words in within(row.text):
                yield Trace(store="index", place=f"{name} {row.passage_id}", words=words)
        if not index.purged():
            yield Trace(
                store="index", place=f"{name}, removed rows are still in its files", words=""
            )
    for name in kb.other_indexes():
        yield Trace(store="index", place=f"{name}, which is not in use", words="")


def _in_files(home: Path, wanted: Collection[str]) -> Iterator[Trace]:
    forms = {form: words for words in wanted for form in _written(words)}
    paths = [path for path in files_of(home) if path.suffix != LOCK_SUFFIX]
    for path, form in search_files(paths, list(forms)):
        yield Trace(store="files", place=str(path.relative_to(home)), words=forms[form])


def _written(words: str) -> set[bytes]:
    """How the words may stand in a file."""
    plain = words.encode("utf-8", "surrogatepass")
    ascii_json = json.dumps(words)[1:-1].encode("ascii")
    json_text = json.dumps(words, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    return {plain, ascii_json, json_text}


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bytes():
            yield from _unpacked(value)
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _strings(item)


def _unpacked(blob: bytes) -> Iterator[str]:
    """A blob as text, and unpacked where it is compressed."""
    yield blob.decode("utf-8", "replace")
    try:
        packed = zlib.decompress(blob)
    except zlib.error:
        return
    plain = packed.decode("utf-8", "replace")
    yield plain
    if "\\" not in plain:  # nothing that JSON would write in another way
        return
    try:
        yield from _strings(json.loads(plain))
    except ValueError:
        return
