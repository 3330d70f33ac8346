"""Plans a research run: derives the facets of a question from a first search of the material.

No model is used. Facets are sides of a comparison, requested speakers, graph neighbours of named
entities, and periods. A document that is asked about as a whole is split into parts: at its
headings, or into equal stretches titled with their most distinctive words.
"""

from __future__ import annotations

import calendar
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Any

from anyio import to_thread

from wellread.ask.plan import read_as
from wellread.ask.planning_call import planned
from wellread.ask.retrieve.direct import shared_topic, whole_side
from wellread.ask.retrieve.relax import intersect_filters, search_within
from wellread.ask.understand.conversation import SessionQuestion, preferences_for, resolve_follow_up
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.text.english import ALL_THERE_IS, COMMON_WORDS, DOCUMENT_NOUNS, SUMMING_UP
from wellread.text.english_patterns import EVERYTHING
from wellread.text.parsed import parse
from wellread.types import DocumentFacts, Filters, Hit, Passage
from wellread.values.answers import Question
from wellread.values.locators import Marks, format_time
from wellread.values.question import Analysis, Constraint
from wellread.values.reports import (
    MAX_FACETS,
    Facet,
    FacetKind,
    Limits,
    ResearchPlan,
    ResearchRequest,
)

FIRST_LOOK = 200  # passages of the search from which facets are derived
MAX_NEIGHBOURS = 6  # facets per named entity
MAX_WHOLE_DOCUMENTS = 3  # documents that can be summarized part by part
MIN_SUBJECT_SHARE = 0.5  # share of the subject's words from which a passage is about it
MAX_TITLE_SEARCHES = 10  # maximum searches for titles that the evidence mentions
SEARCH_SECONDS, WRITE_SECONDS = 0.06, 2.0  # estimates for two cores
CALL_SECONDS = 15.0  # estimate per language model call
ROUND_TOKENS, SECTION_TOKENS = 6_000, 3_000  # estimated input per call; output at its maximum
_SOURCES = frozenset(
    stem for word in DOCUMENT_NOUNS | ALL_THERE_IS | SUMMING_UP for stem in parse(word).stems
)
_COMMON = frozenset(stem for word in COMMON_WORDS for stem in parse(word).stems)
NO_LIMITS = Filters()  # no restriction


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with the notes that a reader of the report needs.

    Attributes:
        filters: the limits of every search.
        relaxed: limits of the question that matched nothing and were ignored.
        failures: steps that failed and were skipped, as text.
        whole: whether documents are summarized as a whole.
    """

    plan: ResearchPlan
    filters: Filters
    relaxed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    whole: bool = False


async def turn_of(kb: KnowledgeBase, question: Question) -> SessionQuestion:
    """Resolve a follow-up question with the earlier turns."""
    vocabulary = await to_thread.run_sync(vocabulary_of, kb, question.filters.collections)
    turn = await resolve_follow_up(kb, question, vocabulary)
    return (await planned(kb, turn, vocabulary)).turn if turn.earlier else turn


def turn_to_plain(turn: SessionQuestion) -> dict[str, Any]:
    """The journaled form of a turn: its interpretation and its session."""
    return {
        "text": turn.question.text,
        "session": turn.question.session_id,
        "asked": turn.asked,
        "reasons": list(turn.reasons),
        "failures": list(turn.failures),
        "context": turn.context,
    }


def turn_from_plain(question: Question, plain: Mapping[str, Any]) -> SessionQuestion:
    """The turn from its journaled form."""
    return SessionQuestion(
        question=replace(question, text=plain["text"], session_id=plain["session"]),
        asked=plain["asked"],
        reasons=tuple(plain["reasons"]),
        failures=tuple(plain["failures"]),
        context=plain["context"],
    )


def analyse_turn(kb: KnowledgeBase, turn: SessionQuestion) -> Analysis:
    """The analysis of the question."""
    vocabulary = vocabulary_of(kb, turn.question.filters.collections)
    analysis = read_as(kb, turn.question, vocabulary)
    turn = replace(turn, liking=preferences_for(kb, turn.question.owner))
    return replace(turn.read_as(analysis, analysis.respelt), mode="deep")


def plan_of(kb: KnowledgeBase, analysis: Analysis, request: ResearchRequest) -> Planned:
    """The plan from a first search of the material, or with the facets in the request."""
    first = _look_first(kb, analysis)
    facets = _facets_of(kb, analysis, first)
    if request.facets is not None:
        facets = _request_facets(request.facets, first.filters)
    documents = len(first.whole or {hit.document.id for hit in first.hits})
    plan = ResearchPlan(
        question=analysis.question, facets=facets, searches=0, seconds=0.0, documents=documents
    )
    return Planned(
        plan=_with_estimate(kb, plan, request.limits),
        filters=first.filters,
        relaxed=tuple(limit.value for limit in first.relaxed),
        failures=first.failures,
        whole=bool(first.whole),
    )


def _request_facets(facets: tuple[Facet, ...], border: Filters) -> tuple[Facet, ...]:
    """The request's facets, restricted to the limits of the question.

    They are renumbered, because facets found during the run continue the numbering.
    """
    if len(facets) > MAX_FACETS:
        raise RequestError(
            f"a plan may have {MAX_FACETS} parts, this one has {len(facets)}",
            hint="remove some, or split the question into two runs",
        )
    ids = {facet.id for facet in facets}
    if len(ids) < len(facets) or not all(facet.query.strip() for facet in facets):
        raise RequestError(
            "each part of a plan needs a unique id and a search query",
            hint="start from the plan as shown and change only titles and queries",
        )
    return tuple(
        replace(facet, id=f"f{number}", filters=intersect_filters(border, facet.filters) or border)
        for number, facet in enumerate(facets, 1)
    )


def _with_estimate(kb: KnowledgeBase, plan: ResearchPlan, limits: Limits) -> ResearchPlan:
    later = MAX_TITLE_SEARCHES if limits.rounds > 1 else 0
    searches = min(limits.searches, later + sum(not facet.passages for facet in plan.facets))
    seconds = searches * SEARCH_SECONDS + WRITE_SECONDS
    writer = kb.models.recorded("model")
    if writer is not None:
        sections = len(plan.facets) + 1
        calls = limits.rounds + sections
        input_tokens = limits.rounds * ROUND_TOKENS + sections * SECTION_TOKENS
        output_tokens = calls * kb.settings.generation.max_tokens
        price = writer.cost(input_tokens, output_tokens)
        seconds += calls * CALL_SECONDS
        plan = replace(
            plan,
            model=writer.identity,
            tokens=input_tokens + output_tokens,
            cost=round(price.dollars, 6),
            priced=price.known,
        )
    return replace(plan, searches=searches, seconds=round(min(limits.seconds, seconds), 1))


# --- the topic of the question, and the first search ---------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstLook:
    """The result of the first search.

    Attributes:
        filters: the limits of the search; ``relaxed`` are limits of the question it ignored.
        whole: documents asked about as a whole; in this case nothing was searched.
    """

    filters: Filters
    hits: tuple[Hit, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    failures: tuple[str, ...] = ()
    whole: tuple[DocumentFacts, ...] = ()


def topic_of(analysis: Analysis) -> str:
    """The topic of the question, without phrases such as "everything about"."""
    text = analysis.subject or analysis.question
    return EVERYTHING.sub(" ", text).strip(" ?.!") or text


def subject_stems(text: str) -> frozenset[str]:
    """The stems of a text's subject, without general words for sources ("the papers")."""
    return frozenset(parse(text).topic_stems) - _SOURCES


