"""Asks unanswered questions (gaps) again when new documents have arrived.

No queue is needed: the catalogue stores the time up to which new documents were compared with the
open questions, and for each question the time of its last attempt. A killed process changes neither
time, so the next run resumes where it stopped and tries no question twice with the same documents.
Each run is a job that can be listed and cancelled like an ingest job.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Unpack

from anyio.from_thread import BlockingPortal, start_blocking_portal

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.codec import from_plain
from wellread.errors import UnknownCollectionError, WellreadError
from wellread.ingest import run
from wellread.ingest.pipeline.job_log import Progress, Report, job_log
from wellread.ingest.sources.discover import Input
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import drawn_from, with_current_rights
from wellread.store.schema.stored_values import Gap
from wellread.text.parsed import parse
from wellread.types import Filters
from wellread.values.answers import BEFORE, CATALOGUE, NOBODY, Answer, Question

logger = logging.getLogger(__name__)

LOCK = "gaps.lock"
MAX_ROUNDS = 3  # further rounds take documents that arrived during the round before


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedQuestion:
    """An open question that was asked again, with the outcome.

    Attributes:
        answer_id: the answer that closed the gap; empty when the gap stayed open.
        why: the reason why the gap stayed open.
    """

    gap: Gap
    answer_id: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryReport:
    """The result of one run over the open questions.

    Attributes:
        open: the number of open questions; ``documents``: the number of new documents.
        waiting: the number of questions left for the next run, because this one reached its
            limit or was cancelled.
    """

    open: int = 0
    documents: int = 0
    tried: tuple[RetriedQuestion, ...] = ()
    waiting: int = 0
    job_id: str = ""

    @property
    def closed(self) -> tuple[RetriedQuestion, ...]:
        """The questions that now have an answer."""
        return tuple(retried for retried in self.tried if retried.answer_id)


OnRetry = Callable[[RetryReport], None]


def ask_again(kb: KnowledgeBase, *, most: int | None = None) -> RetryReport:
    """Ask the open questions again that new documents could answer.

    Does nothing while another process does the same: that one checks again before it ends.

    Args:
        most: the maximum number of questions; None takes ``GapSettings.most``.
    """
    limit = kb.settings.gaps.most if most is None else most
    if not kb.settings.qa.enabled:
        return RetryReport()
    kb.catalogue.gap_ledger.reopen_outdated()
    if not kb.catalogue.gap_ledger.any_waiting():
        return RetryReport()
    total = RetryReport()
    with kb.locks.hold(LOCK) as lock_held:
        for _ in range(MAX_ROUNDS if lock_held else 0):
            report = _round(kb, limit - len(total.tried))
            total = RetryReport(
                open=max(total.open, report.open),
                documents=total.documents + report.documents,
                tried=(*total.tried, *report.tried),
                waiting=report.waiting,
                job_id=report.job_id or total.job_id,
            )
            if not report.documents or report.waiting:
                break
    return total


def ask_these(kb: KnowledgeBase, gap_ids: Iterable[int]) -> RetryReport:
    """Ask these open questions again, whether or not documents have arrived."""
    gaps = [gap for gap in kb.catalogue.gap_ledger.of(gap_ids) if gap.status != "closed"]
    if not gaps or not kb.settings.qa.enabled:
        return RetryReport(open=len(gaps))
    tried, job_id = _retry_all(kb, gaps)
    waiting = len(gaps) - len(tried)
    return RetryReport(open=len(gaps), tried=tried, waiting=waiting, job_id=job_id)


def after_ingest(kb: KnowledgeBase, on_reasked: OnRetry | None = None) -> None:
    """Run ``ask_again`` at the end of an ingest run if the settings ask for it.

    Errors are only logged, because the ingest itself has succeeded.
    """
    if not kb.settings.gaps.ask_again:
        return
    try:
        report = ask_again(kb)
    except WellreadError as error:
        logger.warning("open questions could not be asked again: %s", error)
        return
    if on_reasked is not None and (report.tried or report.waiting):
        on_reasked(report)


def _round(kb: KnowledgeBase, limit: int) -> RetryReport:
    ledger = kb.catalogue.gap_ledger
    gaps = ledger.waiting()
    if not gaps:
        return RetryReport()
    last_checked, oldest = ledger.looked(), min(gap.filed_at for gap in gaps)
    arrived = ledger.documents_since(oldest if last_checked is None else max(last_checked, oldest))
    if not arrived:
        return RetryReport(open=len(gaps))
    began = datetime.now(UTC)
    promising, passed, left = screen_gaps(kb, gaps, arrived, limit)
    tried, job_id = _retry_all(kb, promising) if promising else ((), "")
    waiting = left + len(promising) - len(tried)
    if waiting:
        ledger.record_no_news([gap.id for gap in passed], began)
    else:
        ledger.set_compared_until(max(arrived.values()))
    return RetryReport(
        open=len(gaps), documents=len(arrived), tried=tried, waiting=waiting, job_id=job_id
    )


def _retry_all(kb: KnowledgeBase, gaps: Sequence[Gap]) -> tuple[tuple[RetriedQuestion, ...], str]:
    """Ask ``gaps`` one after the other, as a job; returns fewer when the job is cancelled."""
    tried: list[RetriedQuestion] = []
    with job_log(kb, "re-ask", "", []) as log, start_blocking_portal() as portal:
        for gap in gaps:
            if log.record_if_due(
                Progress(sources_total=len(gaps), sources_done=len(tried), passages_done=0)
            ):
                break
            tried.append(_retry(kb, gap, portal))
        log.write(Progress(sources_total=len(gaps), sources_done=len(tried), passages_done=0))
    return tuple(tried), log.job.id


def _retry(kb: KnowledgeBase, gap: Gap, portal: BlockingPortal) -> RetriedQuestion:
    """Ask one question again, and close its gap or record why it stays open."""
    began = datetime.now(UTC)
    owner_kb = with_current_rights(kb, gap.owner)
    try:
        new_answer = portal.call(_answer, owner_kb, gap)
        why = why_open(owner_kb, gap, new_answer)
    except WellreadError as error:
        new_answer, why = None, f"it could not be asked: {error}"
    if new_answer is not None and not why:
        # No conversation: the user did not ask this time.
        stored = replace(new_answer, session_id="")
        collections = drawn_from(owner_kb, filters_of(gap))
        if kb.catalogue.gap_ledger.close(gap, stored, collections):
            return RetriedQuestion(gap=gap, answer_id=stored.id)
        why = "it was asked, closed or removed meanwhile"
        return RetriedQuestion(gap=gap, why=why)
    kb.catalogue.gap_ledger.tried(gap.id, why, began)
    return RetriedQuestion(gap=gap, why=why)


async def _answer(kb: KnowledgeBase, gap: Gap) -> Answer:
    # Not recorded until it is known to close the gap; else the gap would count one more asking.
    question = Question(
        text=gap.question, filters=filters_of(gap), owner=gap.owner, fresh=True, recorded=False
    )
    return await final(answer(kb, question))


MIN_WORD_SHARE = 0.5  # share of a question's topical words that a new passage must contain
MAX_SEARCHES = 200  # searches in one round
DEPTH_FACTOR = 2  # the search goes this many times deeper than for a question


def filters_of(gap: Gap) -> Filters:
    """The filters with which the question was asked."""
    return from_plain(Filters, {**gap.limits, "collections": list(gap.scope)})


def last_tried_at(gap: Gap) -> datetime:
    """The last time the question was asked; documents stored later were not tried yet."""
    return max(gap.filed_at, gap.tried_at or gap.filed_at)


def screen_gaps(
    kb: KnowledgeBase, gaps: Sequence[Gap], arrived: Mapping[str, datetime], limit: int
) -> tuple[list[Gap], list[Gap], int]:
    """Find the first ``limit`` of ``gaps`` that the ``arrived`` documents could answer.

    Returns:
        Those gaps; the gaps for which a search finds no new passage; the number not examined.
    """
    newest = max(arrived.values())
    untried = [gap for gap in gaps if last_tried_at(gap) < newest]
    promising: list[Gap] = []
    passed: list[Gap] = []
    for gap in untried[:MAX_SEARCHES]:
        if len(promising) == limit:
            break
        (promising if _finds_new_passage(kb, gap, arrived) else passed).append(gap)
    return promising, passed, len(untried) - len(promising) - len(passed)


def _finds_new_passage(kb: KnowledgeBase, gap: Gap, arrived: Mapping[str, datetime]) -> bool:
    """Whether a search finds a passage of a new document with half of the question's words.

    Searches with the rights of the gap's owner.
    """
    kb = with_current_rights(kb, gap.owner)
    limit = DEPTH_FACTOR * kb.settings.retrieval.top_k
    since, stems = last_tried_at(gap), frozenset(parse(gap.question).topic_stems)
    try:
        hits = search(kb, gap.question, filters_of(gap), limit=limit)
    except UnknownCollectionError:
        return False  # the collections of the question no longer exist
    new = [hit.passage for hit in hits if arrived.get(hit.document.id, since) > since]
    shared = (stems & parse(f"{passage.context} {passage.text}").stem_set for passage in new)
    return any(len(shared_stems) >= MIN_WORD_SHARE * len(stems) for shared_stems in shared)


CONFIDENT_BANDS = ("high", "medium")


_NUMBER = re.compile(r"(?<![\w.,-])#?(\d[\d,.]*)(?![\w-])")
_YEAR = re.compile(r"(?:19|20)\d\d")


def why_open(kb: KnowledgeBase, gap: Gap, answer: Answer) -> str:
    """The reason why ``answer`` does not close ``gap``; empty when it does."""
    return next(_doubts(answer), "") or _cites_nothing_new(kb, gap, answer)


def _doubts(answer: Answer) -> Iterator[str]:
    """The reasons against accepting ``answer``, the most serious first."""
    if answer.answered_by == NOBODY:
        yield "there is still no answer"
    if answer.confidence.band not in CONFIDENT_BANDS:
        yield f"the confidence of the answer is too low ({answer.confidence.score:.0%})"
    if answer.data_gaps:
        yield f"something is still missing: {'; '.join(answer.data_gaps)}"
    if answer.relaxed:
        yield "a filter of the question had to be dropped"
    if answer.conflicts:
        yield "the sources disagree"
    if missing := _unquoted_numbers(answer):
        yield f"its sources do not mention {', '.join(missing)}"
    if answer.failures:
        yield f"a step failed: {'; '.join(answer.failures)}"
    if answer.answered_by != CATALOGUE:  # catalogue results have no sentences to verify
        doubtful = [item.verdict.name for item in answer.sentences if not item.verdict.name.whole]
        yield from (f"a sentence is {name.label}" for name in doubtful)


def _unquoted_numbers(answer: Answer) -> list[str]:
    """The numbers of the question (such as "#5490") that no citation contains.

    Years are left out, because a source may state them only as its date.
    """
    if answer.answered_by == CATALOGUE:
        return []
    question = answer.standalone or answer.question
    quoted = " ".join(f"{citation.title} {citation.quote}" for citation in answer.citations)
    quoted_numbers = parse(quoted).numbers
    question_numbers = (match[1].strip(".,") for match in _NUMBER.finditer(question))
    return [
        number
        for number in question_numbers
        if not _YEAR.fullmatch(number) and not parse(number).numbers <= quoted_numbers
    ]


def _cites_nothing_new(kb: KnowledgeBase, gap: Gap, answer: Answer) -> str:
    changed_at = kb.catalogue.changed_at(_sources(answer))
    if not any(_is_newer(gap, changed_at, doc_id) for doc_id in _sources(answer)):
        return "the answer cites no document added or changed since the question was asked"
    if answer.answered_by in (CATALOGUE, BEFORE):
        return ""
    opening = answer.sentences[0] if answer.sentences else None
    cited = {citation.id: citation.document_id for citation in answer.citations}
    lead = {cited[number] for number in opening.citations if number in cited} if opening else set()
    if not any(_is_newer(gap, changed_at, doc_id) for doc_id in lead):
        return "the first sentence of the answer cites no document that is new since then"
    return ""


def _sources(answer: Answer) -> list[str]:
    rows = answer.table.documents if answer.table else ()
    cited = (citation.document_id for citation in answer.citations)
    return list(dict.fromkeys((*cited, *(document_id for row in rows for document_id in row))))


def _is_newer(gap: Gap, changed_at: Mapping[str, datetime], document_id: str) -> bool:
    moment = changed_at.get(document_id)
    return moment is not None and moment > gap.filed_at


def add(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    on_reasked: OnRetry | None = None,
    **options: Unpack[run.GivenOptions],
) -> Report:
    """Run ``ingest.run.add``, then ask the open questions that the new documents could answer.

    Args:
        on_reasked: called with the report when questions were asked again or are left.
    """
    report = run.add(kb, inputs, **options)
    if not report.cancelled:
        after_ingest(kb, on_reasked)
    return report


def sync(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    on_reasked: OnRetry | None = None,
    **options: Unpack[run.GivenOptions],
) -> Report:
    """Run ``ingest.run.sync``, then ask open questions again as ``add`` does."""
    report = run.sync(kb, inputs, **options)
    if not report.cancelled:
        after_ingest(kb, on_reasked)
    return report
