"""Reports trends: how many documents name a topic per period, and how their share changed.

Shares are compared, not counts, because a growing archive names everything more often. Sentiment is
not reported: the small sentiment libraries are unmaintained English word lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import islice, zip_longest
from urllib.parse import urlsplit

from wellread.ask.aggregate.read.holding import documents_about, nodes_of, places_naming
from wellread.ask.aggregate.read.query import PERIODS, CatalogueQuery, Period, Topic
from wellread.ask.aggregate.read.result import (
    AggregateResult,
    Place,
    Row,
    Scope,
    amount,
    day,
    in_words,
    kind_of,
    times,
)
from wellread.ask.retrieve.relax import SOURCE_KINDS
from wellread.store.catalogue.documents.listings import Entry
from wellread.store.catalogue.documents.story_records import Story, StoryItem
from wellread.text.parsed import parse
from wellread.text.sentences import QUOTED, first_sentence, shorten
from wellread.text.words import visible
from wellread.types import Filters, Span

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
    """Describe the entities named together with the topic, and the stories about it."""
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
        for entity, number in catalogue.counts.named_in(collection, known).items():
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
        for one in stories.with_text(list(counts))
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


# --- what is new, with no subject asked for: told by its first sentence --------------------------

NEWEST = "the newest of the catalogue"
MOST = 10
OPENING = 1_000  # characters of a text within which all stands equally far in front
LONGEST_SENTENCE = 300  # characters of what is told of each
STORIES = ("Title", "Date", "Sources", "Told")
DOCUMENTS = ("Title", "Date", "Kind", "Told")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

_Dated = tuple[list[datetime], list[Row]]
_Told = tuple[datetime, Story, frozenset[str] | None]


def newest(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The newest stories or documents within the limits; None without any."""
    time = _time_of(query.where)
    most = query.limit or MOST
    stories = query.of.what == "stories"
    dates, rows = (_newest_stories if stories else _documents)(scope, time, most)
    if not rows:
        return None
    one, many = ("story", "stories") if stories else ("document", "documents")
    first, last = day(min(dates)), day(max(dates))
    when = f"from {first} to {last}" if first != last else f"of {last}"
    limits = "".join(f", {part}" for part in (*scope.said, *in_words(time)))
    return AggregateResult(
        strategy=NEWEST,
        kind="list",
        sentence=f"The newest {f'{len(rows):,} {many}' if len(rows) > 1 else one}, {when}:",
        number=len(rows),
        columns=STORIES if stories else DOCUMENTS,
        rows=tuple(rows),
        method=f"{many} by the date of what is newest in them{limits}; in {scope.where}",
        clusters=len(rows) if stories else 0,
    )


def _time_of(where: Sequence[Filters]) -> Filters:
    """The period that all limits leave."""
    since = [one.published_from for one in where if one.published_from]
    until = [one.published_to for one in where if one.published_to]
    return Filters(published_from=max(since, default=None), published_to=min(until, default=None))


def _newest_stories(scope: Scope, time: Filters, most: int) -> _Dated:
    """The stories with the newest items in ``time`` and within the scope.

    A story is as new as its newest item there, and tells only of items there.
    """
    dated = [one for one in _told(scope, time, most) if one[0] != _LONG_AGO]
    dated.sort(key=lambda one: (-one[0].timestamp(), *_weight(one[1]), one[1].title))
    if time.published_from and time.published_to:
        dated = _spread(dated, most)
    rows: list[Row] = []
    shown: list[datetime] = []
    for published, story, kept in dated[:most]:
        items = [
            item
            for item in scope.kb.catalogue.stories.items(story.id)
            if item.published_at
            and _inside(item.published_at, time)
            and (kept is None or item.document.id in kept)
        ]
        if items:  # else it went in the meantime
            rows.append(_story_row(scope, story, items))
            shown.append(published)
    return shown, rows


def _weight(story: Story) -> tuple[int, int, int]:
    """Of stories of one day what more sources report comes first, then what a text opens with."""
    first = min((one.span.start for one in story.summary), default=0)
    return -story.sources, first // OPENING, -story.items


def _spread(dated: Sequence[_Told], most: int) -> list[_Told]:
    """``most`` stories of all days of a time, not of its last day alone: each day's first first."""
    days: dict[date, list[_Told]] = {}
    for one in dated:
        days.setdefault(one[0].date(), []).append(one)
    turns = (one for turn in zip_longest(*days.values()) for one in turn if one is not None)
    chosen = list(islice(turns, most))
    return [one for one in dated if one in chosen]


