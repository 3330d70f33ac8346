"""Checks the catalogue by itself: its file, references, sources, answers, what joins documents."""

from __future__ import annotations

from wellread.ingest.integrity.damage import (
    CACHED,
    DEAD_JOB,
    EMPTIED,
    FILE,
    ITEMS,
    MENTIONS,
    MISCOUNTED,
    NOT_STALE,
    QUOTING,
    REFERENCE,
    UNSOURCED,
    Problem,
)
from wellread.ingest.pipeline.job_log import dead_jobs
from wellread.kb import KnowledgeBase

SHOWN = 20  # lines of damage in a file that are told


def check_file(kb: KnowledgeBase) -> list[Problem]:
    """What the database says is wrong with its file."""
    return [
        Problem(kind=FILE, subject="catalogue", detail=line)
        for line in kb.catalogue.integrity.damage()[:SHOWN]
    ]


def check_catalogue(kb: KnowledgeBase) -> list[Problem]:
    """Everything that does not agree within the catalogue, texts and passages excepted."""
    integrity, forgetting = kb.catalogue.integrity, kb.catalogue.forgetting
    problems = [
        Problem(
            kind=REFERENCE,
            subject=f"{broken.table}.{broken.column}",
            detail=f"{broken.rows} rows, to {broken.parent}",
        )
        for broken in integrity.broken_references()
    ]
    problems += [
        Problem(kind=UNSOURCED, subject=known, detail=uri) for known, uri in integrity.unsourced()
    ]
    problems += [
        Problem(kind=EMPTIED, subject=uri, detail=f"of the collection {collection}")
        for collection, uri in integrity.emptied()
    ]
    problems += [
        Problem(kind=MISCOUNTED, subject=known, detail="in the record of the document")
        for known in integrity.miscounted()
    ]
    problems += [
        Problem(kind=NOT_STALE, subject=known, detail="what it cites is not live any more")
        for known in forgetting.fresh_but_outdated()
    ]
    problems += [
        Problem(kind=QUOTING, subject=known, detail=", ".join(sorted(documents)))
        for known, documents in forgetting.quoting_removed().items()
    ]
    problems += [
        Problem(kind=CACHED, subject=known, detail="in the cache of answers")
        for known in kb.catalogue.answer_cache.outdated()
    ]
    problems += [
        Problem(kind=MENTIONS, subject=known, detail="are looked for again by the next run")
        for known in integrity.misplaced_mentions()
    ]
    problems += [
        Problem(kind=ITEMS, subject=known, detail="are made again by the next run")
        for known in integrity.misplaced_items()
    ]
    return problems + [
        Problem(kind=DEAD_JOB, subject=job.id, detail=f"{job.action}, process {job.pid}")
        for job in dead_jobs(kb)
    ]
