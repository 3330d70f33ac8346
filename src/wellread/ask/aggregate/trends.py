"""Tells how often a topic is named over time, and what is newest where no topic is asked for.

Shares of all documents are compared, not counts, since a growing archive names everything more
often. Moods are not measured: the small libraries for it are unmaintained English word lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice, zip_longest
from urllib.parse import urlsplit

from wellread.ask.aggregate.holding import documents_about, nodes_of, places_naming
from wellread.ask.aggregate.query import (
    DOCUMENTS,
    PERIODS,
    AggregateResult,
    CatalogueQuery,
    Period,
    Place,
    Row,
    Scope,
    Topic,
    amount,
    day,
    document_rows,
    in_words,
    times,
)
from wellread.ask.retrieve.search import SOURCE_KINDS
from wellread.store.catalogue.documents.listings import Entry
from wellread.store.catalogue.documents.story_records import Story, StoryItem
from wellread.text.parsed import parse, visible
from wellread.text.sentences import QUOTED, first_sentence, shorten
from wellread.types import Filters, Span

STRATEGY = "counted by period in the catalogue"
LEAST_DOCUMENTS = 3  # with a date; fewer show no trend
LONGEST_BY_MONTH, LONGEST_BY_QUARTER = 550, 5 * 366  # days
MONTHS = {"month": 1, "quarter": 3, "year": 12}
CLEAR = 1.25  # how many times the share of the first third the last one has to be
RELATED = 5
MOST_STORIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """One period: all dated documents of it, and those that name the topic."""

    name: str
    all: int
    ids: tuple[str, ...]
    named: int

    @property
    def share(self) -> float:
        return len(self.ids) / self.all if self.all else 0.0

    @property
    def line(self) -> str:
        """``2025-03: 1 of 2 documents (50 %), named 3 times``."""
        if not self.all:
            return f"{self.name}: no documents"
        documents = amount(self.all, "document", "documents")
        often = f", named {times(self.named)}" if self.named else ""
        return f"{self.name}: {len(self.ids):,} of {documents} ({_percent(self.share)}){often}"


def trends(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Documents on the topic by period; None with too few dated documents."""
    if query.about is None:
        return None
    topic = replace(query.about, naming=True)
    held = documents_about(scope, topic)
    dated = [(entry, entry.published_at) for entry in scope.entries() if entry.published_at]
    on_topic = [entry for entry, _ in dated if held.counts.get(entry.id)]
    if len(on_topic) < LEAST_DOCUMENTS:
        return None
    days = (dated[-1][1] - dated[0][1]).days
    short: Period = "month" if days <= LONGEST_BY_MONTH else "quarter"
    usual: Period = short if days <= LONGEST_BY_QUARTER else "year"
    period = next((one for one in PERIODS if one in query.by), usual)
    counted = _by_period(dated, held.counts, period)
    places = places_naming(scope, topic, [entry.id for entry in on_topic])
    return AggregateResult(
        strategy=STRATEGY,
        kind="trend",
        sentence=_sentence(topic, on_topic, len(dated), counted) + _beside(scope, topic, on_topic),
        number=len(on_topic),
        columns=("Period", "Documents", "Of", "Share", "Named"),
        rows=tuple(
            Row(
                cells=(
                    one.name,
                    f"{len(one.ids):,}",
                    f"{one.all:,}",
                    _percent(one.share),
                    f"{one.named:,}",
                ),
                document_ids=one.ids,
                line=one.line,
                places=tuple(places[known] for known in one.ids if known in places),
            )
            for one in counted
        ),
        method=f"{held.method}, by {period} of publication, as a share of all {len(dated):,} dated "
        f"documents{scope.suffix} in {scope.where}; the last {period} may not be over",
    )


