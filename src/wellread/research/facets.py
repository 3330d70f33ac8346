"""The facets of a question, read off the material that a first look finds.

Nothing is asked of a model: sides of a comparison, neighbours of the entities named, periods (cut
where counts change), speakers, values of a taxonomy, and sections of a document that is asked
about as a whole or that holds most of what was found.
"""

from __future__ import annotations

import calendar
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from wellread.ask.retrieve.direct import shared_topic, whole_side
from wellread.ask.retrieve.relax import both, search_within
from wellread.ask.retrieve.retrieval import SearchTrace
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, Constraint
from wellread.reports import MOST_FACETS, Facet, FacetKind
from wellread.research.document_sections import MOST_PARTS, parts_of_document
from wellread.text.english_catalogue import ALL_THERE_IS, DOCUMENT_NOUNS, SUMMING_UP
from wellread.text.english_common import COMMON_WORDS
from wellread.text.english_types import EVERYTHING
from wellread.text.parsed import parse
from wellread.types import DocumentFacts, Filters, Hit

FIRST_LOOK = 200  # passages of the search that the facets are read off
MOST_NEIGHBOURS = 6  # of the entities named
MOST_SPEAKERS = 5
LEAST_SAID = 3  # passages in which somebody has to speak
MOST_VALUES = 6  # of one dimension of the taxonomy
LEAST_DOCUMENTS = 4  # that a value of the taxonomy is read off
MOST_WHOLE = 3  # documents that can be told section by section
HOLDING = 0.5  # share of the best passages in one document, from which its sections are facets
BEST = 20
ABOUT = 0.5  # share of the subject's words, from which a passage is about it
_SOURCES = frozenset(
    stem for word in DOCUMENT_NOUNS | ALL_THERE_IS | SUMMING_UP for stem in parse(word).stems
)
_COMMON = frozenset(stem for word in COMMON_WORDS for stem in parse(word).stems)
ANY = Filters()  # no limit at all


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLook:
    """What one wide search found.

    Attributes:
        filters: the limits that it kept to; ``relaxed`` are those of the question left out.
        whole: documents that are asked about as a whole; then nothing was searched for.
    """

    hits: tuple[Hit, ...]
    filters: Filters
    relaxed: tuple[Constraint, ...] = ()
    failures: tuple[str, ...] = ()
    traces: tuple[SearchTrace, ...] = ()
    whole: tuple[DocumentFacts, ...] = ()

    @property
    def documents(self) -> list[DocumentFacts]:
        """The documents found, the best first."""
        return list({hit.document.id: hit.document for hit in self.hits}.values())


def topic_of(analysis: Analysis) -> str:
    """What the question is about, without "everything about"."""
    text = analysis.subject or analysis.question
    return EVERYTHING.sub(" ", text).strip(" ?.!") or text


def topic_stems(analysis: Analysis) -> frozenset[str]:
    """The stems of what the question is about, without words of asking and of any source."""
    return subject_stems(topic_of(analysis))


def subject_stems(text: str) -> frozenset[str]:
    """The stems of what a text asks about, without words for any source ("the papers")."""
    return frozenset(parse(text).topic_stems) - _SOURCES


def look_first(kb: KnowledgeBase, analysis: Analysis) -> FirstLook:
    """One wide search; for a question about some documents as a whole, those documents.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as ``search_within``.
    """
    if topic_stems(analysis) <= _COMMON:
        limits = [one.filters for one in analysis.constraints]
        filters: Filters | None = analysis.filters
        for one in limits:
            filters = both(filters, one) if filters else None
        listed = kb.catalogue.listings.documents(filters, MOST_WHOLE + 1) if filters else None
        if filters and listed and 0 < len(listed.documents) <= MOST_WHOLE:
            whole = tuple(one.facts for one in listed.documents)
            return FirstLook(hits=(), filters=filters, whole=whole)
    found = search_within(kb, analysis, analysis.searched, FIRST_LOOK, purpose="a first look")
    return FirstLook(
        hits=tuple(found.hits),
        filters=found.filters,
        relaxed=found.relaxed,
        failures=found.failures,
        traces=found.traces,
    )


