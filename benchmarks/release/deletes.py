"""Deletes that are proved: added, asked about, removed; nothing of it may be left anywhere.

Of documents of every kind each is asked about, so that answers quote it. Then it is removed as
``wellread remove`` does it. It is proved gone when

- ``remove`` itself found no trace and the stores hold no byte of it;
- the home, opened anew, has none of its sentences in a table, an index or the bytes of a file;
- a search and the same question, asked again, come upon none of it;
- ``verify`` finds nothing to mend and nothing to note.

Before the removal the same search for traces has to find it in the catalogue and in the index:
a search that finds nothing there either would prove nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.release.verdict import Measured, count
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.evaluation.cases import Case, Resolver
from wellread.evaluation.report import ALL
from wellread.ingest.integrity.purge import find_traces, needles, occurs_elsewhere
from wellread.ingest.integrity.verify import verify
from wellread.ingest.remove import RemoveReport, remove_named
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Embedder
from wellread.types import Filters
from wellread.values.answers import Answer, Question

REMOVED, NOT_PROVED, PROBLEMS = "documents_removed", "not_proved", "problems_after"
COLLECTION = "default"
STORES = {"catalogue", "index"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """A document to be removed: its id, a question about it, and words that it alone says."""

    document: str
    question: str
    words: tuple[str, ...]


def measure(
    home: Path, material: Iterable[Path], cases: Sequence[Case], embedder: Embedder, each: int = 2
) -> Measured:
    """Fill ``home``, ask, and remove so many documents of each kind that ``cases`` are about."""
    with open_kb(home, embedder=embedder) as kb:
        add(kb, [str(path) for path in material], collection=COLLECTION)
        doomed = chosen(kb, cases, each)
        for one in doomed:
            asked(kb, one.question)
        unseen = [one for one in doomed if not seen(kb, one)]
        reports = {one.document: removed(kb, one) for one in doomed}
    with open_kb(home, embedder=embedder) as kb:
        left = {one.document: remains(kb, one, reports[one.document]) for one in doomed}
        verified = verify(kb)
    for one in unseen:
        left[one.document].append("the search for traces did not find it while it was there")
    problems = [*(f"{one.kind}: {one.detail}" for one in verified.problems), *verified.notes]
    not_proved = [f"{known}: {', '.join(what)}" for known, what in left.items() if what]
    figures = {
        REMOVED: count(sum(one.documents for one in reports.values()), len(doomed)),
        NOT_PROVED: count(len(not_proved), len(doomed)),
        PROBLEMS: count(len(problems), len(doomed)),
    }
    return Measured(groups={ALL: figures}, notes=(*not_proved, *problems))


def chosen(kb: KnowledgeBase, cases: Sequence[Case], each: int) -> list[Doomed]:
    """The first documents of each kind of case that say something of their own."""
    found: dict[str, Doomed] = {}
    kinds: dict[str, int] = {}
    resolver = Resolver(kb)
    for case in cases:
        kind = "".join(case.tags[:1])
        ids = sorted(resolver.targets(case).documents.values(), key=sorted)
        if len(ids) != 1 or len(ids[0]) != 1 or kinds.get(kind, 0) == each:
            continue
        (known,) = ids[0]
        wanted = needles(kb.catalogue.forgetting.texts([known]))
        shared = occurs_elsewhere(kb, wanted, [known])
        words = tuple(one for one in wanted if one not in shared)
        if known in found or not words:
            continue
        found[known] = Doomed(document=known, question=case.turns[-1], words=words)
        kinds[kind] = kinds.get(kind, 0) + 1
    return list(found.values())


def seen(kb: KnowledgeBase, one: Doomed) -> bool:
    """Whether the search for traces finds the document in every store while it is there."""
    return {trace.store for trace in find_traces(kb, one.words)} >= STORES


def removed(kb: KnowledgeBase, one: Doomed) -> RemoveReport:
    """Remove it, with the proof that ``wellread remove`` makes."""
    return remove_named(kb, COLLECTION, [one.document])


def remains(kb: KnowledgeBase, one: Doomed, report: RemoveReport) -> list[str]:
    """What is left of a removed document, in words; asks about it once more."""
    left = [f"remove found {trace}" for trace in report.traces]
    left += ["remove did not look for it"] if not report.looked_for else []
    left += ["the stores were not purged"] if report.purged is not True else []
    left += [f"afterwards: {trace}" for trace in find_traces(kb, one.words)]
    hits = search(kb, one.question, Filters())
    left += ["it is found"] if any(hit.document.id == one.document for hit in hits) else []
    given = asked(kb, one.question)
    cited = {citation.document_id for citation in given.citations}
    left += ["it is cited"] if one.document in cited else []
    left += ["it is quoted"] if any(words in given.text for words in one.words) else []
    return left


def asked(kb: KnowledgeBase, question: str) -> Answer:
    """The answer as a user gets it: kept, and given again where one is kept."""
    return asyncio.run(final(answer(kb, Question(text=question))))
