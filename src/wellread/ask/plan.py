"""Chooses how to answer an analysed question: catalogue query, graph traversal or passages.

Each question type has an ordered list of strategies; the first one with a result decides. Direct
retrieval, the last, always has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Literal

from wellread.ask.aggregate.execute import execute
from wellread.ask.aggregate.facts import facts, said_by
from wellread.ask.aggregate.query import AggregateResult, CatalogueQuery, Noun, Topic, amount
from wellread.ask.aggregate.read_queries import read_catalogue, read_walk
from wellread.ask.retrieve.direct import compare, direct, news, persona, synthesis
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import BEST, muted, muted_words, narrowed, search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.question_parts import asks_amount
from wellread.ask.understand.source_limits import date_filters, days_in
from wellread.ask.understand.vocabulary import Vocabulary, correct_spelling, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.parsed import parse
from wellread.types import Filters, Hit
from wellread.values.answers import Question
from wellread.values.question import Analysis, QuestionType

Strategy = Callable[[KnowledgeBase, Analysis], Found | None]
DOCUMENTS: Literal["documents"] = "documents"
OTHER_KINDS = 0.75  # that documents of other kinds are what is asked for
FEW = 5  # passages, of which one may tell of what no document is filed under
MOST_DAYS = 3  # of a question that are looked up
SUBJECT_PASSAGES = 2  # of each document that a question about the graph names


def answer_from_catalogue(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The result of the question's catalogue query; None if there is no query.

    When no document matches the topic, passages are tried before absence is reported.
    """
    for query in filter(partial(_allowed, kb), read_catalogue(kb, analysis)):
        result = _of_any_kind(kb, query, analysis)
        vague = query.form == "list" and query.about and not query.about.naming
        if result and (result.number or not vague):
            return result
    return None


def _allowed(kb: KnowledgeBase, query: CatalogueQuery) -> bool:
    """Whether the query may run; ``features.graph_aware`` off excludes traversals."""
    return query.related is None or kb.settings.features.graph_aware


def _of_any_kind(
    kb: KnowledgeBase, query: CatalogueQuery, analysis: Analysis
) -> AggregateResult | None:
    """The result; where no document of a kind is about it, with those of other kinds that are.

    That there is none is said only after the passages were searched, too: None where one of them
    holds the topic in other forms.
    """
    any_kind, kind = Noun(what=DOCUMENTS, one="document"), query.of.filters
    topic = query.about
    result = execute(kb, query, analysis)
    if query.of.what != DOCUMENTS or not topic or result is None or result.number:
        return result
    if query.form not in ("count", "list", "exists"):
        return result
    every = execute(kb, replace(query, of=any_kind), analysis) if kind != Filters() else None
    if every is None or not every.number:
        told = not topic.naming and _is_told(kb, topic, analysis)
        return None if told else result
    others = amount(every.number, "other document", "other documents")
    found = f"There are no {query.of.many} {topic.said}, but {others}:"
    return replace(every, sentence=found, kind="list", certainty=min(every.certainty, OTHER_KINDS))


def _is_told(kb: KnowledgeBase, topic: Topic, analysis: Analysis) -> bool:
    """Whether a passage contains all words of the topic, in any form and order."""
    text = " ".join(name.phrase for name in topic.names)
    wanted, filters = parse(text).stem_set, narrowed(analysis.filters, analysis.constraints)
    if not wanted or filters is None:
        return False
    hits = search(kb, text, filters, limit=FEW)
    texts = (f"{hit.passage.context} {hit.passage.text}" for hit in hits)
    return any(wanted <= parse(passage).stem_set for passage in texts)


