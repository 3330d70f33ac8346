"""Trends: how many documents name a topic in each period, and how their share changed.

Shares, not counts, are compared: an archive that grows names everything more often. No tone is
told: the small sentiment libraries in use are word lists for English reviews and posts, and are
kept up no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from wellread.ask.aggregate.queries.holding import documents_about, nodes_of
from wellread.ask.aggregate.queries.query import PERIODS, CatalogueQuery, Period, Topic
from wellread.ask.aggregate.queries.result import AggregateResult, Row, Scope, amount, day, times
from wellread.ask.aggregate.queries.showing import places_naming
from wellread.store.catalogue.documents.aggregates import Entry
from wellread.text.parsed import parse

STRATEGY = "counted by period in the catalogue"
COLUMNS = ("Period", "Documents", "Of", "Share", "Named")
LEAST_DOCUMENTS = 3  # with a date; fewer show no trend
LONGEST_BY_MONTH, LONGEST_BY_QUARTER = 550, 5 * 366  # days
CLEAR = 1.25  # how many times the share of the first third the last one has to be
RELATED = 5
MOST_STORIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """One period: all dated documents of it, and those that name the topic."""

    start: date
    all: int
    ids: tuple[str, ...]
    named: int

    @property
    def share(self) -> float:
        return len(self.ids) / self.all if self.all else 0.0


def trends(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Documents on the topic by period; None with too few dated documents."""
    if query.about is None:
        return None
    topic = replace(query.about, naming=True)
    held = documents_about(scope, topic)
    dated = [entry for entry in scope.entries() if entry.published_at]
    on_topic = [entry for entry in dated if held.counts.get(entry.id)]
    if len(on_topic) < LEAST_DOCUMENTS:
        return None
    period = next((one for one in PERIODS if one in query.by), _period_for(dated))
    counted = _by_period(dated, held.counts, period)
    limits = "".join(f", {part}" for part in scope.said)
    method = (
        f"{held.method}, by {period} of publication, as a share of all {len(dated):,} dated "
        f"documents{limits} in {scope.where}; the last {period} may not be over"
    )
    places = places_naming(scope, topic, [entry.id for entry in on_topic])
    sentence = _sentence(topic, on_topic, dated, counted, period)
    return AggregateResult(
        strategy=STRATEGY,
        kind="trend",
        sentence=f"{sentence}{_beside(scope, topic, on_topic)}",
        number=len(on_topic),
        columns=COLUMNS,
        rows=tuple(
            Row(
                cells=(
                    _named(one.start, period),
                    f"{len(one.ids):,}",
                    f"{one.all:,}",
                    _percent(one.share),
                    f"{one.named:,}",
                ),
                document_ids=one.ids,
                line=_line(one, period),
                places=tuple(places[known] for known in one.ids if known in places),
            )
            for one in counted
        ),
        method=method,
    )


def _period_for(dated: Sequence[Entry]) -> Period:
    moments = [entry.published_at for entry in dated if entry.published_at]
    days = (max(moments) - min(moments)).days
    if days <= LONGEST_BY_MONTH:
        return "month"
    return "quarter" if days <= LONGEST_BY_QUARTER else "year"


def _by_period(dated: Sequence[Entry], counts: dict[str, int], period: Period) -> list[_Count]:
    """Every period from the first dated document to the last, also the empty ones."""
    groups: dict[date, list[Entry]] = {}
    for entry in dated:
        if entry.published_at:
            groups.setdefault(_start(entry.published_at, period), []).append(entry)
    found = []
    start = min(groups)
    while start <= max(groups):
        inside = groups.get(start, [])
        ids = tuple(entry.id for entry in inside if counts.get(entry.id))
        named = sum(counts[known] for known in ids)
        found.append(_Count(start=start, all=len(inside), ids=ids, named=named))
        start = _next(start, period)
    return found


