"""Takes what was removed or replaced off the disk: out of the index's files and the catalogue's.

Removed text is never found or shown again from the moment of its removal; this is about its bytes.
It costs as much as writing the stores anew, so a run does it by itself only where that is quick.
``remove`` and ``verify --repair`` always do.
"""

from __future__ import annotations

import logging

from wellread.ingest.pipeline.commit import writing
from wellread.kb import KnowledgeBase

logger = logging.getLogger(__name__)

# About three seconds' work (docs/decisions/010-deletes.md).
QUICK_PASSAGES = 20_000


def purge(kb: KnowledgeBase) -> bool:
    """Leave no byte of removed or replaced text in the stores; whether that came about.

    Costs nothing when there is nothing to do. Questions are answered meanwhile; writers wait.
    False when a reader that is busy just now needs some of the old bytes.

    Raises:
        StoreError: a store refused, for example because the disk has no room.
    """
    with writing(kb):
        if not is_purged(kb):
            logger.info("rewriting the stores, so that nothing of removed text is left in them")
        kb.index.purge()
        attempt = kb.catalogue.reindexing.attempt()
        if attempt is not None:
            kb.open_index(attempt).purge()
        return kb.catalogue.forgetting.rewrite()


def purge_if_quick(kb: KnowledgeBase) -> None:
    """``purge`` where it takes few seconds; else ``verify`` tells that it is left to do.

    Raises:
        StoreError: as ``purge``.
    """
    passages = sum(each.passages for each in kb.catalogue.collections())
    if passages <= QUICK_PASSAGES:
        purge(kb)


def is_purged(kb: KnowledgeBase) -> bool:
    """Whether no byte of removed or replaced text can be in the stores."""
    attempt = kb.catalogue.reindexing.attempt()
    others = [kb.open_index(attempt)] if attempt is not None else []
    return kb.catalogue.forgetting.rewritten() and all(
        index.purged() for index in [kb.index, *others]
    )
