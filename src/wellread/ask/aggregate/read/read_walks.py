"""Reads questions about the graph with the words that its collections know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from wellread.ask.aggregate.queries.query import CatalogueQuery, Name, Noun, Walk
from wellread.ask.aggregate.read.graph_plan import Plan, plan_of
from wellread.ask.aggregate.read.question_pieces import Lexicon, Word, lexicon_of, noun_of
from wellread.ask.aggregate.read.relation_senses import relation_words
from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.vocabulary import ALIASED, Named, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, Constraint, NamedEntity
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.text.english import STOP_WORDS
from wellread.text.names import singular
from wellread.text.tokens import ARTICLES, Token, tokens_of
from wellread.types import Span

LEAST_WORDS = 2  # of a name that are said: "the fund" may be any
MOST_WORDS = 6  # of a whole name; longer ones are headlines


def shortened(
    question: str, called_with: Callable[[Sequence[str]], Iterable[Named]], taken: Iterable[Span]
) -> list[NamedEntity]:
    """The entities that are meant by "the" and words of their names, in order.

    Args:
        called_with: the spellings of names that hold some words.
        taken: places of the question that name something already.
    """
    tokens = tokens_of(question)
    held = list(taken)
    found: list[NamedEntity] = []
    for run in _runs(tokens):
        span = Span(start=run[0].start, end=run[-1].start + len(run[-1].written))
        if any(span.overlaps(other) for other in held):
            continue
        meant = _meant_by([token.plain for token in run], called_with)
        if meant is not None:
            held.append(span)
            found.append(
                NamedEntity(
                    span=span,
                    collection=meant.node.collection,
                    entity_id=meant.node.id,
                    title=meant.node.title,
                    type=meant.node.type,
                )
            )
    return found


def _runs(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What follows each "the", the longest first."""
    for place, token in enumerate(tokens):
        if token.plain != "the":
            continue
        last = place + 1
        while (
            last < len(tokens)
            and last - place < MOST_WORDS
            and tokens[last].joined
            and tokens[last].plain not in STOP_WORDS
        ):
            last += 1
        for end in range(last, place + LEAST_WORDS, -1):
            yield tokens[place + 1 : end]


def _meant_by(
    said: Sequence[str], called_with: Callable[[Sequence[str]], Iterable[Named]]
) -> Named | None:
    """The one whose name holds the words ``said`` in order, the last one last."""
    wanted = _numberless(said)
    found: dict[tuple[str, str], Named] = {}
    for form in called_with(wanted):
        if form.rank <= ALIASED and _holds(_words(form.written), wanted):
            found.setdefault((form.node.collection, form.node.id), form)
    return next(iter(found.values())) if len(found) == 1 else None


def _words(name: str) -> list[str]:
    words = [token.plain for token in tokens_of(name)]
    return _numberless(words[1:] if words[0] in ARTICLES else words)


def _numberless(words: Sequence[str]) -> list[str]:
    return [singular(word) or word for word in words]


def _holds(name: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether ``wanted`` are some words of a name, in its order, up to its last one."""
    if not len(wanted) < len(name) <= MOST_WORDS or name[-1] != wanted[-1]:
        return False
    rest = iter(name)
    return all(word in rest for word in wanted)


_ANY_RELATION = (
    "no relation of the knowledge graph is called as the question says; "
    "relations of any type were followed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWalk:
    """A question about the graph as a query, and how far it was understood.

    Attributes:
        understood: whether the question's words for the relation are known; else any relation
            is followed.
        complete: whether every word of the question that says something has a part in it.
    """

    query: CatalogueQuery
    understood: bool
    complete: bool

    @property
    def guessed(self) -> bool:
        """Whether the question may ask for something else."""
        return not (self.understood or self.complete)


def read_walk(kb: KnowledgeBase, analysis: Analysis) -> ReadWalk | None:
    """What the question asks of the graph; None when it names no entity within the filters.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    check_collections(kb, analysis.filters)
    plan = _read(kb, analysis)
    if plan is None:
        return None
    starts = tuple(
        Name(
            phrase=" / ".join(dict.fromkeys(one.title for one in group)),
            entities=tuple((one.collection, one.entity_id) for one in group),
        )
        for group in plan.starts
    )
    query = CatalogueQuery(
        form="path" if plan.path else "walk",
        of=Noun(what="entities", one="entity"),
        related=Walk(starts=starts, hops=plan.hops, all_of=plan.all_of),
        where=(analysis.filters,),
        soft=tuple(limit for limit in analysis.constraints if not _told_otherwise(limit, plan)),
        notes=plan.read_as if plan.understood else (*plan.read_as, _ANY_RELATION),
    )
    return ReadWalk(query=query, understood=plan.understood, complete=plan.complete)


def _told_otherwise(constraint: Constraint, plan: Plan) -> bool:
    """Whether the words of a limit are a name or the noun for an answer ("which newsletters")."""
    taken = [one.span for group in plan.starts for one in group[:1]]
    if constraint.kind in ("kind", "source_type"):
        taken += plan.type_spans
    return any(constraint.span.overlaps(span) for span in taken)


def _read(kb: KnowledgeBase, analysis: Analysis) -> Plan | None:
    """What the question asks of the graph; None when it names no entity within the filters.

    A part of a name counts when every word of the question is understood with it.
    """
    inside = analysis.filters.collections
    named = [one for one in analysis.entities if not inside or one.collection in inside]
    vocabulary = vocabulary_of(kb, inside)
    taken = [one.span for one in analysis.entities]
    parts = shortened(analysis.question, vocabulary.called_with, taken)
    if parts:
        plan = _plan(kb, analysis, sorted((*named, *parts), key=lambda one: one.span.start))
        if plan is not None and plan.understood and plan.complete:
            return replace(plan, read_as=tuple(_read_as(analysis, part) for part in parts))
    return _plan(kb, analysis, named) if named else None


def _read_as(analysis: Analysis, part: NamedEntity) -> str:
    return f"“{part.span.of(analysis.question)}” was read as “{part.title}”"


def _plan(kb: KnowledgeBase, analysis: Analysis, named: Sequence[NamedEntity]) -> Plan | None:
    scope = list(dict.fromkeys(one.collection for one in named))
    graph = kb.catalogue.graph
    words = vocabulary_of(kb, scope)
    lexicon = lexicon_of(
        sorted(words.entity_types),
        sorted(words.dimensions),
        relation_words(graph, scope),
    )
    tokens = [
        Word(
            plain=token.plain,
            span=Span(start=token.start, end=token.end),
            named=token.start > 0 and token.written[:1].isupper(),
        )
        for token in tokens_of(analysis.question)
    ]
    meant = [one for name in named for one in _meant(graph, analysis, name, tokens, lexicon)]
    return plan_of(tokens, list(dict.fromkeys(meant)), lexicon)


def _meant(
    graph: Graph, analysis: Analysis, name: NamedEntity, words: Sequence[Word], lexicon: Lexicon
) -> list[NamedEntity]:
    """``name``, or its namesakes of the type that stands before it ("the device Moth")."""
    before = [word.plain for word in words if word.span.end <= name.span.start][-1:]
    types = lexicon.types.get(noun_of(before[0]), frozenset()) if before else frozenset()
    if not types or name.type in types:
        return [name]
    spelled = name.span.of(analysis.question)
    return [
        NamedEntity(
            span=name.span,
            collection=node.collection,
            entity_id=node.id,
            title=node.title,
            type=node.type,
        )
        for node in graph.resolve([name.collection], spelled)
        if node.type in types
    ] or [name]
