"""Erases removed or replaced text from the disk, and searches the stores for traces of it.

Removed text is never found or shown again from the moment of its removal; this is about its bytes.
Purging rewrites the stores, so a run does it automatically only where that is quick; ``remove``
and ``verify --repair`` always do.

Traces are searched for by sentences of the removed text, or by their beginnings and ends if they
are long (a database may split a long value, and an answer may quote only a part): first in the
values of every table, then in the bytes of every file of the home, as UTF-8 and as JSON. These are
the live files with their freed pages and the write-ahead log, which a copy would not contain.
LanceDB compresses long texts, so a search in its files proves less; there ``Index.purge`` is relied
on, and ``purge`` says whether it was done.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
MAX_QUICK_PASSAGES = 20_000


def purge(kb: KnowledgeBase) -> bool:
    """Erase removed or replaced text from stores and backups; return whether all of it is gone.

    Takes no time when there is nothing to do. Questions are answered meanwhile; writers wait.
    The result is False while a query still needs old data, or an index is being built.
    """
    with writing(kb):
        if not is_purged(kb):
            logger.info("rewriting the stores to erase removed text")
        if not kb.catalogue.forgetting.rewritten():
            renew_backups(kb)
        kb.index.purge()
        return kb.catalogue.forgetting.rewrite() and is_purged(kb)


def purge_if_quick(kb: KnowledgeBase) -> None:
    """Run ``purge`` if it takes only seconds; otherwise ``verify`` reports it as still to do."""
    passages = sum(stats.passages for stats in kb.catalogue.listings.kinds())
    if passages <= MAX_QUICK_PASSAGES:
        purge(kb)


def is_purged(kb: KnowledgeBase) -> bool:
    """Whether the stores certainly contain no bytes of removed or replaced text."""
    being_built = kb.catalogue.reindexing.attempt() is not None
    return not being_built and kb.catalogue.forgetting.rewritten() and kb.index.purged()


MIN_WORDS = 5  # words; shorter sentences occur anywhere
MAX_NEEDLE_CHARS = 80  # for a longer sentence, its beginning and its end are searched for
MAX_NEEDLES = 400  # sentences searched for, spread evenly over the texts
LOCK_SUFFIX = ".lock"

_FindIn = Callable[[str], set[str]]
Store = Literal["catalogue", "index", "files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A place that contains removed text; without ``words``, an index that is not in use."""

    store: Store
    place: str
    words: str

    def __str__(self) -> str:
        text = f"{self.store}: {self.place}"
        return f"{text}: “{self.words}”" if self.words else text


def find_traces(kb: KnowledgeBase, strings: Collection[str]) -> list[Trace]:
    """Return every trace of ``strings``, one per place and string."""
    if not strings:
        return []
    find_in = finder(strings)
    with ThreadPoolExecutor(1) as beside:  # it waits for the process that reads the files
        in_files = beside.submit(_in_files, kb.home, strings)
        found = [*_in_catalogue(kb, find_in), *_in_indexes(kb, find_in), *in_files.result()]
    return list(dict.fromkeys(found))


def needles(texts: Iterable[str]) -> list[str]:
    """Return the strings to search for: sentences of at least five words, from all texts evenly."""
    candidates = (
        candidate
        for text in texts
        for span in sentence_spans(text)
        for candidate in _ends(span.of(text))
    )
    return spread(list(dict.fromkeys(candidates)), MAX_NEEDLES)


def spread(items: Sequence[str], limit: int) -> list[str]:
    """Return at most ``limit`` of the items, evenly spread."""
    step = max(1.0, len(items) / limit)
    return [items[int(index * step)] for index in range(min(limit, len(items)))]


def occurs_elsewhere(
    kb: KnowledgeBase, strings: Collection[str], excluded_ids: Collection[str]
) -> set[str]:
    """Return those of ``strings`` that occur in a document other than ``excluded_ids``."""
    if not strings:
        return set()
    find_in = finder(strings)
    occurring: set[str] = set()
    excluded = frozenset(excluded_ids)
    integrity = kb.catalogue.integrity
    for document_id, text in chain(integrity.texts(), integrity.titles()):
        if document_id not in excluded:
            occurring.update(find_in(text))
    return occurring


def _ends(sentence: str) -> Iterator[str]:
    words = sentence.split()
    if len(words) < MIN_WORDS:
        return
    if len(sentence) <= MAX_NEEDLE_CHARS:
        yield sentence
        return
    for end in (sentence[: MAX_NEEDLE_CHARS // 2], sentence[-MAX_NEEDLE_CHARS // 2 :]):
        stripped = end.strip()
        if len(stripped.split()) >= MIN_WORDS:
            yield stripped


def _in_catalogue(kb: KnowledgeBase, find_in: _FindIn) -> Iterator[Trace]:
    for table, row, value in kb.catalogue.integrity.cells():
        for text in _strings(value):
            for words in find_in(text):
                yield Trace(store="catalogue", place=f"{table} {row}", words=words)
    for document_id, text in kb.catalogue.integrity.texts():
        for words in find_in(f"{document_id}\n{text}"):
            yield Trace(store="catalogue", place=f"texts {document_id}", words=words)


def _in_indexes(kb: KnowledgeBase, find_in: _FindIn) -> Iterator[Trace]:
    attempt = kb.catalogue.reindexing.attempt()
    indexes: list[tuple[str, Maintenance]] = [("live", kb.index)]
    if attempt is not None:
        indexes.append(("next", kb.open_index(attempt)))
    for name, index in indexes:
        for row in index.held():
            for words in find_in(row.text):
                yield Trace(store="index", place=f"{name} {row.passage_id}", words=words)
    for name in kb.other_indexes():
        yield Trace(store="index", place=f"{name}, which is not in use", words="")


def _in_files(home: Path, strings: Collection[str]) -> list[Trace]:
    forms = {form: words for words in strings for form in _byte_forms(words)}
    paths = [path for path in files_of(home) if path.suffix != LOCK_SUFFIX]
    return [
        Trace(store="files", place=str(path.relative_to(home)), words=forms[form])
        for path, form in search_files(paths, list(forms))
    ]


def _byte_forms(words: str) -> set[bytes]:
    plain = words.encode("utf-8", "surrogatepass")
    ascii_json = json.dumps(words)[1:-1].encode("ascii")
    json_text = json.dumps(words, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    return {plain, ascii_json, json_text}


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bytes():
            yield from _blob_texts(value)
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _strings(item)


def _blob_texts(blob: bytes) -> Iterator[str]:
    """Yield a blob as text, and its decompressed text if it is compressed."""
    yield blob.decode("utf-8", "replace")
    try:
        packed = zlib.decompress(blob)
    except zlib.error:
        return
    plain = packed.decode("utf-8", "replace")
    yield plain
    if "\\" not in plain:  # JSON without escapes has the same text
        return
    try:
        yield from _strings(json.loads(plain))
    except ValueError:
        return
