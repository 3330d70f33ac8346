"""Relational questions: from the named entities along the graph, every answer with its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.ask.aggregate.graph import verbalize
from wellread.ask.aggregate.graph.graph_plan import Plan
from wellread.ask.aggregate.graph.read_plan import attributes_of, read
from wellread.ask.aggregate.graph.walk import Reached, Walked, walk
from wellread.ask.retrieve.retrieval import AggregateResult, Retrieval, Row, SearchTrace
from wellread.ask.retrieve.search import check_collections, look
from wellread.ask.retrieve.strategies.direct import direct
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, Constraint
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.store.catalogue.graph.relation_network import Path
from wellread.types import Filters, Hit

STRATEGY = "graph"
MOST_PATHS = 200  # kept with an answer; its rows hold every answer whatever their number
SUBJECT_PASSAGES = 2  # of each document that the question names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question with what is needed to walk for it."""

    kb: KnowledgeBase
    analysis: Analysis
    plan: Plan


def related(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """What the graph says about the entities that the question names; None when it names none.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    asked = _asked(kb, analysis)
    if asked is None:
        return None
    walked = walk(kb.catalogue.graph, asked.plan, attributes_of(kb, asked.plan))
    if asked.plan.form in ("connection", "existence"):
        return _between(asked, walked)
    if not asked.plan.understood and not asked.plan.complete:
        return _beside(asked, walked)
    return _answers(asked, walked) or _nothing(asked, walked)


def clearly_related(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """``related``, for a question that does not look like it: None unless nothing is in doubt.

    Every word that says something must be a name, a noun for a type or a word for a relation that
    exists, and the graph must have an answer.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as ``related``.
    """
    asked = _asked(kb, analysis)
    if asked is None or not (asked.plan.understood and asked.plan.complete):
        return None
    walked = walk(kb.catalogue.graph, asked.plan, attributes_of(kb, asked.plan))
    if asked.plan.form in ("connection", "existence"):
        return _between(asked, walked) if walked.paths else None
    return _answers(asked, walked)


def _asked(kb: KnowledgeBase, analysis: Analysis) -> _Asked | None:
    check_collections(kb, analysis.filters)
    plan = read(kb, analysis)
    return _Asked(kb=kb, analysis=analysis, plan=plan) if plan else None


# --- what was found ---


def _between(asked: _Asked, walked: Walked) -> Retrieval | None:
    """Whether and how two entities are connected."""
    if not all(walked.starts):
        return None
    plan = asked.plan
    exists = plan.form == "existence"
    sentence = (
        verbalize.existence_sentence(plan, walked)
        if exists
        else verbalize.connection_sentence(walked)
    )
    rows = tuple(
        Row(
            cells=(_title(path), verbalize.path_text(path)),
            document_ids=tuple(
                dict.fromkeys(known for node in _nodes_of(path) for known in node.documents)
            ),
        )
        for path in walked.paths
    )
    nodes = [node for group in walked.starts for node in group]
    on_the_way = [node for path in walked.paths for node in _nodes_of(path)]
    hits, traces = _passages(asked, nodes, on_the_way)
    return Retrieval(
        strategy=STRATEGY,
        hits=hits,
        tally=AggregateResult(
            kind="relation",
            sentence=sentence,
            columns=("ends", "how"),
            rows=rows,
            method=f"relation {verbalize.hop_words(plan.hops)}, else the shortest ways of at most "
            "four steps"
            if exists
            else "the shortest ways of at most four steps, over any relation in either direction",
        ),
        paths=walked.paths,
        notes=plan.read_as,
        traces=traces,
    )


def _answers(asked: _Asked, walked: Walked) -> Retrieval | None:
    """Everything that the hops led to; None when that is nothing."""
    plan = asked.plan
    reached, relaxed = _within_limits(asked, walked.reached)
    if not reached:
        return None
    notes = [*plan.read_as]
    if not plan.understood:
        notes.append(
            "no relation of the knowledge graph is called as the question says; "
            "relations of any type were followed"
        )
    missing = [one.name for one in reached if one.node is None]
    if missing:
        notes.append(f"named by a relation, but without an entry yet: {verbalize.listing(missing)}")
    notes += _several_meanings(walked)
    if walked.cut:
        notes.append("there was too much to follow all of it; the result is not complete")
    shown = replace(walked, reached=tuple(reached))
    starts = [node for group in walked.starts for node in group]
    nodes = [one.node for one in reached if one.node is not None]
    hits, traces = _passages(asked, starts, nodes)
    paths = [path for one in reached for path in one.paths[:1]]
    paths += [path for one in reached for path in one.paths[1:]]
    return Retrieval(
        strategy=STRATEGY,
        hits=hits,
        tally=AggregateResult(
            kind="relation",
            sentence=verbalize.hops_sentence(plan, shown),
            number=len(reached),
            columns=("name", "how"),
            rows=tuple(_row(one) for one in reached),
            method=f"from {verbalize.listing([node.title for node in starts])} over "
            f"{verbalize.hop_words(plan.hops)}",
        ),
        paths=tuple(paths[:MOST_PATHS]),
        relaxed=relaxed,
        notes=tuple(notes),
        traces=traces,
    )


def _nothing(asked: _Asked, walked: Walked) -> Retrieval | None:
    """Nothing in the graph; the texts may say it all the same."""
    if not asked.plan.understood or not any(walked.starts):
        return None
    found = direct(asked.kb, asked.analysis)
    names = verbalize.listing([node.title for group in walked.starts for node in group])
    said_as = verbalize.hop_words(asked.plan.hops)
    note = f"the knowledge graph has nothing for {names} over {said_as}; texts were searched"
    return replace(found, notes=(note, *found.notes))


def _beside(asked: _Asked, walked: Walked) -> Retrieval:
    """Texts, with what surrounds the names: the question's word for a relation fits none."""
    found = direct(asked.kb, asked.analysis)
    note = (
        "no relation of the knowledge graph is called as the question says; texts were searched, "
        "and the ways show relations of any type"
    )
    paths = tuple(path for one in walked.reached for path in one.paths[:1])[:MOST_PATHS]
    return replace(found, paths=paths, notes=(note, *found.notes))


def _row(one: Reached) -> Row:
    return Row(
        cells=(one.name, verbalize.how_text(one)),
        document_ids=one.node.documents if one.node else _tellers(one),
    )


def _tellers(one: Reached) -> tuple[str, ...]:
    """The documents that name what is not there yet."""
    last = [path.steps[-2].node if path.steps[1:] else path.start for path in one.paths]
    return tuple(dict.fromkeys(known for node in last if node for known in node.documents))


def _several_meanings(walked: Walked) -> list[str]:
    return [
        f"“{group[0].title}” is the name of {verbalize.listing([_sort(node) for node in group])}; "
        "all were followed"
        for group in walked.starts
        if len(group) > 1
    ]


def _sort(node: EntityNode) -> str:
    return f"a {node.type} ({node.id})" if node.type else node.id


# --- limits ---


def _within_limits(
    asked: _Asked, reached: Sequence[Reached]
) -> tuple[list[Reached], tuple[Constraint, ...]]:
    """The answers that meet the asker's filters, and the question's limits where any does."""
    kept = list(reached)
    if replace(asked.analysis.filters, collections=()) != Filters():
        kept = _meeting(asked.kb, kept, [asked.analysis.filters])
    relaxed: list[Constraint] = []
    for constraint in asked.analysis.constraints:
        if _told_otherwise(constraint, asked.plan):
            continue
        fitting = _meeting(asked.kb, kept, [asked.analysis.filters, constraint.filters])
        if fitting or not kept:
            kept = fitting
        else:
            relaxed.append(constraint)
    return kept, tuple(relaxed)


def _told_otherwise(constraint: Constraint, plan: Plan) -> bool:
    """Whether the words of a limit are a name or the noun for an answer ("which newsletters")."""
    taken = [one.span for group in plan.starts for one in group[:1]]
    if constraint.kind in ("kind", "source_type"):
        taken += plan.type_spans
    return any(constraint.span.overlaps(span) for span in taken)


def _meeting(
    kb: KnowledgeBase, reached: Sequence[Reached], limits: Sequence[Filters]
) -> list[Reached]:
    allowed = {entry.id for entry in kb.catalogue.censuses.entries(limits)}
    return [one for one in reached if one.node and allowed & set(one.node.documents)]


# --- passages ---


def _passages(
    asked: _Asked, starts: Sequence[EntityNode], nodes: Sequence[EntityNode]
) -> tuple[tuple[Hit, ...], tuple[SearchTrace, ...]]:
    """Passages that tell of the relation: of the named entities, then one of each found."""
    most = asked.kb.settings.retrieval.top_k
    names = [node.title for node in nodes if node not in starts][:most]
    first = _search(
        asked,
        " ".join([asked.analysis.question, *names]),
        [known for node in starts for known in node.documents],
        "what the named entities say",
    )
    others = [known for node in nodes if node not in starts for known in node.documents]
    second = _search(asked, asked.analysis.question, others, "what the entities found say")
    traces = [made for _, made in (first, second) if made]
    chosen: dict[str, Hit] = {}
    per_document: dict[str, int] = {}
    for hits, limit in ((first[0], SUBJECT_PASSAGES), (second[0], 1)):
        for hit in hits:
            if per_document.get(hit.document.id, 0) < limit and len(chosen) < most:
                per_document[hit.document.id] = per_document.get(hit.document.id, 0) + 1
                chosen.setdefault(hit.passage.id, hit)
    return tuple(chosen.values()), tuple(traces)


def _search(
    asked: _Asked, text: str, document_ids: Sequence[str], purpose: str
) -> tuple[list[Hit], SearchTrace | None]:
    filters = asked.analysis.filters
    wanted = list(dict.fromkeys(document_ids))
    if filters.document_ids:
        wanted = [known for known in wanted if known in filters.document_ids]
    if not wanted:
        return [], None
    limits = Filters(collections=filters.collections, document_ids=tuple(wanted))
    limit = 2 * asked.kb.settings.retrieval.top_k
    made = look(asked.kb, text, limits, purpose=purpose, limit=limit)
    return made.hits, made.look


def _title(path: Path) -> str:
    return f"{path.start.title} – {path.steps[-1].name}"


def _nodes_of(path: Path) -> list[EntityNode]:
    return [path.start, *(step.node for step in path.steps if step.node is not None)]
