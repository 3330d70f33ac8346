"""Asks open questions again when material has arrived. The one job behind every face.

It is durable without a queue: the catalogue holds up to when new documents were compared with the
open questions, and each question when it was last tried. A process that is killed moves neither, so
the next run takes up what is left; what was tried already is not tried again with the same
documents. Every run is a job that can be seen and cancelled like those of ingest.
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
from wellread.kb.seen_by import drawn_from, now
from wellread.store.catalogue.asking.answer_removal import GAP_CLOSED
from wellread.store.catalogue.gap_records import FROM, OUTDATED
from wellread.store.schema.stored_values import Gap
from wellread.text.parsed import parse
from wellread.types import Filters
from wellread.values.answers import BEFORE, CATALOGUE, NOBODY, Answer, Question

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
    """Ask these open questions again, whatever arrived; they close by the same rule."""
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


SHARE = 0.5  # of a question's topical words
LOOKS = 200  # searches at a time
DEEPER = 2  # times the passages that a question works with


def filters_of(gap: Gap) -> Filters:
    """What its question was limited to."""
    return from_plain(Filters, {**gap.limits, "collections": list(gap.scope)})


def known_since(gap: Gap) -> datetime:
    """Documents that were written after this moment the question was never asked with."""
    return max(gap.filed_at, gap.tried_at or gap.filed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """Open questions, sorted out.

    Attributes:
        wanted: new documents could answer them.
        passed: the search finds nothing new that has their words.
        left: how many were not looked at any more.
    """

    wanted: tuple[Gap, ...]
    passed: tuple[Gap, ...] = ()
    left: int = 0


def could_answer(
    kb: KnowledgeBase, gaps: Sequence[Gap], arrived: Mapping[str, datetime], most: int
) -> Screened:
    """The first ``most`` of ``gaps`` that documents which arrived could answer."""
    newest = max(arrived.values())
    near = [gap for gap in gaps if known_since(gap) < newest]
    wanted: list[Gap] = []
    passed: list[Gap] = []
    for gap in near[:LOOKS]:
        if len(wanted) == most:
            break
        (wanted if _found(kb, gap, arrived) else passed).append(gap)
    left = len(near) - len(wanted) - len(passed)
    return Screened(wanted=tuple(wanted), passed=tuple(passed), left=left)


def _found(kb: KnowledgeBase, gap: Gap, arrived: Mapping[str, datetime]) -> bool:
    """Whether the search for its question finds a passage of a new document with half of its words.

    It is searched as its owner may: what they may not read is no reason to ask again.
    """
    kb = now(kb, gap.owner)
    limit = DEEPER * kb.settings.retrieval.top_k
    since, stems = known_since(gap), frozenset(parse(gap.question).topic_stems)
    try:
        hits = search(kb, gap.question, filters_of(gap), limit=limit)
    except UnknownCollectionError:
        return False  # nothing of what it was asked of is there any more
    new = [hit.passage for hit in hits if arrived.get(hit.document.id, since) > since]
    held = (stems & parse(f"{one.context} {one.text}").stem_set for one in new)
    return any(len(words) >= SHARE * len(stems) for words in held)


SURE = ("high", "medium")


_NUMBER = re.compile(r"(?<![\w.,-])#?(\d[\d,.]*)(?![\w-])")
_YEAR = re.compile(r"(?:19|20)\d\d")


def why_open(kb: KnowledgeBase, gap: Gap, answer: Answer) -> str:
    """Why ``answer`` does not close ``gap``, in words; empty when it does."""
    return next(_doubts(answer), "") or _not_new(kb, gap, answer)


def _doubts(answer: Answer) -> Iterator[str]:
    """What speaks against an answer, the worst first."""
    if answer.answered_by == NOBODY:
        yield "there is still no answer"
    if answer.confidence.band not in SURE:
        yield f"the answer is not sure ({answer.confidence.score:.0%})"
    if answer.data_gaps:
        yield f"something is still missing: {'; '.join(answer.data_gaps)}"
    if answer.relaxed:
        yield "a limit of the question had to be left out"
    if answer.conflicts:
        yield "the sources differ"
    if missing := _unquoted_numbers(answer):
        yield f"its sources do not tell of {', '.join(missing)}"
    if answer.failures:
        yield f"a step failed: {'; '.join(answer.failures)}"
    if answer.answered_by != CATALOGUE:  # what is counted is not read
        doubtful = [one.verdict.name for one in answer.sentences if not one.verdict.name.whole]
        yield from (f"a sentence is {name.label}" for name in doubtful)


def _unquoted_numbers(answer: Answer) -> list[str]:
    """Numbers of the question that nothing cited has: "#5490" is answered by no other change.

    Years are left out: a source tells them by its date.
    """
    if answer.answered_by == CATALOGUE:
        return []
    asked = answer.standalone or answer.question
    told = " ".join(f"{one.title} {one.quote}" for one in answer.citations)
    held = parse(told).numbers
    wanted = (match[1].strip(".,") for match in _NUMBER.finditer(asked))
    return [
        number
        for number in wanted
        if not _YEAR.fullmatch(number) and not parse(number).numbers <= held
    ]


def _not_new(kb: KnowledgeBase, gap: Gap, answer: Answer) -> str:
    written = kb.catalogue.changed_at(_rests_on(answer))
    if not any(_came_since(gap, written, known) for known in _rests_on(answer)):
        return "the answer cites nothing that came or changed since it was asked"
    if answer.answered_by in (CATALOGUE, BEFORE):
        return ""
    first = answer.sentences[0] if answer.sentences else None
    cited = {one.id: one.document_id for one in answer.citations}
    lead = {cited[number] for number in first.citations if number in cited} if first else set()
    if not any(_came_since(gap, written, known) for known in lead):
        return "what came since it was asked stands only beside the answer"
    return ""


def _rests_on(answer: Answer) -> list[str]:
    rows = answer.table.documents if answer.table else ()
    cited = (one.document_id for one in answer.citations)
    return list(dict.fromkeys((*cited, *(known for row in rows for known in row))))


def _came_since(gap: Gap, written: Mapping[str, datetime], known: str) -> bool:
    moment = written.get(known)
    return moment is not None and moment > gap.filed_at


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
    """``ingest.run.sync``, and the open questions again; see ``add``."""
    report = run.sync(kb, inputs, **how)
    if not report.cancelled:
        after_ingest(kb, on_reasked)
    return report