def _documents(scope: Scope, time: Filters, most: int) -> _Dated:
    """The most recently published documents of the scope in ``time``, from all sources."""
    inside = scope.within(time) if time != Filters() else scope
    if not any(limit.kinds for limit in scope.limits):
        inside = inside.within(Filters(kinds=SOURCE_KINDS))
    entries = inside.dated(most)[::-1]
    facts = scope.kb.catalogue.facts([entry.id for entry in entries])
    entries = [entry for entry in entries if entry.id in facts and facts[entry.id].characters]
    places = [
        Place(
            document_id=entry.id,
            version=facts[entry.id].version,
            span=Span(start=0, end=min(QUOTED, facts[entry.id].characters)),
        )
        for entry in entries
    ]
    told = _openings(scope, places)
    rows = [
        _row((entry.title, day(entry.published_at), kind_of(entry), said), (entry.id,), place)
        for entry, said, place in zip(entries, told, places, strict=True)
    ]
    return [entry.published_at or _LONG_AGO for entry in entries], rows


def _told(scope: Scope, time: Filters, most: int) -> list[_Told]:
    """Stories of the time, each with its newest date there.

    With them stands of which documents they may tell (None: of all).
    """
    stories = scope.kb.catalogue.stories
    if not scope.collections:
        return []
    if not scope.limited:
        # Within an end the newest item of all says nothing of the newest inside.
        limit = None if time.published_to else most
        since, until = time.published_from, time.published_to
        found = stories.latest(scope.collections, since, until, limit)
        dates = stories.dates([story.id for story in found])
        return [
            (max((at for at in dates[one.id] if _inside(at, time)), default=_LONG_AGO), one, None)
            for one in found
        ]
    inside = scope.within(time) if time != Filters() else scope
    published = {entry.id: entry.published_at or _LONG_AGO for entry in inside.entries()}
    kept: dict[str, set[str]] = {}
    for known, places in stories.places(list(published)).items():
        for place in places:
            kept.setdefault(place.story_id, set()).add(known)
    return [
        (max(published[known] for known in kept[one.id]), one, frozenset(kept[one.id]))
        for one in stories.with_text(list(kept))
        if one.collection in scope.collections
    ]


def _story_row(scope: Scope, story: Story, items: Sequence[StoryItem]) -> Row:
    """The row of a story, told by its summary where that is of one of ``items``."""
    by_id = {item.document.id: item for item in items}
    summary = next((one for one in story.summary if one.document_id in by_id), None)
    newest = items[-1]
    lead = by_id[summary.document_id] if summary else newest
    span = summary.span if summary else _beginning(newest.span)
    place = Place(document_id=lead.document.id, version=lead.document.version, span=span)
    told = summary.text if summary else _openings(scope, [place])[0]
    ids = dict.fromkeys([lead.document.id, *(item.document.id for item in reversed(items))])
    # A story that is told in part is not called after what is left out.
    inside = any(item.title == story.title for item in items)
    title = story.title if inside else lead.title
    told_by = {urlsplit(item.document.url).netloc or item.document.id for item in items}
    return _row(
        (title, day(newest.published_at), amount(len(told_by), "source", "sources"), told),
        tuple(ids),
        place,
    )


def _row(cells: tuple[str, str, str, str], ids: tuple[str, ...], place: Place) -> Row:
    title, dated, beside, told = (" ".join(visible(cell).split()) for cell in cells)
    told = shorten(told, LONGEST_SENTENCE)
    line = f"{title} ({dated}; {beside})"
    return Row(
        cells=(title, dated, beside, told),
        document_ids=ids,
        line=f"{line}: {told}" if told else line,
        places=(place,),
    )


def _openings(scope: Scope, places: Sequence[Place]) -> list[str]:
    """The first whole sentence of each place."""
    texts = scope.kb.catalogue.texts([(place.document_id, place.span) for place in places])
    said = []
    for place, text in zip(places, texts, strict=True):
        first = first_sentence(text, place.span)
        said.append(text[first.start - place.span.start : first.end - place.span.start])
    return said


def _beginning(span: Span) -> Span:
    return Span(start=span.start, end=min(span.end, span.start + QUOTED))


def _inside(moment: datetime, time: Filters) -> bool:
    since, until = time.published_from, time.published_to
    return (since is None or moment >= since) and (until is None or moment <= until)