def facets_of(kb: KnowledgeBase, analysis: Analysis, first: FirstLook) -> tuple[Facet, ...]:
    """What to look for; at least the question itself, as the first of them.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    made = _Made(base=first.filters)
    if first.whole:
        for document in first.whole:
            _sections(kb, made, document, len(first.whole))
        return tuple(made.facets)
    made.add("question", "In general", analysis.searched, why="the question as it was asked")
    voices = analysis.voices
    for name in voices if len(voices) > 1 else ():
        why = "one of those whose words are asked for"
        made.add("speaker", name, analysis.searched, why=why, limits=Filters(speakers=(name,)))
    if len(voices) < 2:
        _sides(made, analysis)
    _neighbours(kb, made, analysis)
    about = _about(analysis, first.hits)
    if len(analysis.sides) < 2:
        _periods(made, analysis, about)
        if not voices:
            _speakers(made, analysis, about)
        _values(kb, made, analysis, about)
        _best_document(kb, made, analysis, first.hits)
    return tuple(made.facets[:MOST_FACETS])


@dataclass(slots=True)
class _Made:
    """The facets so far."""

    base: Filters
    facets: list[Facet] = field(default_factory=list)

    def add(
        self, kind: FacetKind, title: str, query: str, *, why: str, limits: Filters = ANY
    ) -> None:
        """One more, unless its limits leave nothing or its title is taken."""
        filters = both(self.base, limits)
        if filters is None or any(one.title == title for one in self.facets):
            return
        number = f"f{len(self.facets) + 1}"
        self.facets.append(
            Facet(id=number, kind=kind, title=title, query=query, filters=filters, why=why)
        )

    def read(self, title: str, passages: Sequence[str], *, why: str, query: str = "") -> None:
        """One more whose passages are known."""
        if any(one.title == title for one in self.facets):
            title = f"{title} ({len(self.facets) + 1})"
        number = f"f{len(self.facets) + 1}"
        self.facets.append(
            Facet(
                id=number,
                kind="section",
                title=title,
                query=query or title,
                filters=self.base,
                why=why,
                passages=tuple(passages),
            )
        )


def _about(analysis: Analysis, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that hold at least half of what the question is about."""
    asked = topic_stems(analysis)
    if not asked:
        return list(hits)
    held = [
        len(asked & parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set) for hit in hits
    ]
    return [hit for hit, count in zip(hits, held, strict=True) if count >= ABOUT * len(asked)]


def _sides(made: _Made, analysis: Analysis) -> None:
    topic = shared_topic(analysis)
    for side in analysis.sides:
        name = whole_side(side, analysis.sides)
        made.add("side", name, f"{name} {topic}".strip(), why="a side of the comparison")


def _neighbours(kb: KnowledgeBase, made: _Made, analysis: Analysis) -> None:
    """A facet for each of the first neighbours of the entities that the question names."""
    for entity in analysis.entities:
        known = kb.catalogue.graph.neighbours([entity.collection], entity.entity_id)
        for near in known[:MOST_NEIGHBOURS]:
            made.add(
                "entity",
                f"{entity.title} · {near.relation.replace('_', ' ')} · {near.name}",
                f"{entity.title} {near.name}",
                why="related in the knowledge graph",
            )


def _periods(made: _Made, analysis: Analysis, about: Sequence[Hit]) -> None:
    dates = {hit.document.id: hit.document.published_at for hit in about}
    dated = sorted(day for day in dates.values() if day is not None)
    for period in periods_of(dated):
        why = f"{period.count} of the {len(dated)} dated documents found"
        window = Filters(published_from=period.since, published_to=period.until)
        made.add("period", period.title, analysis.searched, why=why, limits=window)


def _speakers(made: _Made, analysis: Analysis, about: Sequence[Hit]) -> None:
    said = Counter(name for hit in about for name in dict.fromkeys(hit.passage.speakers))
    known = [
        (name, count) for name, count in said.most_common(MOST_SPEAKERS) if count >= LEAST_SAID
    ]
    for name, count in known if len(known) > 1 else ():
        why = f"speaks in {count} of the passages found"
        made.add("speaker", name, analysis.searched, why=why, limits=Filters(speakers=(name,)))


def _values(kb: KnowledgeBase, made: _Made, analysis: Analysis, about: Sequence[Hit]) -> None:
    """A facet for each of the most frequent values of the taxonomy among the documents found."""
    ids = tuple(dict.fromkeys(hit.document.id for hit in about))
    if len(ids) < LEAST_DOCUMENTS:
        return
    page = kb.catalogue.listings.documents(Filters(document_ids=ids), len(ids))
    found = Counter(
        (dimension, value)
        for one in page.documents
        for dimension, values in one.taxonomy.items()
        for value in values
    )
    told = Counter(dimension for dimension, _ in found)
    several = [(pair, count) for pair, count in found.most_common() if told[pair[0]] > 1]
    for (dimension, value), count in several[:MOST_VALUES]:
        made.add(
            "taxonomy",
            f"{dimension}: {value}",
            analysis.searched,
            why=f"{count} of the documents found",
            limits=Filters(taxonomy=((dimension, value),)),
        )