def _start(moment: datetime, period: Period) -> date:
    months = {"month": 1, "quarter": 3, "year": 12}[period]
    return date(moment.year, months * ((moment.month - 1) // months) + 1, 1)


def _next(start: date, period: Period) -> date:
    months = start.month - 1 + {"month": 1, "quarter": 3, "year": 12}[period]
    return date(start.year + months // 12, months % 12 + 1, 1)


def _named(start: date, period: Period) -> str:
    if period == "month":
        return f"{start:%Y-%m}"
    return f"{start:%Y}" + (f" Q{start.month // 3 + 1}" if period == "quarter" else "")


def _line(one: _Count, period: Period) -> str:
    """``2025-03: 1 of 2 documents (50 %), named 3 times``."""
    name = _named(one.start, period)
    if not one.all:
        return f"{name}: no documents"
    documents = amount(one.all, "document", "documents")
    often = f", named {times(one.named)}" if one.named else ""
    return f"{name}: {len(one.ids):,} of {documents} ({_percent(one.share)}){often}"


def _sentence(
    topic: Topic,
    on_topic: Sequence[Entry],
    dated: Sequence[Entry],
    counted: Sequence[_Count],
    period: Period,
) -> str:
    third = max(1, len(counted) // 3)
    before, after = _share_of(counted[:third]), _share_of(counted[-third:])
    if after >= CLEAR * before and after > before:
        change = "more than before"
    elif before >= CLEAR * after and before > after:
        change = "less than before"
    else:
        change = "about as much as before"
    peak = max(counted, key=lambda one: (one.share, len(one.ids)))
    names = topic.quoted
    return (
        f"{names} is named in {len(on_topic):,} of {len(dated):,} dated documents, "
        f"{change}: in {_percent(before)} of those in the first third of the time and "
        f"{_percent(after)} in the last; first on {day(on_topic[0].published_at)}, last on "
        f"{day(on_topic[-1].published_at)}, the largest share in {_named(peak.start, period)} "
        f"({len(peak.ids):,} of {peak.all:,})."
    )


def _beside(scope: Scope, topic: Topic, on_topic: Sequence[Entry]) -> str:
    """What is named together with the topic, and the stories that tell of it, in words."""
    nodes = [node for name in topic.names for node in nodes_of(scope, name)]
    names = {known for node in nodes for known in (node.title, *node.aliases)}
    together = _together(scope, {(node.collection, node.id) for node in nodes}, on_topic)
    titles = _stories(scope, names or {name.phrase for name in topic.names}, on_topic)
    words_of = f" Often named with it: {', '.join(together)}." if together else ""
    return words_of + (f" Stories that tell of it: {'; '.join(titles)}." if titles else "")


def _together(scope: Scope, own: set[tuple[str, str]], on_topic: Sequence[Entry]) -> list[str]:
    """Entities that the same documents name, those first that are seldom named elsewhere."""
    catalogue = scope.kb.catalogue
    totals = catalogue.graph.mention_totals(scope.collections)
    ids: dict[str, list[str]] = {}
    for entry in on_topic:
        ids.setdefault(entry.collection, []).append(entry.id)
    weights: dict[str, float] = {}
    for collection, known in ids.items():
        for entity, number in catalogue.censuses.named_in(collection, known).items():
            node = catalogue.graph.entity(collection, entity)
            total = totals.get((collection, entity))
            if node and total and (collection, entity) not in own and number >= LEAST_DOCUMENTS:
                weights[node.title] = number * number / total.documents
    return sorted(weights, key=lambda name: (-weights[name], name))[:RELATED]


def _stories(scope: Scope, names: set[str], on_topic: Sequence[Entry]) -> list[str]:
    """The stories with items in these documents whose title names the topic, most items first."""
    stories = scope.kb.catalogue.stories
    places = stories.places([entry.id for entry in on_topic])
    counts = Counter(story for held in places.values() for story in {one.story_id for one in held})
    wanted = [set(parse(name).stems) for name in names if parse(name).stems]
    told = [
        one
        for one in stories.told(list(counts))
        if any(stems <= set(parse(one.title).stems) for stems in wanted)
    ]
    told.sort(key=lambda one: (-counts[one.id], one.title))
    return [
        f"“{one.title}” ({day(one.first_at)} to {day(one.last_at)})" for one in told[:MOST_STORIES]
    ]


def _share_of(counted: Sequence[_Count]) -> float:
    whole = sum(one.all for one in counted)
    return sum(len(one.ids) for one in counted) / whole if whole else 0.0


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
