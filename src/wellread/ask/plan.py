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
from wellread.ask.aggregate.facts import facts, turns_of_speaker
from wellread.ask.aggregate.query import AggregateResult, CatalogueQuery, Noun, Topic, amount
from wellread.ask.aggregate.read_queries import read_catalogue, read_walk
from wellread.ask.aggregate.table_rows import table_rows
from wellread.ask.retrieve.direct import compare, direct, news, persona, synthesis
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.search import MUTED_DEPTH, muted, muted_words, narrowed, search
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
MAX_OTHER_CERTAINTY = 0.75  # if no document of the kind asked for is on the topic
MAX_TOPIC_PASSAGES = 5  # passages searched for a topic that no document is filed under
MAX_DAYS = 3  # days named in a question that are looked up
PASSAGES_PER_SUBJECT = 2  # from each document on a subject of a question about the graph


def answer_from_catalogue(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The result of the question's catalogue query; None if there is no query.

    When no document matches the topic, passages are tried before absence is reported.
    """
    for query in filter(partial(_is_allowed, kb), read_catalogue(kb, analysis)):
        result = _execute_any_kind(kb, query, analysis)
        vague = query.form == "list" and query.about and not query.about.naming
        if result and (result.number or not vague):
            return result
    return None


def _is_allowed(kb: KnowledgeBase, query: CatalogueQuery) -> bool:
    """Whether the query may run; ``features.graph_aware`` off excludes traversals."""
    return query.related is None or kb.settings.features.graph_aware


def _execute_any_kind(
    kb: KnowledgeBase, query: CatalogueQuery, analysis: Analysis
) -> AggregateResult | None:
    """The result; if no document of the kind is on the topic, those of other kinds.

    None if there are none of any kind but a passage has the topic's words in other forms, since
    then the passages can answer.
    """
    any_kind, kind = Noun(what=DOCUMENTS, one="document"), query.of.filters
    topic = query.about
    result = execute(kb, query, analysis)
    if query.of.what != DOCUMENTS or not topic or result is None or result.number:
        return result
    if query.form not in ("count", "list", "exists"):
        return result
    others = execute(kb, replace(query, of=any_kind), analysis) if kind != Filters() else None
    if others is None or not others.number:
        is_in_passage = not topic.naming and _is_in_passage(kb, topic, analysis)
        return None if is_in_passage else result
    number = amount(others.number, "other document", "other documents")
    sentence = f"There are no {query.of.many} {topic.condition}, but {number}:"
    certainty = min(others.certainty, MAX_OTHER_CERTAINTY)
    return replace(others, sentence=sentence, kind="list", certainty=certainty)


def _is_in_passage(kb: KnowledgeBase, topic: Topic, analysis: Analysis) -> bool:
    """Whether a passage contains all words of the topic, in any form and order."""
    text = " ".join(name.phrase for name in topic.names)
    topic_stems, filters = parse(text).stem_set, narrowed(analysis.filters, analysis.constraints)
    if not topic_stems or filters is None:
        return False
    hits = search(kb, text, filters, limit=MAX_TOPIC_PASSAGES)
    texts = (f"{hit.passage.context} {hit.passage.text}" for hit in hits)
    return any(topic_stems <= parse(passage).stem_set for passage in texts)


def answer_from_graph(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """A certain graph result, else a catalogue or document fact, else an uncertain graph result."""
    traversal = _traverse(kb, analysis)
    if traversal and traversal.paths:
        return _with_passages(kb, analysis, traversal)
    for strategy in (answer_from_catalogue, *OF_RELATIONAL):
        if found := strategy(kb, analysis):
            return found
    if traversal is None:
        return None
    if not traversal.absent:
        return _with_passages(kb, analysis, traversal)
    found = direct(kb, analysis)
    note = f"{traversal.sentence[:1].lower()}{traversal.sentence[1:-1]}; texts were searched"
    return replace(found, notes=(note, *found.notes))


def clear_relation(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The graph's answer if the question can be read in one way only; else None."""
    traversal = _traverse(kb, analysis)
    return _with_passages(kb, analysis, traversal) if traversal and traversal.paths else None


def _traverse(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The traversal result that the question asks for; None for counts or without a traversal."""
    if asks_amount(analysis.question) or not kb.settings.features.graph_aware:
        return None
    query = read_walk(kb, analysis)
    return execute(kb, query) if query else None


OF_RELATIONAL: tuple[Strategy, ...] = (table_rows, turns_of_speaker, facts)
STRATEGIES: Mapping[QuestionType, tuple[Strategy, ...]] = {
    "comparative": (turns_of_speaker, clear_relation, compare, synthesis),
    "synthesis": (answer_from_catalogue, turns_of_speaker, facts, clear_relation, news, synthesis),
    "persona": (turns_of_speaker, clear_relation, persona),
    "counting": (answer_from_catalogue, table_rows, turns_of_speaker, facts, clear_relation),
    "gap_finding": (answer_from_catalogue, table_rows, turns_of_speaker, facts, clear_relation),
    "meta": (turns_of_speaker, facts, answer_from_catalogue, table_rows, clear_relation),
    "trend": (answer_from_catalogue, turns_of_speaker, clear_relation),
    "relational": (answer_from_graph,),
    "exploratory": (clear_relation, answer_from_catalogue, table_rows, turns_of_speaker, facts),
    "factual": (answer_from_catalogue, table_rows, turns_of_speaker, facts, clear_relation, news),
    "temporal": (answer_from_catalogue, table_rows, turns_of_speaker, facts, clear_relation, news),
}
# If a model read the question, only these strategies are tried after its query.
OF_PASSAGES: frozenset[Strategy] = frozenset(
    {table_rows, turns_of_speaker, compare, synthesis, persona, news, facts}
)


def read_query(kb: KnowledgeBase, analysis: Analysis) -> CatalogueQuery | None:
    """The first catalogue query read from the question; None when it is about texts."""
    queries = (*read_catalogue(kb, analysis), read_walk(kb, analysis))
    return next((query for query in queries if query and _is_allowed(kb, query)), None)


def analyse_alone(kb: KnowledgeBase, question: Question) -> Analysis:
    """Analyse ``question`` on its own, with misspelt words corrected."""
    return analyse_within(kb, question, vocabulary_of(kb, question.filters.collections))


def analyse_within(kb: KnowledgeBase, question: Question, vocabulary: Vocabulary) -> Analysis:
    """``analyse_alone`` with the vocabulary of the scope.

    A day in the question is a limit only if a document has that date.
    """
    corrected, respelt = correct_spelling(kb, question, vocabulary)
    today, scope = date.today(), Filters(collections=question.filters.collections)
    days = [
        day
        for day in days_in(corrected.text, vocabulary, today)[:MAX_DAYS]
        if kb.catalogue.listings.count([scope, date_filters(day, day)])
    ]
    analysis = analyse(corrected, vocabulary, today, kb.embedder, days=days)
    return replace(analysis, respelt=respelt)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlan:
    """A language model's reading of a question (``planning_call.py``), replacing the patterns."""

    query: CatalogueQuery | None = None
    failures: tuple[str, ...] = ()

    def strategies(self, kind: QuestionType) -> Iterator[Strategy]:
        """The query, then the strategies that find passages or facts of one document."""
        yield self.result
        usual_strategies = OF_RELATIONAL if kind == "relational" else STRATEGIES.get(kind, ())
        yield from (strategy for strategy in usual_strategies if strategy in OF_PASSAGES)

    def result(self, kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
        """The result of the query; None if it is empty, so that passages are searched."""
        query = self.query
        if query is None or not _is_allowed(kb, query):
            return None
        result = _execute_any_kind(kb, query, analysis)
        if result is None:
            return None
        naming = query.about is not None and query.about.naming
        if query.form in ("count", "list") and not (result.number or result.rows or naming):
            return None
        return _with_passages(kb, analysis, result) if result.paths else result


def find(kb: KnowledgeBase, analysis: Analysis, plan: ModelPlan | None = None) -> Found:
    """Run the strategies of the question's type and return the first result."""
    by_type = STRATEGIES.get(analysis.type, (turns_of_speaker,))
    for strategy in plan.strategies(analysis.type) if plan else by_type:
        found = strategy(kb, analysis)
        if found is not None:
            break
    else:
        found = direct(kb, analysis)
    if plan and plan.failures:
        found = replace(found, failures=(*found.failures, *plan.failures))
    return _without_muted(kb, analysis, found) if analysis.liking.muted else found


def _without_muted(kb: KnowledgeBase, analysis: Analysis, found: Found) -> Found:
    """The result without passages of muted sources, and a note if one was among the best.

    Counts and lists from the catalogue are not filtered, as they describe the whole material.
    """
    unmuted = tuple(hit for hit in found.hits if not muted(analysis, hit))
    best_hits = search(kb, analysis.searched, analysis.filters, limit=MUTED_DEPTH)
    note = muted_words(analysis, best_hits)
    return replace(found, hits=unmuted, notes=(*found.notes, *([note] if note else [])))


# --- passages about a relation ---


def _with_passages(
    kb: KnowledgeBase, analysis: Analysis, result: AggregateResult
) -> AggregateResult:
    """The result with passages to quote for its entities and documents."""
    max_hits = kb.settings.retrieval.top_k
    subjects = result.subjects
    others = [node for node in result.others if node not in subjects]
    names = [node.title for node in others][:max_hits]
    text = " ".join([analysis.question, *names])
    lists = [
        (_search(kb, analysis, text, subjects), PASSAGES_PER_SUBJECT),
        (_search(kb, analysis, analysis.question, others), 1),
    ]
    chosen: dict[str, Hit] = {}
    per_document = Counter[str]()
    for hits, limit in lists:
        for hit in hits:
            if per_document[hit.document.id] < limit and len(chosen) < max_hits:
                per_document[hit.document.id] += 1
                chosen.setdefault(hit.passage.id, hit)
    return replace(result, hits=tuple(chosen.values()))


def _search(
    kb: KnowledgeBase, analysis: Analysis, text: str, nodes: Sequence[EntityNode]
) -> list[Hit]:
    filters = analysis.filters
    document_ids = dict.fromkeys(document for node in nodes for document in node.documents)
    limit = filters.document_ids or document_ids
    allowed_ids = [document_id for document_id in document_ids if document_id in limit]
    if not allowed_ids:
        return []
    limits = Filters(collections=filters.collections, document_ids=tuple(allowed_ids))
    return search(kb, text, limits, limit=2 * kb.settings.retrieval.top_k)