def _look_first(kb: KnowledgeBase, analysis: Analysis) -> _FirstLook:
    """One broad search, or the documents that the question asks about as a whole."""
    if subject_stems(topic_of(analysis)) <= _COMMON:
        filters: Filters | None = analysis.filters
        for limit in analysis.constraints:
            filters = intersect_filters(filters, limit.filters) if filters else None
        listed = (
            kb.catalogue.listings.documents(filters, MAX_WHOLE_DOCUMENTS + 1) if filters else None
        )
        if filters and listed and 0 < len(listed.documents) <= MAX_WHOLE_DOCUMENTS:
            whole = tuple(document.facts for document in listed.documents)
            return _FirstLook(filters=filters, whole=whole)
    result = search_within(kb, analysis, analysis.searched, FIRST_LOOK, purpose="a first look")
    return _FirstLook(
        hits=tuple(result.hits),
        filters=result.filters,
        relaxed=result.relaxed,
        failures=result.failures,
    )


# --- facets --------------------------------------------------------------------------------------


def _facets_of(kb: KnowledgeBase, analysis: Analysis, first: _FirstLook) -> tuple[Facet, ...]:
    facet_list = _Facets(first.filters)
    if first.whole:
        for document in first.whole:
            _add_parts(kb, facet_list, document, len(first.whole))
        return tuple(facet_list.facets)
    facet_list.add("question", "In general", analysis.searched, why="the question as it was asked")
    voices = analysis.voices
    if len(voices) > 1:
        for name in voices:
            facet_list.speaker(name, analysis, "one of those whose words are asked for")
    else:
        topic = shared_topic(analysis)
        for side in analysis.sides:
            name = whole_side(side, analysis.sides)
            facet_list.add("side", name, f"{name} {topic}".strip(), why="a side of the comparison")
    for entity in analysis.entities:
        neighbours = kb.catalogue.graph.neighbours([entity.collection], entity.entity_id)
        for near in neighbours[:MAX_NEIGHBOURS]:
            title = f"{entity.title} · {near.relation.replace('_', ' ')} · {near.name}"
            why = "related in the knowledge graph"
            facet_list.add("entity", title, f"{entity.title} {near.name}", why=why)
    if len(analysis.sides) < 2:
        _add_periods(facet_list, analysis, first.hits)
    return tuple(facet_list.facets[:MAX_FACETS])