def _by_period(
    dated: Sequence[tuple[Entry, datetime]], counts: dict[str, int], period: Period
) -> list[_Count]:
    """Every period from the first dated document to the last, also the empty ones."""
    months = MONTHS[period]
    groups: dict[int, list[str]] = {}
    for entry, at in dated:
        groups.setdefault((12 * at.year + at.month - 1) // months, []).append(entry.id)
    counted = []
    for number in range(min(groups), max(groups) + 1):
        year, month = divmod(number * months, 12)
        marks = {"month": f"-{month + 1:02}", "quarter": f" Q{month // 3 + 1}", "year": ""}
        inside = groups.get(number, [])
        ids = tuple(known for known in inside if counts.get(known))
        named = sum(counts[known] for known in ids)
        name = f"{year:04}{marks[period]}"
        counted.append(_Count(name=name, all=len(inside), ids=ids, named=named))
    return counted


def _sentence(
    topic: Topic, on_topic: Sequence[Entry], dated: int, counted: Sequence[_Count]
) -> str:
    third = max(1, len(counted) // 3)
    before, after = _share_of(counted[:third]), _share_of(counted[-third:])
    change = "about as much as before"
    if after != before and max(before, after) >= CLEAR * min(before, after):
        change = "more than before" if after > before else "less than before"
    peak = max(counted, key=lambda one: (one.share, len(one.ids)))
    return (
        f"{topic.quoted} is named in {len(on_topic):,} of {dated:,} dated documents, "
        f"{change}: in {_percent(before)} of those in the first third of the time and "
        f"{_percent(after)} in the last; first on {day(on_topic[0].published_at)}, last on "
        f"{day(on_topic[-1].published_at)}, the largest share in {peak.name} "
        f"({len(peak.ids):,} of {peak.all:,})."
    )


def _share_of(counted: Sequence[_Count]) -> float:
    whole = sum(one.all for one in counted)
    return sum(len(one.ids) for one in counted) / whole if whole else 0.0


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _beside(scope: Scope, topic: Topic, on_topic: Sequence[Entry]) -> str:
    """The entities named together with the topic, and the stories about it, in words."""
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
    weights: dict[str, float] = {}
    for collection in dict.fromkeys(entry.collection for entry in on_topic):
        ids = [entry.id for entry in on_topic if entry.collection == collection]
        for entity, number in catalogue.counts.named_in(collection, ids).items():
            key = (collection, entity)
            node, total = catalogue.graph.entity(*key), totals.get(key)
            if node and total and key not in own and number >= LEAST_DOCUMENTS:
                weights[node.title] = number * number / total.documents
    return sorted(weights, key=lambda name: (-weights[name], name))[:RELATED]


def _stories(scope: Scope, names: set[str], on_topic: Sequence[Entry]) -> list[str]:
    """The stories with items in these documents whose title names the topic, most items first."""
    stories = scope.kb.catalogue.stories
    places = stories.places([entry.id for entry in on_topic])
    counts = Counter(story for held in places.values() for story in {one.story_id for one in held})
    wanted = [stems for name in names if (stems := parse(name).stem_set)]
    told = [
        one
        for one in stories.with_text(list(counts))
        if any(stems <= parse(one.title).stem_set for stems in wanted)
    ]
    told.sort(key=lambda one: (-counts[one.id], one.title))
    return [
        f"“{one.title}” ({day(one.first_at)} to {day(one.last_at)})" for one in told[:MOST_STORIES]
    ]


# --- what is new, with no subject asked for: told by its first sentence --------------------------

NEWEST = "the newest of the catalogue"
MOST = 10
OPENING = 1_000  # characters of a text within which all stands equally far in front
LONGEST_SENTENCE = 300  # characters of what is told of each

_Told = tuple[datetime, Story, frozenset[str] | None]  # None: it may tell of all its documents


def newest(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The newest stories or documents within the limits; None without any."""
    since = [one.published_from for one in query.where if one.published_from]
    until = [one.published_to for one in query.where if one.published_to]
    time = Filters(published_from=max(since, default=None), published_to=min(until, default=None))
    stories, most = query.of.what == "stories", query.limit or MOST
    if stories:
        rows = _newest_stories(scope, time, most)
    else:
        inside = scope.within(time) if time != Filters() else scope
        if not any(limit.kinds for limit in scope.limits):
            inside = inside.within(Filters(kinds=SOURCE_KINDS))
        rows = list(document_rows(inside.dated(most)[::-1]))
    if not rows:
        return None
    one, many = ("story", "stories") if stories else ("document", "documents")
    days = [row.cells[1] for row in rows]
    when = f"from {min(days)} to {max(days)}" if min(days) != max(days) else f"of {days[0]}"
    limits = "".join(f", {part}" for part in (*scope.said, *in_words(time)))
    return AggregateResult(
        strategy=NEWEST,
        kind="list",
        sentence=f"The newest {f'{len(rows):,} {many}' if len(rows) > 1 else one}, {when}:",
        number=len(rows),
        columns=("Title", "Date", "Sources", "Told") if stories else DOCUMENTS,
        rows=tuple(rows),
        method=f"{many} by the date of what is newest in them{limits}; in {scope.where}",
        clusters=len(rows) if stories else 0,
    )


def _newest_stories(scope: Scope, time: Filters, most: int) -> list[Row]:
    """The stories with the newest items in ``time`` and within the scope.

    A story is as new as its newest item there, and tells only of items there. Of stories of one day
    what more sources report comes first, then what a text opens with. Of a time with two ends all
    days are told, not its last day alone.
    """

    def rank(told: _Told) -> tuple[float, int, int, int, str]:
        newest_at, story, _ = told
        first = min((one.span.start for one in story.summary), default=0)
        weight = (-story.sources, first // OPENING, -story.items)
        return (-newest_at.timestamp(), *weight, story.title)

    dated = sorted(_stories_of(scope, time, most), key=rank)
    if time.published_from and time.published_to:
        days: dict[date, list[_Told]] = {}
        for one in dated:
            days.setdefault(one[0].date(), []).append(one)
        turns = (one for turn in zip_longest(*days.values()) for one in turn if one)
        chosen = list(islice(turns, most))
        dated = [one for one in dated if one in chosen]
    rows: list[Row] = []
    for _, story, kept in dated[:most]:
        items = [
            item
            for item in scope.kb.catalogue.stories.items(story.id)
            if item.published_at
            and _inside(item.published_at, time)
            and (kept is None or item.document.id in kept)
        ]
        if items:  # else it went in the meantime
            rows.append(_story_row(scope, story, items))
    return rows


def _stories_of(scope: Scope, time: Filters, most: int) -> list[_Told]:
    """The dated stories of the time, each with its newest date there and what it may tell of."""
    stories = scope.kb.catalogue.stories
    if not scope.limited and scope.collections:
        # Within an end the newest item of all says nothing of the newest inside.
        limit = None if time.published_to else most
        since, until = time.published_from, time.published_to
        latest = stories.latest(scope.collections, since, until, limit)
        dates = stories.dates([story.id for story in latest])
        inside = [(one, [at for at in dates[one.id] if _inside(at, time)]) for one in latest]
        return [(max(moments), one, None) for one, moments in inside if moments]
    within = scope.within(time) if time != Filters() else scope
    published = {one.id: one.published_at for one in within.entries() if one.published_at}
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
    document = lead.document
    if summary:
        place = Place(document_id=document.id, version=document.version, span=summary.span)
        told = summary.text
    else:
        place = _opening(document.id, document.version, newest.span)
        told = _first_sentences(scope, [place])[0]
    ids = dict.fromkeys([document.id, *(item.document.id for item in reversed(items))])
    # A story that is told in part is not called after what is left out.
    inside = any(item.title == story.title for item in items)
    title = story.title if inside else lead.title
    told_by = {urlsplit(item.document.url).netloc or item.document.id for item in items}
    sources = amount(len(told_by), "source", "sources")
    return _row((title, day(newest.published_at), sources, told), tuple(ids), place)


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


def _first_sentences(scope: Scope, places: Sequence[Place]) -> list[str]:
    """The first whole sentence of each place."""
    texts = scope.kb.catalogue.texts([(place.document_id, place.span) for place in places])
    pairs = list(zip(texts, (place.span for place in places), strict=True))
    firsts = [first_sentence(text, span) for text, span in pairs]
    return [
        text[first.start - span.start : first.end - span.start]
        for (text, span), first in zip(pairs, firsts, strict=True)
    ]


def _opening(document_id: str, version: str, span: Span) -> Place:
    """The first part of a span, of which the first sentence is told."""
    short = Span(start=span.start, end=min(span.end, span.start + QUOTED))
    return Place(document_id=document_id, version=version, span=short)


def _inside(moment: datetime, time: Filters) -> bool:
    since, until = time.published_from, time.published_to
    return (since is None or moment >= since) and (until is None or moment <= until)
