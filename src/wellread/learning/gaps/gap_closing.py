"""When a new answer closes a gap: it is surely one, and rests on what came since it was filed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from wellread.answers import BEFORE, CATALOGUE, NOBODY, Answer
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import Gap
from wellread.text.parsed import parse

SURE = ("high", "medium")


_NUMBER = re.compile(r"(?<![\w.,-])#?(\d[\d,.]*)(?![\w-])")
_YEAR = re.compile(r"(?:19|20)\d\d")


def why_open(kb: KnowledgeBase, gap: Gap, answer: Answer) -> str:
    """Why ``answer`` does not close ``gap``, in words; empty when it does.

    Raises:
        StoreError: the catalogue cannot be read.
    """
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
