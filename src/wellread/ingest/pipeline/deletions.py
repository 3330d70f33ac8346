"""Which sources of an earlier run are there no more."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from wellread.errors import SourceError
from wellread.ingest.pipeline.run_report import SourceResult
from wellread.ingest.sources.discover import Found, FoundBytes, Input, local_path, uri_of
from wellread.ingest.sources.selection import Selection
from wellread.ingest.sources.web.addresses import FetchError, is_web, parse_address
from wellread.ingest.sources.web.entries import ENTRY_LOADER
from wellread.store.schema.catalogue_values import SourceRecord

EMPTY = (
    "nothing was found there any more, so {count:,} sources of it were kept; "
    "remove them by name if they are to go"
)


def gone_sources(
    inputs: Sequence[Input],
    found: Sequence[Found],
    known: Mapping[str, SourceRecord],
    only: Selection | None = None,
    lists: Collection[str] = (),
) -> list[SourceResult]:
    """What is to be removed (``removed``), and inputs under which nothing may be (``failed``).

    A source is gone when it belongs to one of the ``inputs``, was read before and was not found
    this time. Under an input where nothing at all was found, and under a folder that could not be
    opened, nothing is removed. An entry of a feed goes with its feed only.

    Args:
        only: what was looked at; None: all of the inputs.
        lists: addresses of lists of feeds that were read; ``found`` has their feeds.
    """
    there = {item.uri for item in found}
    opened = [item for item in found if not isinstance(item, SourceError)]
    failed = [item.uri for item in found if isinstance(item, SourceError)]
    results: list[SourceResult] = []
    for given in dict.fromkeys(inputs):
        root = given.uri if isinstance(given, FoundBytes) else root_of(given)
        gone = [
            uri
            for uri, record in sorted(known.items())
            if uri not in there
            and record.loader != ENTRY_LOADER
            and (record.root == uri or not is_web(record.root) or record.root in lists)
            and _belongs(root, uri, record)
            and (only is None or only.covers(_place(root, uri, record)))
            # That a folder could not be opened says nothing about what is in it.
            and not any(_within(folder, _place(root, uri, record)) for folder in failed)
        ]
        looked = only is None or only.covers(root)
        if gone and looked and not any(_found_under(root, item) for item in opened):
            reason = EMPTY.format(count=len(gone))
            results.append(SourceResult(uri=root, status="failed", reason=reason))
            continue
        results += [SourceResult(uri=uri, status="removed") for uri in gone]
    return list({result.uri: result for result in results}.values())


def with_entries(uris: Sequence[str], known: Mapping[str, SourceRecord]) -> list[str]:
    """The sources and, of feeds, their entries."""
    roots = set(uris)
    return [
        *uris,
        *(
            uri
            for uri, record in known.items()
            if record.loader == ENTRY_LOADER and record.root in roots and uri not in roots
        ),
    ]


def absolute(given: str) -> str:
    """An input that means the same from any folder, so that a job can be run again."""
    if given == "-" or is_web(given) or given.startswith("file://"):
        return given
    return os.path.abspath(local_path(given))


def root_of(given: str) -> str:
    """The address that sources found under ``given`` have as their root."""
    if not is_web(given):
        return uri_of(local_path(given))
    try:
        return str(parse_address(given))
    except FetchError:
        return given  # nothing was ever found there


def _belongs(root: str, uri: str, record: SourceRecord) -> bool:
    return record.root == root or _within(root, _place(root, uri, record))


def _place(root: str, uri: str, record: SourceRecord) -> str:
    """Where a source stands: a feed, in the list below ``root`` that names it."""
    listed = is_web(uri) and record.root != root and _within(root, record.root)
    return record.root if listed else uri


def _found_under(root: str, item: Found) -> bool:
    if isinstance(item, SourceError):
        return False
    return _within(root, item.root) or _within(root, item.uri)


def _within(root: str, uri: str) -> bool:
    return uri == root or uri.startswith(root.rstrip("/") + "/")