@dataclass(slots=True)
class _Facets:
    """Collects facets that stay within ``base``."""

    base: Filters
    facets: list[Facet] = field(default_factory=list)

    def add(
        self, kind: FacetKind, title: str, query: str, *, why: str, limits: Filters = NO_LIMITS
    ) -> None:
        """Add a facet unless its limits exclude everything or its title exists."""
        filters = intersect_filters(self.base, limits)
        if filters is not None and all(facet.title != title for facet in self.facets):
            facet = Facet(id="", kind=kind, title=title, query=query, filters=filters, why=why)
            self.put(facet)

    def speaker(self, name: str, analysis: Analysis, why: str) -> None:
        """Add a facet for what a speaker says about the question."""
        limits = Filters(speakers=(name,))
        self.add("speaker", name, analysis.searched, why=why, limits=limits)

    def put(self, facet: Facet) -> None:
        """Add a facet with the next number."""
        self.facets.append(replace(facet, id=f"f{len(self.facets) + 1}"))


def _add_periods(facet_list: _Facets, analysis: Analysis, hits: Sequence[Hit]) -> None:
    """Add a facet for each period with documents on at least half of the question's subject."""
    topic_stems = subject_stems(topic_of(analysis))
    dates = {
        hit.document.id: hit.document.published_at
        for hit in hits
        if len(topic_stems & parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set)
        >= MIN_SUBJECT_SHARE * len(topic_stems)
    }
    dated = sorted(day for day in dates.values() if day is not None)
    for period in periods_of(dated):
        why = f"{period.count} of the {len(dated)} dated documents found"
        window = Filters(published_from=period.since, published_to=period.until)
        facet_list.add("period", period.title, analysis.searched, why=why, limits=window)


# --- periods -------------------------------------------------------------------------------------

