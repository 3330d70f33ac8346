"""The plan of a run: the facets of a question, read off the material that a first look finds.

Nothing is asked of a model: sides of a comparison, people whose words are asked for, neighbours of
the entities named, and periods. A document that is asked about as a whole is told part by part: by
its headings, else in equal stretches that are called by the words which the others do not have.
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
from wellread.ask.retrieve.relax import both, search_within
from wellread.ask.understand.conversation import Opened, opened, preferences_for
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.text.english_common import (
    ALL_THERE_IS,
    COMMON_WORDS,
    DOCUMENT_NOUNS,
    EVERYTHING,
    SUMMING_UP,
)
from wellread.text.parsed import parse
from wellread.types import DocumentFacts, Filters, Hit, Passage
from wellread.values.answers import Question
from wellread.values.locators import Marks, format_time
from wellread.values.question import Analysis, Constraint
from wellread.values.reports import (
    MOST_FACETS,
    Facet,
    FacetKind,
    Limits,
    ResearchPlan,
    ResearchRequest,
)

FIRST_LOOK = 200  # passages of the search that the facets are read off
MOST_NEIGHBOURS = 6  # of the entities named
MOST_WHOLE = 3  # documents that can be told part by part
ABOUT = 0.5  # share of the subject's words, from which a passage is about it
MOST_TITLES = 10  # searches for titles that the evidence names, at most, and for what names them
SEARCH_SECONDS, WRITE_SECONDS = 0.06, 2.0  # roughly, on two cores
CALL_SECONDS = 15.0  # of a language model
ROUND_TOKENS, SECTION_TOKENS = 6_000, 3_000  # read in one call; as many as may be are written
_SOURCES = frozenset(
    stem for word in DOCUMENT_NOUNS | ALL_THERE_IS | SUMMING_UP for stem in parse(word).stems
)
_COMMON = frozenset(stem for word in COMMON_WORDS for stem in parse(word).stems)
ANY = Filters()  # no limit at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, and what a reader of the report has to know of how it was read.

    Attributes:
        filters: the limits that every search keeps to.
        relaxed: limits of the question that matched nothing and were left out.
        failures: steps that failed and were done without, in words.
        whole: whether documents are told as a whole.
    """

    plan: ResearchPlan
    filters: Filters
    relaxed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    whole: bool = False


async def turn_of(kb: KnowledgeBase, question: Question) -> Opened:
    """The question as it is meant after the turns before it."""
    vocabulary = await to_thread.run_sync(vocabulary_of, kb, question.filters.collections)
    turn = await opened(kb, question, vocabulary)
    return (await planned(kb, turn, vocabulary)).turn if turn.earlier else turn


def turn_to_plain(turn: Opened) -> dict[str, Any]:
    """What has to be journaled of a turn: how it was read, and its session."""
    return {
        "text": turn.question.text,
        "session": turn.question.session_id,
        "asked": turn.asked,
        "reasons": list(turn.reasons),
        "failures": list(turn.failures),
        "context": turn.context,
    }


def turn_from_plain(question: Question, plain: Mapping[str, Any]) -> Opened:
    """The turn as it was journaled."""
    return Opened(
        question=replace(question, text=plain["text"], session_id=plain["session"]),
        asked=plain["asked"],
        reasons=tuple(plain["reasons"]),
        failures=tuple(plain["failures"]),
        context=plain["context"],
    )


def understood(kb: KnowledgeBase, turn: Opened) -> Analysis:
    """What the question asks for."""
    vocabulary = vocabulary_of(kb, turn.question.filters.collections)
    analysis = read_as(kb, turn.question, vocabulary)
    turn = replace(turn, liking=preferences_for(kb, turn.question.owner))
    return replace(turn.read_as(analysis, analysis.respelt), mode="deep")


def plan_of(kb: KnowledgeBase, analysis: Analysis, request: ResearchRequest) -> Planned:
    """The plan by a first look at the material, or with the facets that were given."""
    first = _look_first(kb, analysis)
    facets = _facets_of(kb, analysis, first)
    if request.facets is not None:
        facets = _given(request.facets, first.filters)
    documents = len(first.whole or {hit.document.id for hit in first.hits})
    plan = ResearchPlan(
        question=analysis.question, facets=facets, searches=0, seconds=0.0, documents=documents
    )
    return Planned(
        plan=_estimated(kb, plan, request.limits),
        filters=first.filters,
        relaxed=tuple(limit.value for limit in first.relaxed),
        failures=first.failures,
        whole=bool(first.whole),
    )


