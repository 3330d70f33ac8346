"""Taking material in, as every face does it: a run of ingest, then the open questions again.

``add`` and ``sync`` take what ``ingest.run`` takes and give its report. What ingest writes is what
questions are answered from, so ingest itself knows nothing of questions; this is the place above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from wellread.ingest import run
from wellread.ingest.pipeline.job_log import Report
from wellread.ingest.sources.discover import Input
from wellread.kb import KnowledgeBase
from wellread.learning.gaps.asking_again import OnReasked, after_ingest


def add(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    on_reasked: OnReasked | None = None,
    **how: Unpack[run.Adding],
) -> Report:
    """``ingest.run.add``, and the open questions that the new documents could answer again.

    Args:
        on_reasked: is told what was asked again, when anything was.

    Raises:
        SettingsError, StoreError, ModelError: as ``ingest.run.add``; never for the questions.
    """
    report = run.add(kb, inputs, **how)
    if not report.cancelled:
        after_ingest(kb, on_reasked)
    return report


def sync(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    on_reasked: OnReasked | None = None,
    **how: Unpack[run.Syncing],
) -> Report:
    """``ingest.run.sync``, and the open questions again; see ``add``.

    Raises:
        StoreError, ModelError, SettingsError: as ``ingest.run.sync``; never for the questions.
    """
    report = run.sync(kb, inputs, **how)
    if not report.cancelled:
        after_ingest(kb, on_reasked)
    return report
