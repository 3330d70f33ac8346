"""Plans a research run: derives the facets of a question from a first search of the material.

No model is used. Facets are sides of a comparison, requested speakers, graph neighbours of named
entities, and periods. A document that is asked about as a whole is split into parts: at its
headings, or into equal stretches titled with their most distinctive words.
"""

from __future__ import annotations

import calendar
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby, pairwise

from anyio import to_thread

from wellread.ask.plan import analyse_within
from wellread.ask.planning_call import read_turn
from wellread.ask.retrieve.direct import complete_side, shared_topic
from wellread.ask.retrieve.search import intersect_filters, narrowed, search_within
from wellread.ask.understand.conversation import SessionQuestion, preferences_for, resolve_follow_up
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.text.english import ALL_THERE_IS, COMMON_WORDS, DOCUMENT_NOUNS, EVERYTHING, SUMMING_UP
from wellread.text.parsed import parse
from wellread.types import DocumentFacts, Filters, Hit, Passage
from wellread.values.answers import Question
from wellread.values.locators import Marks, format_time
from wellread.values.question import Analysis
from wellread.values.reports import MAX_FACETS, Facet, Limits, ResearchPlan

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with the filters of its searches and the notes that a reader of the report needs.

    Attributes:
        relaxed: limits of the question that matched nothing and were ignored.
        failures: steps that failed and were skipped, as text.
        whole: whether documents are summarized as a whole.
    """

    plan: ResearchPlan
    filters: Filters
    relaxed: tuple[str, ...]
    failures: tuple[str, ...]
    whole: bool


async def turn_of(kb: KnowledgeBase, question: Question) -> SessionQuestion:
    """Return the question as a turn; a follow-up is resolved with the earlier turns."""
    vocabulary = await to_thread.run_sync(vocabulary_of, kb, question.filters.collections)
    turn = await resolve_follow_up(kb, question, vocabulary)
    return (await read_turn(kb, turn, vocabulary)).turn if turn.earlier else turn


def analyse_turn(kb: KnowledgeBase, turn: SessionQuestion) -> Analysis:
    """Return the analysis of the question, with its user's preferences."""
    vocabulary = vocabulary_of(kb, turn.question.filters.collections)
    analysis = analyse_within(kb, turn.question, vocabulary)
    turn = replace(turn, liking=preferences_for(kb, turn.question.owner))
    return replace(turn.add_conversation(analysis, analysis.respelt), mode="deep")


def plan_of(
    kb: KnowledgeBase, analysis: Analysis, limits: Limits, facets: tuple[Facet, ...] = ()
) -> Planned:
    """Plan a run from a first broad search of the material.

    If the question asks about documents as a whole, their parts are the facets, without a search.

    Args:
        facets: the facets of a plan that was shown before; they replace the derived ones.
    """
    filters, whole = _whole_documents(kb, analysis)
    relaxed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    if whole:
        proposed = _parts_of(kb, whole)
        documents = len(whole)
    else:
        result = search_within(kb, analysis, analysis.searched, FIRST_LOOK)
        filters, failures = result.filters, result.failures
        relaxed = tuple(limit.value for limit in result.relaxed)
        proposed = _facets_of(kb, analysis, result.hits)
        documents = len({hit.document.id for hit in result.hits})
    plan = ResearchPlan(
        question=analysis.question,
        facets=facets or _numbered(proposed, filters),
        searches=0,
        seconds=0.0,
        documents=documents,
    )
    return Planned(
        plan=_with_estimate(kb, plan, limits),
        filters=filters,
        relaxed=relaxed,
        failures=failures,
        whole=bool(whole),
    )


def _with_estimate(kb: KnowledgeBase, plan: ResearchPlan, limits: Limits) -> ResearchPlan:
    title_searches = MAX_TITLE_SEARCHES if limits.rounds > 1 else 0
    facet_searches = sum(not facet.passages for facet in plan.facets)
    searches = min(limits.searches, title_searches + facet_searches)
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


def edit_plan(
    kb: KnowledgeBase,
    plan: ResearchPlan,
    limits: Limits,
    titles: Mapping[str, str],
    added: Sequence[str] = (),
) -> ResearchPlan:
    """Return ``plan`` with some of its parts, renamed or not, and with new ones.

    A part whose search names it is searched for by its new name.

    Args:
        titles: the titles of the parts that stay, by id.
        added: the titles of new parts, which keep to the limits of the question.
    """
    facets = []
    for facet in plan.facets:
        title = titles.get(facet.id, "").strip()
        if title and title != facet.title and facet.kind != "period":
            facet = replace(facet, query=facet.query.replace(facet.title, title))
        if title:
            facets.append(replace(facet, title=title))
    within = plan.facets[0].filters if plan.facets else Filters()
    for number, title in enumerate(filter(None, map(str.strip, added)), len(plan.facets) + 1):
        new = Facet(id=f"f{number}", kind="section", title=title, query=title, filters=within)
        facets.append(replace(new, why="added by you"))
    if not 0 < len(facets) <= MAX_FACETS:
        raise RequestError(
            f"the plan has {len(facets)} parts", hint=f"keep or add 1 to {MAX_FACETS} of them"
        )
    return _with_estimate(kb, replace(plan, facets=tuple(facets)), limits)