def _best_document(kb: KnowledgeBase, made: _Made, analysis: Analysis, hits: Sequence[Hit]) -> None:
    """The sections of the document that holds most of the best passages."""
    best = Counter(hit.document.id for hit in hits[:BEST])
    if not best:
        return
    known, count = best.most_common(1)[0]
    if count < HOLDING * min(BEST, len(hits)):
        return
    document = next(hit.document for hit in hits if hit.document.id == known)
    found = {hit.passage.id for hit in hits}
    for part in parts_of_document(kb, document):
        held = [passage for passage in part.passages if passage in found]
        if part.headed and held:
            made.read(
                part.title,
                held,
                why=f"a section of “{document.title}”",
                query=f"{analysis.searched} {part.title}",
            )


def _sections(kb: KnowledgeBase, made: _Made, document: DocumentFacts, documents: int) -> None:
    """The parts of one of so many documents, so that all of them together find room."""
    for part in parts_of_document(kb, document, min(MOST_PARTS, MOST_FACETS // documents)):
        title = f"{document.title}: {part.title}" if documents > 1 else part.title
        made.read(title, part.passages, why=f"a part of “{document.title}”")


# --- periods: natural breaks after Fisher, "On Grouping for Maximum Homogeneity", JASA 1958 ------

LEAST_DATED = 6  # documents, from which periods are worth a search each
MOST = 6
OF_A_PERIOD = 3  # documents, on average, that a period should have
LONGEST_BY_MONTH, LONGEST_BY_QUARTER = 18, 48  # months


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From the first to the last moment, and how many documents are from then."""

    since: datetime
    until: datetime
    title: str
    count: int


def periods_of(dates: Sequence[datetime]) -> list[Period]:
    """At most six periods, in order, each with a document; none where they would tell nothing.

    Args:
        dates: ascending.
    """
    if len(dates) < LEAST_DATED:
        return []
    months = [_month(day) for day in dates]
    first, last = months[0], months[-1]
    length = last - first + 1
    size = 1 if length <= LONGEST_BY_MONTH else 3 if length <= LONGEST_BY_QUARTER else 12
    start = first - first % size
    buckets = [0] * ((last - start) // size + 1)
    for month in months:
        buckets[(month - start) // size] += 1
    wanted = min(MOST, len(dates) // OF_A_PERIOD, len(buckets))
    if wanted < 2:
        return []
    found = []
    for begin, end in _breaks(buckets, wanted):
        count = sum(buckets[begin:end])
        if count:
            found.append(_period(start + begin * size, start + end * size - 1, count))
    return found if len(found) > 1 else []


def _month(day: datetime) -> int:
    return 12 * day.year + day.month - 1


def _period(first: int, last: int, count: int) -> Period:
    year, month = divmod(last, 12)
    end = calendar.monthrange(year, month + 1)[1]
    since = datetime(first // 12, first % 12 + 1, 1, tzinfo=UTC)
    until = datetime(year, month + 1, end, 23, 59, 59, 999_999, tzinfo=UTC)
    return Period(since=since, until=until, title=_title(first, last), count=count)


def _title(first: int, last: int) -> str:
    if first % 12 == 0 and last % 12 == 11:
        years = (first // 12, last // 12)
        return str(years[0]) if years[0] == years[1] else f"{years[0]}–{years[1]}"
    names = [f"{month // 12}-{month % 12 + 1:02}" for month in (first, last)]
    return names[0] if first == last else f"{names[0]} to {names[1]}"


def _breaks(counts: Sequence[int], parts: int) -> list[tuple[int, int]]:
    """``counts`` in ``parts`` runs whose squared distances from their means are least."""
    size = len(counts)
    sums, squares = [0], [0]
    for count in counts:
        sums.append(sums[-1] + count)
        squares.append(squares[-1] + count * count)

    def spread(begin: int, end: int) -> float:
        total = sums[end] - sums[begin]
        return squares[end] - squares[begin] - total * total / (end - begin)

    best = [[0.0] * (size + 1) for _ in range(parts + 1)]
    cut = [[0] * (size + 1) for _ in range(parts + 1)]
    for end in range(1, size + 1):
        best[1][end] = spread(0, end)
    for part in range(2, parts + 1):
        for end in range(part, size + 1):
            options = [(best[part - 1][at] + spread(at, end), at) for at in range(part - 1, end)]
            best[part][end], cut[part][end] = min(options)
    runs: list[tuple[int, int]] = []
    end = size
    for part in range(parts, 0, -1):
        begin = cut[part][end] if part > 1 else 0
        runs.append((begin, end))
        end = begin
    return runs[::-1]