def _given(facets: tuple[Facet, ...], border: Filters) -> tuple[Facet, ...]:
    """Facets of somebody else's making: none reaches beyond the limits of the question.

    They are numbered anew, since those that a run finds go on from their number.
    """
    if len(facets) > MOST_FACETS:
        raise RequestError(
            f"a plan may have {MOST_FACETS} parts, this one has {len(facets)}",
            hint="leave some out, or ask in two runs",
        )
    ids = {facet.id for facet in facets}
    if len(ids) < len(facets) or not all(facet.query.strip() for facet in facets):
        raise RequestError(
            "each part of a plan needs an id of its own and words to search for",
            hint="take the plan as it was shown, and change titles and queries only",
        )
    return tuple(
        replace(facet, id=f"f{number}", filters=both(border, facet.filters) or border)
        for number, facet in enumerate(facets, 1)
    )


def _estimated(kb: KnowledgeBase, plan: ResearchPlan, limits: Limits) -> ResearchPlan:
    """The plan with what it takes at most, by what such runs took."""
    later = MOST_TITLES if limits.rounds > 1 else 0
    searches = min(limits.searches, later + sum(not facet.passages for facet in plan.facets))
    seconds = searches * SEARCH_SECONDS + WRITE_SECONDS
    writer = kb.models.recorded("model")
    if writer is not None:
        sections = len(plan.facets) + 1
        calls = limits.rounds + sections
        read = limits.rounds * ROUND_TOKENS + sections * SECTION_TOKENS
        written = calls * kb.settings.generation.max_tokens
        price = writer.cost(read, written)
        seconds += calls * CALL_SECONDS
        plan = replace(
            plan,
            model=writer.identity,
            tokens=read + written,
            cost=round(price.dollars, 6),
            priced=price.known,
        )
    return replace(plan, searches=searches, seconds=round(min(limits.seconds, seconds), 1))