# --- the topic of the question, and documents asked about as a whole ------------------------------


def topic_of(analysis: Analysis) -> str:
    """Return the topic of the question, without phrases such as "everything about"."""
    text = analysis.subject or analysis.question
    return EVERYTHING.sub(" ", text).strip(" ?.!") or text


def subject_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's subject, without general words for sources ("the papers")."""
    return frozenset(parse(text).topic_stems) - _SOURCES


def _whole_documents(
    kb: KnowledgeBase, analysis: Analysis
) -> tuple[Filters, tuple[DocumentFacts, ...]]:
    """The limits of the question, and the few documents it asks about as a whole, if it does."""
    filters = narrowed(analysis.filters, analysis.constraints)
    if filters is None or not subject_stems(topic_of(analysis)) <= _COMMON:
        return analysis.filters, ()
    listed = kb.catalogue.listings.documents(filters, MAX_WHOLE_DOCUMENTS + 1).documents
    if len(listed) > MAX_WHOLE_DOCUMENTS:
        return analysis.filters, ()
    return filters, tuple(document.facts for document in listed)


# --- facets --------------------------------------------------------------------------------------


def _numbered(proposed: Iterable[Facet], limits: Filters) -> tuple[Facet, ...]:
    """Number the facets that have results within the limits; of equal titles only the first."""
    facets: dict[str, Facet] = {}
    for facet in proposed:
        filters = intersect_filters(limits, facet.filters)
        if filters is not None and facet.title not in facets and len(facets) < MAX_FACETS:
            number = len(facets) + 1
            facets[facet.title] = replace(facet, id=f"f{number}", filters=filters)
    return tuple(facets.values())


def _facets_of(kb: KnowledgeBase, analysis: Analysis, hits: Sequence[Hit]) -> Iterator[Facet]:
    general = Facet(id="", kind="question", title="In general", query=analysis.searched)
    yield replace(general, why="the question as it was asked")
    if len(analysis.voices) > 1:
        why = "one of those whose words are asked for"
        for name in analysis.voices:
            limits = Filters(speakers=(name,))
            yield replace(general, kind="speaker", title=name, filters=limits, why=why)
    else:
        topic = shared_topic(analysis)
        for side in analysis.sides:
            name = complete_side(side, analysis.sides)
            query, why = f"{name} {topic}".strip(), "a side of the comparison"
            yield Facet(id="", kind="side", title=name, query=query, why=why)
    for entity in analysis.entities:
        neighbours = kb.catalogue.graph.neighbours([entity.collection], entity.entity_id)
        for other in neighbours[:MAX_NEIGHBOURS]:
            title = f"{entity.title} · {other.relation.replace('_', ' ')} · {other.name}"
            query, why = f"{entity.title} {other.name}", "related in the knowledge graph"
            yield Facet(id="", kind="entity", title=title, query=query, why=why)
    if len(analysis.sides) < 2:
        yield from _period_facets(general, subject_stems(topic_of(analysis)), hits)


def _period_facets(general: Facet, topic: frozenset[str], hits: Sequence[Hit]) -> Iterator[Facet]:
    dates = {
        hit.document.id: hit.document.published_at
        for hit in hits
        if len(topic & parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set)
        >= MIN_SUBJECT_SHARE * len(topic)
    }
    dated = sorted(day for day in dates.values() if day is not None)
    for title, window, count in periods_of(dated):
        why = f"{count} of the {len(dated)} dated documents found"
        yield replace(general, kind="period", title=title, filters=window, why=why)


# --- periods -------------------------------------------------------------------------------------

MIN_DATED_DOCUMENTS = 6  # fewer give no period facets
MAX_PERIODS = 6
DOCUMENTS_PER_PERIOD = 3  # average number of documents that a period should have