def answer_from_graph(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """A certain graph result, else a catalogue or document fact, else an uncertain graph result."""
    walked = _walked(kb, analysis)
    if walked and walked.paths:
        return _with_passages(kb, analysis, walked)
    for strategy in (answer_from_catalogue, *OF_RELATIONAL):
        if found := strategy(kb, analysis):
            return found
    if walked is None:
        return None
    if not walked.absent:
        return _with_passages(kb, analysis, walked)
    found = direct(kb, analysis)
    note = f"{walked.sentence[:1].lower()}{walked.sentence[1:-1]}; texts were searched"
    return replace(found, notes=(note, *found.notes))


def clearly_related(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The graph's answer when the question's reading is unambiguous; else None."""
    walked = _walked(kb, analysis)
    return _with_passages(kb, analysis, walked) if walked and walked.paths else None


def _walked(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The traversal result that the question asks for; None for counts or without a traversal."""
    if asks_amount(analysis.question) or not kb.settings.features.graph_aware:
        return None
    query = read_walk(kb, analysis)
    return execute(kb, query) if query else None


OF_RELATIONAL: tuple[Strategy, ...] = (said_by, facts)
STRATEGIES: Mapping[QuestionType, tuple[Strategy, ...]] = {
    "comparative": (said_by, clearly_related, compare, synthesis),
    "synthesis": (answer_from_catalogue, said_by, facts, clearly_related, news, synthesis),
    "persona": (said_by, clearly_related, persona),
    "counting": (answer_from_catalogue, said_by, facts, clearly_related),
    "gap_finding": (answer_from_catalogue, said_by, facts, clearly_related),
    "meta": (said_by, facts, answer_from_catalogue, clearly_related),
    "trend": (answer_from_catalogue, said_by, clearly_related),
    "relational": (answer_from_graph,),
    "exploratory": (clearly_related, answer_from_catalogue, said_by, facts),
    "factual": (answer_from_catalogue, said_by, facts, clearly_related, news),
    "temporal": (answer_from_catalogue, said_by, facts, clearly_related, news),
}
# What finds passages, or facts of one document, where a model read the question.
OF_PASSAGES: frozenset[Strategy] = frozenset({said_by, compare, synthesis, persona, news, facts})


def read_query(kb: KnowledgeBase, analysis: Analysis) -> CatalogueQuery | None:
    """The first catalogue query read from the question; None when it is about texts."""
    queries = (*read_catalogue(kb, analysis), read_walk(kb, analysis))
    return next((query for query in queries if query and _allowed(kb, query)), None)


def reading(kb: KnowledgeBase, question: Question) -> Analysis:
    """Analyse ``question`` on its own, with misspelt words corrected."""
    return read_as(kb, question, vocabulary_of(kb, question.filters.collections))


def read_as(kb: KnowledgeBase, question: Question, known: Vocabulary) -> Analysis:
    """``reading`` with the words of where it is asked.

    A day that it names is a limit where a document of that day is there.
    """
    read, changed = correct_spelling(kb, question, known)
    today, asked = date.today(), Filters(collections=question.filters.collections)
    days = [
        day
        for day in days_in(read.text, known, today)[:MOST_DAYS]
        if kb.catalogue.counts.totals([asked, date_filters(day, day)]).documents
    ]
    analysis = analyse(read, known, today, kb.embedder, days=days)
    return replace(analysis, respelt=changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A language model's reading of a question (``planning_call.py``), replacing the patterns."""

    query: CatalogueQuery | None = None
    failures: tuple[str, ...] = ()

    def strategies(self, sort: QuestionType) -> Iterator[Strategy]:
        """The query first, then what finds passages or facts of one document."""
        yield self.result
        usual = OF_RELATIONAL if sort == "relational" else STRATEGIES.get(sort, ())
        yield from (one for one in usual if one in OF_PASSAGES)

    def result(self, kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
        """The result of the query; None when it counts nothing, so that passages are searched."""
        query = self.query
        if query is None or not _allowed(kb, query):
            return None
        result = _of_any_kind(kb, query, analysis)
        if result is None:
            return None
        naming = query.about is not None and query.about.naming
        if query.form in ("count", "list") and not (result.number or result.rows or naming):
            return None
        return _with_passages(kb, analysis, result) if result.paths else result


def find(kb: KnowledgeBase, analysis: Analysis, planned: Planned | None = None) -> Found:
    """Run the strategies of the question's type and return the first result."""
    usual = STRATEGIES.get(analysis.type, (said_by,))
    for strategy in planned.strategies(analysis.type) if planned else usual:
        found = strategy(kb, analysis)
        if found is not None:
            break
    else:
        found = direct(kb, analysis)
    if planned and planned.failures:
        found = replace(found, failures=(*found.failures, *planned.failures))
    return _without_muted(kb, analysis, found) if analysis.liking.muted else found


def _without_muted(kb: KnowledgeBase, analysis: Analysis, found: Found) -> Found:
    """What was found without passages of muted sources; a note says where one would have helped.

    Counts and lists of the catalogue stay whole: they tell what there is.
    """
    kept = tuple(hit for hit in found.hits if not muted(analysis, hit))
    without = search(kb, analysis.searched, analysis.filters, limit=BEST)
    note = muted_words(analysis, without)
    return replace(found, hits=kept, notes=(*found.notes, *([note] if note else [])))


# --- passages that tell of a relation ---


def _with_passages(
    kb: KnowledgeBase, analysis: Analysis, result: AggregateResult
) -> AggregateResult:
    """The result with passages to quote for its entities and documents."""
    most = kb.settings.retrieval.top_k
    subjects = result.subjects
    others = [node for node in result.others if node not in subjects]
    names = [node.title for node in others][:most]
    text = " ".join([analysis.question, *names])
    lists = [
        (_search(kb, analysis, text, subjects), SUBJECT_PASSAGES),
        (_search(kb, analysis, analysis.question, others), 1),
    ]
    chosen: dict[str, Hit] = {}
    per_document = Counter[str]()
    for hits, limit in lists:
        for hit in hits:
            if per_document[hit.document.id] < limit and len(chosen) < most:
                per_document[hit.document.id] += 1
                chosen.setdefault(hit.passage.id, hit)
    return replace(result, hits=tuple(chosen.values()))


def _search(
    kb: KnowledgeBase, analysis: Analysis, text: str, nodes: Sequence[EntityNode]
) -> list[Hit]:
    filters = analysis.filters
    wanted = dict.fromkeys(document for node in nodes for document in node.documents)
    within = [name for name in wanted if not filters.document_ids or name in filters.document_ids]
    if not within:
        return []
    limits = Filters(collections=filters.collections, document_ids=tuple(within))
    return search(kb, text, limits, limit=2 * kb.settings.retrieval.top_k)
