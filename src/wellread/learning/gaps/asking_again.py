"""Asks open questions again when material has arrived. The one job behind every face.

It is durable without a queue: the catalogue holds up to when new documents were compared with the
open questions, and each question when it was last tried. A process that is killed moves neither, so
the next run takes up what is left; what was tried already is not tried again with the same
documents. Every run is a job that can be seen and cancelled like those of ingest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from anyio.from_thread import BlockingPortal, start_blocking_portal

from wellread.answers import Answer, Question
from wellread.ask.answer import answer, final
from wellread.errors import WellreadError
from wellread.ingest.pipeline.job_log import Progress, job_log
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import drawn_from, now
from wellread.learning.gaps.arrival_screening import could_answer, filters_of
from wellread.learning.gaps.gap_closing import why_open
from wellread.store.catalogue.asking.answer_removal import GAP_CLOSED
from wellread.store.catalogue.learning.gap_records import FROM, OUTDATED
from wellread.store.schema.stored_values import Gap

logger = logging.getLogger(__name__)

LOCK = "gaps.lock"
ROUNDS = 3  # looks for documents that arrived while the others were asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """A question that was asked again.

    Attributes:
        answer_id: of the answer that closed it; empty when it stayed open.
        why: why it stayed open.
    """

    gap: Gap
    answer_id: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasked:
    """What a run did.

    Attributes:
        open: how many questions were open; ``documents``: how many were new.
        waiting: questions that new documents could answer and that were not asked yet, since the
            run may ask only so many (``gaps.most``) or was cancelled; the next run does.
    """

    open: int = 0
    documents: int = 0
    tried: tuple[Retried, ...] = ()
    waiting: int = 0
    job_id: str = ""

    @property
    def closed(self) -> tuple[Retried, ...]:
        """Those that are answered now."""
        return tuple(one for one in self.tried if one.answer_id)


OnReasked = Callable[[Reasked], None]


def ask_again(kb: KnowledgeBase, *, most: int | None = None) -> Reasked:
    """Ask the open questions again that new documents could answer.

    When another process is at it, nothing is done: that one looks again before it ends.

    Args:
        most: how many are asked at most; None takes the setting.

    Raises:
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
    limit = kb.settings.gaps.most if most is None else most
    if not kb.settings.qa.enabled or not _any_open(kb):
        return Reasked()
    done = Reasked()
    with kb.locks.hold(LOCK) as ours:
        for _ in range(ROUNDS if ours else 0):
            found = _round(kb, limit - len(done.tried))
            done = Reasked(
                open=max(done.open, found.open),
                documents=done.documents + found.documents,
                tried=(*done.tried, *found.tried),
                waiting=found.waiting,
                job_id=found.job_id or done.job_id,
            )
            if not found.documents or found.waiting:
                break
    return done


def ask_these(kb: KnowledgeBase, gap_ids: Iterable[int]) -> Reasked:
    """Ask these open questions again, whatever arrived; they close by the same rule.

    Raises:
        StoreError, FingerprintError, ModelError: as ``ask_again``.
    """
    gaps = [gap for gap in kb.catalogue.gap_ledger.of(gap_ids) if gap.status != "closed"]
    if not gaps or not kb.settings.qa.enabled:
        return Reasked(open=len(gaps))
    tried, job_id = _ask_all(kb, gaps)
    waiting = len(gaps) - len(tried)
    return Reasked(open=len(gaps), tried=tried, waiting=waiting, job_id=job_id)


def after_ingest(kb: KnowledgeBase, told: OnReasked | None = None) -> None:
    """``ask_again`` as every run of ingest ends with it, where the settings want it.

    What goes wrong is logged: the material is in, whatever becomes of old questions.
    """
    if not kb.settings.gaps.ask_again:
        return
    try:
        done = ask_again(kb)
    except WellreadError as error:
        logger.warning("open questions could not be asked again: %s", error)
        return
    if told is not None and (done.tried or done.waiting):
        told(done)


def _any_open(kb: KnowledgeBase) -> bool:
    kb.catalogue.gap_ledger.reopen_outdated()
    return kb.catalogue.gap_ledger.any_waiting()


def _round(kb: KnowledgeBase, most: int) -> Reasked:
    ledger = kb.catalogue.gap_ledger
    gaps = ledger.waiting()
    if not gaps:
        return Reasked()
    looked, oldest = ledger.looked(), min(gap.filed_at for gap in gaps)
    arrived = ledger.arrived(oldest if looked is None else max(looked, oldest))
    if not arrived:
        return Reasked(open=len(gaps))
    began = datetime.now(UTC)
    found = could_answer(kb, gaps, arrived, most)
    tried, job_id = _ask_all(kb, found.wanted) if found.wanted else ((), "")
    waiting = found.left + len(found.wanted) - len(tried)
    if waiting:
        ledger.passed_over([gap.id for gap in found.passed], began)
    else:
        ledger.looked_until(max(arrived.values()))
    return Reasked(
        open=len(gaps), documents=len(arrived), tried=tried, waiting=waiting, job_id=job_id
    )


def _ask_all(kb: KnowledgeBase, gaps: Sequence[Gap]) -> tuple[tuple[Retried, ...], str]:
    """Ask them one by one, as a job; fewer come back when it was cancelled."""
    tried: list[Retried] = []
    with job_log(kb, "re-ask", "", []) as log, start_blocking_portal() as portal:
        for gap in gaps:
            if log.look(
                Progress(sources_total=len(gaps), sources_done=len(tried), passages_done=0)
            ):
                break
            tried.append(_ask(kb, gap, portal))
        log.write(Progress(sources_total=len(gaps), sources_done=len(tried), passages_done=0))
    return tuple(tried), log.job.id


def _ask(kb: KnowledgeBase, gap: Gap, portal: BlockingPortal) -> Retried:
    """Ask one again, and close it or write down why it stays open."""
    began = datetime.now(UTC)
    theirs = now(kb, gap.owner)
    try:
        given = portal.call(_answer, theirs, gap)
        why = why_open(theirs, gap, given)
    except WellreadError as error:
        given, why = None, f"it could not be asked: {error}"
    if given is not None and not why:
        # In no conversation: nobody was there when it was asked.
        kept = replace(given, session_id="")
        read = drawn_from(theirs, filters_of(gap))
        if kb.catalogue.gap_ledger.close(gap, kept, read):
            if gap.tried != OUTDATED:
                _tell(kb, gap, kept)
            return Retried(gap=gap, answer_id=kept.id)
        why = "it was asked, closed or removed meanwhile"
        return Retried(gap=gap, why=why)
    kb.catalogue.gap_ledger.tried(gap.id, why, began)
    return Retried(gap=gap, why=why)


async def _answer(kb: KnowledgeBase, gap: Gap) -> Answer:
    # Not recorded before it is known to close the gap: it would be filed as asked once more.
    asked = Question(
        text=gap.question,
        filters=filters_of(gap),
        owner=gap.owner,
        fresh=True,
        recorded=False,
    )
    return await final(answer(kb, asked))


def _tell(kb: KnowledgeBase, gap: Gap, given: Answer) -> None:
    titles = dict.fromkeys(one.title for one in given.citations)
    sources = ", ".join(list(titles)[:2]) or "the count"
    text = f"“{gap.question}” has an answer now{FROM}{sources}."
    kb.catalogue.notices.tell(gap.owner, GAP_CLOSED, given.id, text)
