"""Taking material in, as every face does it: a run of ingest, then the open questions again.

``add`` and ``sync`` take what ``ingest.run`` takes and give its report. What ingest writes is what
questions are answered from, so ingest itself knows nothing of questions; this is the place above.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wellread.ingest import run
from wellread.ingest.pipeline.job_log import OnProgress, Report
from wellread.ingest.sources.discover import Input
from wellread.kb import KnowledgeBase
from wellread.learning.gaps.asking_again import OnReasked, after_ingest


def add(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    collection: str = "default",
    settings: Path | None = None,
    on_progress: OnProgress | None = None,
    on_reasked: OnReasked | None = None,
) -> Report:
    """``ingest.run.add``, and the open questions that the new documents could answer again.

    Args:
        on_reasked: is told what was asked again, when anything was.

    Raises:
        SettingsError, StoreError, ModelError: as ``ingest.run.add``; never for the questions.
    """
    report = run.add(kb, inputs, collection=collection, settings=settings, on_progress=on_progress)
    if not report.cancelled:
        after_ingest(kb, on_reasked)
    return report


def sync(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    collection: str = "default",
    on_progress: OnProgress | None = None,
    only: frozenset[str] | None = None,
    on_reasked: OnReasked | None = None,
) -> Report:
    """``ingest.run.sync``, and the open questions again; see ``add``.

    Raises:
        StoreError, ModelError, SettingsError: as ``ingest.run.sync``; never for the questions.
    """
    report = run.sync(kb, inputs, collection=collection, on_progress=on_progress, only=only)
    if not report.cancelled:
        after_ingest(kb, on_reasked)
    return report