# --- what the question is about, and what a first look finds -------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstLook:
    """What one wide search found.

    Attributes:
        filters: the limits that it kept to; ``relaxed`` are those of the question left out.
        whole: documents that are asked about as a whole; then nothing was searched for.
    """

    filters: Filters
    hits: tuple[Hit, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    failures: tuple[str, ...] = ()
    whole: tuple[DocumentFacts, ...] = ()


def topic_of(analysis: Analysis) -> str:
    """What the question is about, without "everything about"."""
    text = analysis.subject or analysis.question
    return EVERYTHING.sub(" ", text).strip(" ?.!") or text


def subject_stems(text: str) -> frozenset[str]:
    """The stems of what a text asks about, without words for any source ("the papers")."""
    return frozenset(parse(text).topic_stems) - _SOURCES


def _look_first(kb: KnowledgeBase, analysis: Analysis) -> _FirstLook:
    """One wide search; for a question about some documents as a whole, those documents."""
    if subject_stems(topic_of(analysis)) <= _COMMON:
        filters: Filters | None = analysis.filters
        for limit in analysis.constraints:
            filters = both(filters, limit.filters) if filters else None
        listed = kb.catalogue.listings.documents(filters, MOST_WHOLE + 1) if filters else None
        if filters and listed and 0 < len(listed.documents) <= MOST_WHOLE:
            whole = tuple(document.facts for document in listed.documents)
            return _FirstLook(filters=filters, whole=whole)
    found = search_within(kb, analysis, analysis.searched, FIRST_LOOK, purpose="a first look")
    return _FirstLook(
        hits=tuple(found.hits),
        filters=found.filters,
        relaxed=found.relaxed,
        failures=found.failures,
    )


# --- facets --------------------------------------------------------------------------------------


def _facets_of(kb: KnowledgeBase, analysis: Analysis, first: _FirstLook) -> tuple[Facet, ...]:
    """What to look for; at least the question itself, as the first of them."""
    made = _Made(first.filters)
    if first.whole:
        for document in first.whole:
            _parts(kb, made, document, len(first.whole))
        return tuple(made.facets)
    made.add("question", "In general", analysis.searched, why="the question as it was asked")
    voices = analysis.voices
    if len(voices) > 1:
        for name in voices:
            made.speaker(name, analysis, "one of those whose words are asked for")
    else:
        topic = shared_topic(analysis)
        for side in analysis.sides:
            name = whole_side(side, analysis.sides)
            made.add("side", name, f"{name} {topic}".strip(), why="a side of the comparison")
    for entity in analysis.entities:
        neighbours = kb.catalogue.graph.neighbours([entity.collection], entity.entity_id)
        for near in neighbours[:MOST_NEIGHBOURS]:
            title = f"{entity.title} · {near.relation.replace('_', ' ')} · {near.name}"
            why = "related in the knowledge graph"
            made.add("entity", title, f"{entity.title} {near.name}", why=why)
    if len(analysis.sides) < 2:
        _periods(made, analysis, first.hits)
    return tuple(made.facets[:MOST_FACETS])


@dataclass(slots=True)
class _Made:
    """The facets so far, all within ``base``."""

    base: Filters
    facets: list[Facet] = field(default_factory=list)

    def add(
        self, kind: FacetKind, title: str, query: str, *, why: str, limits: Filters = ANY
    ) -> None:
        """One more, unless its limits leave nothing or its title is taken."""
        filters = both(self.base, limits)
        if filters is not None and all(facet.title != title for facet in self.facets):
            facet = Facet(id="", kind=kind, title=title, query=query, filters=filters, why=why)
            self.put(facet)

    def speaker(self, name: str, analysis: Analysis, why: str) -> None:
        """One for what somebody says about the question."""
        limits = Filters(speakers=(name,))
        self.add("speaker", name, analysis.searched, why=why, limits=limits)

    def put(self, facet: Facet) -> None:
        """One more as it is, but for its number."""
        self.facets.append(replace(facet, id=f"f{len(self.facets) + 1}"))


def _periods(made: _Made, analysis: Analysis, hits: Sequence[Hit]) -> None:
    """One for each period in which documents hold half of what the question is about."""
    asked = subject_stems(topic_of(analysis))
    dates = {
        hit.document.id: hit.document.published_at
        for hit in hits
        if len(asked & parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set)
        >= ABOUT * len(asked)
    }
    dated = sorted(day for day in dates.values() if day is not None)
    for period in periods_of(dated):
        why = f"{period.count} of the {len(dated)} dated documents found"
        window = Filters(published_from=period.since, published_to=period.until)
        made.add("period", period.title, analysis.searched, why=why, limits=window)


# --- periods -------------------------------------------------------------------------------------

LEAST_DATED = 6  # documents, from which periods are worth a search each
MOST_PERIODS = 6
OF_A_PERIOD = 3  # documents, on average, that a period should have


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From the first to the last moment, and how many documents are from then."""

    since: datetime
    until: datetime
    title: str
    count: int


def periods_of(dates: Sequence[datetime]) -> list[Period]:
    """At most six equal periods of the calendar that hold a document, in order; else none.

    Args:
        dates: ascending.
    """
    most = min(MOST_PERIODS, len(dates) // OF_A_PERIOD)
    if len(dates) < LEAST_DATED:
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

MOST_PARTS = 12  # of one document
SECTION_LEVELS = 3
PASSAGES_OF_A_STRETCH = 4  # at least
HEAD_WORDS = 3


def _parts(kb: KnowledgeBase, made: _Made, document: DocumentFacts, documents: int) -> None:
    """The parts of one of so many documents, so that all of them together find room."""
    passages = [
        passage
        for passage in kb.catalogue.passages_of([document.id])
        if passage.version == document.version
    ]
    marks = Marks(kb.catalogue.marks([document.id])[document.id])
    most = min(MOST_PARTS, MOST_FACETS // documents)
    for name, part in _headed(passages, marks, most) or _stretches(passages, marks, most):
        title = f"{document.title}: {name}" if documents > 1 else name
        if any(facet.title == title for facet in made.facets):
            title = f"{title} ({len(made.facets) + 1})"
        made.put(
            Facet(
                id="",
                kind="section",
                title=title,
                query=title,
                filters=made.base,
                why=f"a part of “{document.title}”",
                passages=tuple(passage.id for passage in part),
            )
        )


def _headed(
    passages: Sequence[Passage], marks: Marks, most: int
) -> list[tuple[str, list[Passage]]]:
    """The parts under the deepest headings of which there are not too many; else none."""
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
    """Equal stretches, each called by when it begins and the words it has more than the others."""
    count = min(most, max(1, len(passages) // PASSAGES_OF_A_STRETCH), len(passages))
    cuts = [len(passages) * at // count for at in range(count + 1)] if count else []
    parts = [passages[begin:end] for begin, end in pairwise(cuts)]
    bags = [Counter(word for one in part for word in telling_words(one.text)) for part in parts]
    spread = Counter(word for bag in bags for word in bag)
    for number, (part, bag) in enumerate(zip(parts, bags, strict=True), 1):
        worth = {
            word: times * math.log((1 + len(bags)) / spread[word])
            for word, times in bag.items()
            if times > 1
        }
        heads = sorted(worth, key=lambda word: (-worth[word], word))[:HEAD_WORDS]
        words = ", ".join(heads) or f"part {number}"
        begin = marks.locate(part[0].span).begin
        at = f"{format_time(begin)} · " if begin is not None else ""
        yield f"{at}{words[:1].upper()}{words[1:]}", part


def telling_words(text: str) -> list[str]:
    """The words of ``text`` that tell of a topic, lower case."""
    words = (word.lower() for word in parse(text).words)
    return [word for word in words if len(word) > 2 and word.isalpha() and word not in COMMON_WORDS]
