"""Which sources of an earlier run are there no more."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from wellread.errors import SourceError
from wellread.ingest.discover import FoundFile
from wellread.ingest.report import SourceResult
from wellread.store.catalogue.values import SourceRecord

EMPTY = (
    "nothing was found there any more, so {count:,} sources of it were kept; "
    "remove them by name if they are to go"
)

PATTERN = "a pattern does not say what is gone, so nothing was removed; give the folder"


def gone_sources(
    inputs: Sequence[str],
    found: Sequence[FoundFile | SourceError],
    known: Mapping[str, SourceRecord],
) -> list[SourceResult]:
    """What is to be removed (``removed``), and inputs under which nothing may be (``failed``).

    A source is gone when it lies under one of the ``inputs``, was read before and was not found
    this time. Under an input where nothing at all was found, and under a folder that could not be
    opened, nothing is removed.
    """
    there = {item.uri for item in found}
    opened = [item.uri for item in found if isinstance(item, FoundFile)]
    failed = [item.uri for item in found if isinstance(item, SourceError)]
    results: list[SourceResult] = []
    for given in dict.fromkeys(inputs):
        root = root_of(given)
        if not root:
            results.append(SourceResult(uri=given, status="failed", reason=PATTERN))
            continue
        gone = [
            uri
            for uri in _under(root, known)
            # That a folder could not be opened says nothing about what is in it.
            if uri not in there and not any(_within(folder, uri) for folder in failed)
        ]
        if gone and not any(_within(root, uri) for uri in opened):
            reason = EMPTY.format(count=len(gone))
            results.append(SourceResult(uri=root, status="failed", reason=reason))
            continue
        results += [SourceResult(uri=uri, status="removed") for uri in gone]
    return list({result.uri: result for result in results}.values())


def absolute(given: str) -> str:
    """An input that means the same from any folder, so that a job can be run again."""
    if "://" in given or given == "-":
        return given
    return os.path.abspath(os.path.expanduser(given))


def root_of(given: str) -> str:
    """The address under which what ``given`` names is kept; empty for a pattern."""
    if "://" in given:
        return given
    path = os.path.expanduser(given)
    if glob.has_magic(given) and not os.path.lexists(path):
        return ""
    return Path(os.path.abspath(path)).as_uri()


def _under(root: str, uris: Iterable[str]) -> list[str]:
    return sorted(uri for uri in uris if _within(root, uri))


def _within(root: str, uri: str) -> bool:
    return uri == root or uri.startswith(root.rstrip("/") + "/")