def periods_of(dates: Sequence[datetime]) -> list[tuple[str, Filters, int]]:
    """Return up to six calendar periods of equal length that contain documents, in order.

    Each is a title, the window as filters, and the number of documents in it. There are none if
    ``dates``, which are ascending, are too few or in one period.
    """
    limit = min(MAX_PERIODS, len(dates) // DOCUMENTS_PER_PERIOD)
    if len(dates) < MIN_DATED_DOCUMENTS:
        return []
    months = [12 * day.year + day.month - 1 for day in dates]
    sizes = (1, 3, 6, *range(12, months[-1] + 13, 12))
    size = next(size for size in sizes if months[-1] // size - months[0] // size < limit)
    counts = Counter(month // size for month in months)
    if len(counts) < 2:
        return []
    return [(*_period(n * size, n * size + size - 1), counts[n]) for n in sorted(counts)]


def _period(first: int, last: int) -> tuple[str, Filters]:
    """Return the title and the window from one month to another, both counted from the year 0."""
    (begin_year, begin), (year, month) = divmod(first, 12), divmod(last, 12)
    until = datetime(year, month + 1, calendar.monthrange(year, month + 1)[1], 23, 59, 59, 999_999)
    if begin == 0 and month == 11:
        names = [str(begin_year), str(year)]
        title = names[0] if begin_year == year else "–".join(names)
    else:
        names = [f"{begin_year}-{begin + 1:02}", f"{year}-{month + 1:02}"]
        title = names[0] if first == last else " to ".join(names)
    since = datetime(begin_year, begin + 1, 1, tzinfo=UTC)
    return title, Filters(published_from=since, published_to=until.replace(tzinfo=UTC))


# --- the parts of a document ---------------------------------------------------------------------

MAX_PARTS = 12  # parts of all documents together
MAX_SECTION_LEVELS = 3  # depth of headings at which a document is split
MIN_STRETCH_PASSAGES = 4  # passages per stretch
TITLE_WORDS = 3  # words in the title of a stretch


def _parts_of(kb: KnowledgeBase, documents: Sequence[DocumentFacts]) -> Iterator[Facet]:
    """Yield a facet for each part of the documents, which share the maximum of facets."""
    limit = min(MAX_PARTS, MAX_FACETS // len(documents))
    titles: set[str] = set()
    for document in documents:
        passages = [
            passage
            for passage in kb.catalogue.passages_of([document.id])
            if passage.version == document.version
        ]
        marks = Marks(kb.catalogue.marks([document.id])[document.id])
        for name, part in _sections(passages, marks, limit) or _stretches(passages, marks, limit):
            title = f"{document.title}: {name}" if len(documents) > 1 else name
            title = title if title not in titles else f"{title} ({len(titles) + 1})"
            titles.add(title)
            why, ids = f"a part of “{document.title}”", tuple(passage.id for passage in part)
            yield Facet(id="", kind="section", title=title, query=title, why=why, passages=ids)


def _sections(
    passages: Sequence[Passage], marks: Marks, limit: int
) -> list[tuple[str, list[Passage]]]:
    for depth in range(MAX_SECTION_LEVELS, 0, -1):
        runs = [
            (path, list(part))
            for path, part in groupby(passages, lambda passage: marks.heading(passage.span)[:depth])  # noqa: B023 - read at once
        ]
        if len({path for path, _ in runs if path}) > 1 and len(runs) <= limit:
            return [(path[-1] if path else "Beginning", part) for path, part in runs]
    return []


def _stretches(
    passages: Sequence[Passage], marks: Marks, limit: int
) -> Iterator[tuple[str, Sequence[Passage]]]:
    """Split into equal stretches, titled with start time and most distinctive words."""
    count = min(limit, max(1, len(passages) // MIN_STRETCH_PASSAGES), len(passages))
    cuts = [len(passages) * number // count for number in range(count + 1)] if count else []
    parts = [passages[start:end] for start, end in pairwise(cuts)]
    bags = [
        Counter(word for passage in part for word in topic_words(passage.text)) for part in parts
    ]
    spread = Counter(word for bag in bags for word in bag)
    for number, (part, bag) in enumerate(zip(parts, bags, strict=True), 1):
        weights = {
            word: times * math.log((1 + len(bags)) / spread[word])
            for word, times in bag.items()
            if times > 1
        }
        distinctive = sorted(weights, key=lambda word: (-weights[word], word))[:TITLE_WORDS]
        words = ", ".join(distinctive) or f"part {number}"
        seconds = marks.locate(part[0].span).begin
        start = f"{format_time(seconds)} · " if seconds is not None else ""
        yield f"{start}{words[:1].upper()}{words[1:]}", part


def topic_words(text: str) -> list[str]:
    """Return the topic words of ``text``, in lower case."""
    words = (word.lower() for word in parse(text).words)
    return [word for word in words if len(word) > 2 and word.isalpha() and word not in COMMON_WORDS]