MIN_DATED_DOCUMENTS = 6  # dated documents needed for period facets
MAX_PERIODS = 6
DOCUMENTS_PER_PERIOD = 3  # average number of documents that a period should have


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A period with the number of documents published in it."""

    since: datetime
    until: datetime
    title: str
    count: int


def periods_of(dates: Sequence[datetime]) -> list[Period]:
    """Up to six calendar periods of equal length that contain documents, in order, or none.

    Args:
        dates: ascending.
    """
    most = min(MAX_PERIODS, len(dates) // DOCUMENTS_PER_PERIOD)
    if len(dates) < MIN_DATED_DOCUMENTS:
        return []
    months = [12 * day.year + day.month - 1 for day in dates]
    sizes = (1, 3, 6, *range(12, months[-1] + 13, 12))
    size = next(size for size in sizes if months[-1] // size - months[0] // size < most)
    counts = Counter(month // size for month in months)
    if len(counts) < 2:
        return []
    return [_period(at * size, at * size + size - 1, counts[at]) for at in sorted(counts)]


def _period(first: int, last: int, count: int) -> Period:
    (begin_year, begin), (year, month) = divmod(first, 12), divmod(last, 12)
    until = datetime(year, month + 1, calendar.monthrange(year, month + 1)[1], 23, 59, 59, 999_999)
    if begin == 0 and month == 11:
        names = [str(begin_year), str(year)]
        title = names[0] if begin_year == year else "–".join(names)
    else:
        names = [f"{begin_year}-{begin + 1:02}", f"{year}-{month + 1:02}"]
        title = names[0] if first == last else " to ".join(names)
    since = datetime(begin_year, begin + 1, 1, tzinfo=UTC)
    return Period(since=since, until=until.replace(tzinfo=UTC), title=title, count=count)


# --- the parts of a document ---------------------------------------------------------------------

MAX_PARTS = 12  # per document
SECTION_LEVELS = 3
MIN_STRETCH_PASSAGES = 4  # minimum
HEAD_WORDS = 3


def _add_parts(
    kb: KnowledgeBase, facet_list: _Facets, document: DocumentFacts, documents: int
) -> None:
    """Add facets for the parts of a document, sharing the maximum among ``documents`` documents."""
    passages = [
        passage
        for passage in kb.catalogue.passages_of([document.id])
        if passage.version == document.version
    ]
    marks = Marks(kb.catalogue.marks([document.id])[document.id])
    most = min(MAX_PARTS, MAX_FACETS // documents)
    for name, part in _headed(passages, marks, most) or _stretches(passages, marks, most):
        title = f"{document.title}: {name}" if documents > 1 else name
        if any(facet.title == title for facet in facet_list.facets):
            title = f"{title} ({len(facet_list.facets) + 1})"
        facet_list.put(
            Facet(
                id="",
                kind="section",
                title=title,
                query=title,
                filters=facet_list.base,
                why=f"a part of “{document.title}”",
                passages=tuple(passage.id for passage in part),
            )
        )


def _headed(
    passages: Sequence[Passage], marks: Marks, most: int
) -> list[tuple[str, list[Passage]]]:
    for depth in range(SECTION_LEVELS, 0, -1):
        runs = [
            (path, list(part))
            for path, part in groupby(passages, lambda one: marks.heading(one.span)[:depth])  # noqa: B023 - read at once
        ]
        if len({path for path, _ in runs if path}) > 1 and len(runs) <= most:
            return [(path[-1] if path else "Beginning", part) for path, part in runs]
    return []


def _stretches(
    passages: Sequence[Passage], marks: Marks, most: int
) -> Iterator[tuple[str, Sequence[Passage]]]:
    """Equal stretches, each titled with its start time and its most distinctive words."""
    count = min(most, max(1, len(passages) // MIN_STRETCH_PASSAGES), len(passages))
    cuts = [len(passages) * at // count for at in range(count + 1)] if count else []
    parts = [passages[start_time:end] for start_time, end in pairwise(cuts)]
    bags = [Counter(word for one in part for word in topic_words(one.text)) for part in parts]
    spread = Counter(word for bag in bags for word in bag)
    for number, (part, bag) in enumerate(zip(parts, bags, strict=True), 1):
        worth = {
            word: times * math.log((1 + len(bags)) / spread[word])
            for word, times in bag.items()
            if times > 1
        }
        heads = sorted(worth, key=lambda word: (-worth[word], word))[:HEAD_WORDS]
        words = ", ".join(heads) or f"part {number}"
        start_time = marks.locate(part[0].span).begin
        at = f"{format_time(start_time)} · " if start_time is not None else ""
        yield f"{at}{words[:1].upper()}{words[1:]}", part


def topic_words(text: str) -> list[str]:
    """The topic words of ``text``, in lower case."""
    words = (word.lower() for word in parse(text).words)
    return [word for word in words if len(word) > 2 and word.isalpha() and word not in COMMON_WORDS]
