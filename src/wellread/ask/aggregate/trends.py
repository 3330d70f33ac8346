"""Counts mentions of a topic per month, quarter or year; lists the newest stories or documents.

Compares shares of documents, not counts, because a growing archive mentions everything more often.
Sentiment is not measured: the small libraries for it are unmaintained English word lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice, zip_longest
from typing import NamedTuple
from urllib.parse import urlsplit

from wellread.ask.aggregate.holding import documents_about, nodes_of, places_naming
from wellread.ask.aggregate.query import (
    DOCUMENT_COLUMNS,
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
from wellread.store.catalogue.documents.story_records import Story, StoryItem
from wellread.text.characters import visible
from wellread.text.parsed import parse
from wellread.text.sentences import QUOTABLE_CHARS, first_sentence, shorten
from wellread.types import DocumentFacts, Filters, Span

STRATEGY = "counted by period in the catalogue"
MIN_DATED_DOCUMENTS = 3  # fewer show no trend
MIN_SHARED_DOCUMENTS = 3  # fewer relate no entity to the topic
MAX_DAYS_BY_MONTH, MAX_DAYS_BY_QUARTER = 550, 5 * 366
MONTHS_PER_PERIOD = {"month": 1, "quarter": 3, "year": 12}
MIN_CHANGE_RATIO = 1.25  # between the shares of the first and the last third, in either direction
MAX_RELATED_ENTITIES = 5
MAX_RELATED_STORIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _PeriodCount:
    """The dated documents of one period, and those of them that name the topic."""

    name: str
    total: int
    document_ids: tuple[str, ...]
    mentions: int

    @property
    def share(self) -> float:
        return len(self.document_ids) / self.total if self.total else 0.0

    @property
    def line(self) -> str:
        """``2025-03: 1 of 2 documents (50 %), named 3 times``."""
        if not self.total:
            return f"{self.name}: no documents"
        of_total = f"{len(self.document_ids):,} of {amount(self.total, 'document', 'documents')}"
        mentions_text = f", named {times(self.mentions)}" if self.mentions else ""
        return f"{self.name}: {of_total} ({_percent(self.share)}){mentions_text}"


def trends(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Count the documents that name the topic by period; None if too few of them have a date."""
    if query.about is None:
        return None
    topic = replace(query.about, naming=True)  # a document that only links to it does not count
    matches = documents_about(scope, topic)
    dated = [(entry, entry.published_at) for entry in scope.entries() if entry.published_at]
    on_topic = [entry for entry, _ in dated if matches.counts.get(entry.id)]
    if len(on_topic) < MIN_DATED_DOCUMENTS:
        return None
    days = (dated[-1][1] - dated[0][1]).days
    fine_period: Period = "month" if days <= MAX_DAYS_BY_MONTH else "quarter"
    default_period: Period = fine_period if days <= MAX_DAYS_BY_QUARTER else "year"
    period = next((name for name in PERIODS if name in query.by), default_period)
    periods = _by_period(dated, matches.counts, period)
    places = places_naming(scope, topic, [entry.id for entry in on_topic])
    return AggregateResult(
        strategy=STRATEGY,
        kind="trend",
        sentence=_sentence(topic, on_topic, len(dated), periods)
        + _related_text(scope, topic, on_topic),
        number=len(on_topic),
        columns=("Period", "Documents", "Of", "Share", "Named"),
        rows=tuple(
            Row(
                cells=(
                    count.name,
                    f"{len(count.document_ids):,}",
                    f"{count.total:,}",
                    _percent(count.share),
                    f"{count.mentions:,}",
                ),
                document_ids=count.document_ids,
                line=count.line,
                places=tuple(places[key] for key in count.document_ids if key in places),
            )
            for count in periods
        ),
        method=f"{matches.method}, by {period} of publication, as a share of all {len(dated):,} "
        f"dated documents{scope.suffix} in {scope.where}; the last {period} may not be over",
    )


def _by_period(
    dated: Sequence[tuple[DocumentFacts, datetime]], counts: dict[str, int], period: Period
) -> list[_PeriodCount]:
    """Count every period from the first dated document to the last, including empty ones."""
    months = MONTHS_PER_PERIOD[period]
    groups: dict[int, list[str]] = {}
    for entry, published_at in dated:
        month_number = 12 * published_at.year + published_at.month - 1
        groups.setdefault(month_number // months, []).append(entry.id)
    periods = []
    for number in range(min(groups), max(groups) + 1):
        year, month = divmod(number * months, 12)
        suffixes = {"month": f"-{month + 1:02}", "quarter": f" Q{month // 3 + 1}", "year": ""}
        name, period_ids = f"{year:04}{suffixes[period]}", groups.get(number, [])
        ids = tuple(key for key in period_ids if counts.get(key))
        mentions = sum(counts[key] for key in ids)
        total = len(period_ids)
        periods.append(_PeriodCount(name=name, total=total, document_ids=ids, mentions=mentions))
    return periods


def _sentence(
    topic: Topic, on_topic: Sequence[DocumentFacts], dated: int, periods: Sequence[_PeriodCount]
) -> str:
    """The first and the last third of the periods compared; too small a change is none."""
    third = max(1, len(periods) // 3)
    before, after = _share_of(periods[:third]), _share_of(periods[-third:])
    change = "about as much as before"
    if after != before and max(before, after) >= MIN_CHANGE_RATIO * min(before, after):
        change = "more than before" if after > before else "less than before"
    peak = max(periods, key=lambda count: (count.share, len(count.document_ids)))
    return (
        f"{topic.quoted} is named in {len(on_topic):,} of {dated:,} dated documents, "
        f"{change}: in {_percent(before)} of the documents from the first third of the period and "
        f"{_percent(after)} from the last third; first on {day(on_topic[0].published_at)}, last on "
        f"{day(on_topic[-1].published_at)}, the largest share in {peak.name} "
        f"({len(peak.document_ids):,} of {peak.total:,})."
    )


def _share_of(periods: Sequence[_PeriodCount]) -> float:
    total = sum(count.total for count in periods)
    return sum(len(count.document_ids) for count in periods) / total if total else 0.0


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _related_text(scope: Scope, topic: Topic, on_topic: Sequence[DocumentFacts]) -> str:
    """Sentences that list the entities mentioned with the topic, and the stories about it."""
    nodes = [node for name in topic.names for node in nodes_of(scope, name)]
    names = {name for node in nodes for name in (node.title, *node.aliases)}
    entities = _co_mentioned(scope, {(node.collection, node.id) for node in nodes}, on_topic)
    titles = _stories(scope, names or {name.phrase for name in topic.names}, on_topic)
    text = f" Often named with it: {', '.join(entities)}." if entities else ""
    return text + (f" Stories about it: {'; '.join(titles)}." if titles else "")


def _co_mentioned(
    scope: Scope, topic_keys: set[tuple[str, str]], on_topic: Sequence[DocumentFacts]
) -> list[str]:
    """The entities that the same documents mention; those that few others mention come first."""
    catalogue = scope.kb.catalogue
    totals = catalogue.graph.mention_totals(scope.collections)
    weights: dict[str, float] = {}
    for collection in dict.fromkeys(entry.collection for entry in on_topic):
        ids = [entry.id for entry in on_topic if entry.collection == collection]
        for entity_id, shared in catalogue.listings.named_in(collection, ids).items():
            key = (collection, entity_id)
            node, total = catalogue.graph.entity(*key), totals.get(key)
            if node and total and key not in topic_keys and shared >= MIN_SHARED_DOCUMENTS:
                # Shared documents, times their share of all that mention the entity.
                weights[node.title] = shared * shared / total.documents
    return sorted(weights, key=lambda name: (-weights[name], name))[:MAX_RELATED_ENTITIES]


def _stories(scope: Scope, names: set[str], on_topic: Sequence[DocumentFacts]) -> list[str]:
    """The stories whose title names the topic, by their number of documents on it."""
    stories = scope.kb.catalogue.stories
    places = stories.places([entry.id for entry in on_topic])
    counts = Counter(key for items in places.values() for key in {item.story_id for item in items})
    topic_stems = [stems for name in names if (stems := parse(name).stem_set)]
    matching = [
        story
        for story in stories.with_text(list(counts))
        if any(stems <= parse(story.title).stem_set for stems in topic_stems)
    ]
    matching.sort(key=lambda story: (-counts[story.id], story.title))
    return [
        f"“{story.title}” ({day(story.first_at)} to {day(story.last_at)})"
        for story in matching[:MAX_RELATED_STORIES]
    ]


# --- the newest stories or documents, each quoted by one sentence --------------------------------

NEWEST_STRATEGY = "the newest of the catalogue"
MAX_NEWEST = 10
POSITION_STEP = 1_000  # characters; positions in one step count as equally near the start
MAX_SENTENCE_CHARS = 300


class _DatedStory(NamedTuple):
    """A story, the date of its newest item, and the documents it may quote (None: all)."""

    newest_at: datetime
    story: Story
    allowed_ids: frozenset[str] | None


def newest(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """List the newest stories or documents within the limits; None if there are none."""
    since = [limit.published_from for limit in query.where if limit.published_from]
    until = [limit.published_to for limit in query.where if limit.published_to]
    time = Filters(published_from=max(since, default=None), published_to=min(until, default=None))
    stories, max_rows = query.of.what == "stories", query.limit or MAX_NEWEST
    if stories:
        rows = _newest_stories(scope, time, max_rows)
    else:
        narrowed = scope.within(time) if time != Filters() else scope
        if not any(limit.kinds for limit in scope.limits):
            narrowed = narrowed.within(Filters(kinds=SOURCE_KINDS))
        rows = list(document_rows(narrowed.dated(max_rows)[::-1]))
    if not rows:
        return None
    singular, plural = ("story", "stories") if stories else ("document", "documents")
    date_of = "the date of their newest item" if stories else "date"
    days = [row.cells[1] for row in rows]
    when = f"from {min(days)} to {max(days)}" if min(days) != max(days) else f"of {days[0]}"
    limits = "".join(f", {part}" for part in (*scope.descriptions, *in_words(time)))
    return AggregateResult(
        strategy=NEWEST_STRATEGY,
        kind="list",
        sentence=f"The newest {f'{len(rows):,} {plural}' if len(rows) > 1 else singular}, {when}:",
        number=len(rows),
        columns=("Title", "Date", "Sources", "Summary") if stories else DOCUMENT_COLUMNS,
        rows=tuple(rows),
        method=f"{plural} sorted by {date_of}{limits}; in {scope.where}",
        clusters=len(rows) if stories else 0,
    )


def _newest_stories(scope: Scope, time: Filters, max_stories: int) -> list[Row]:
    """The stories with the newest items in ``time`` and within the scope.

    A story is dated by its newest item there and quotes only items there. Stories of the same
    moment are ranked by number of sources, then by how near the start of a document their summary
    begins.
    """

    def rank(dated_story: _DatedStory) -> tuple[float, int, int, int, str]:
        story = dated_story.story
        summary_start = min((sentence.span.start for sentence in story.summary), default=0)
        weight = (-story.sources, summary_start // POSITION_STEP, -story.items)
        return (-dated_story.newest_at.timestamp(), *weight, story.title)

    dated = sorted(_stories_in(scope, time, max_stories), key=rank)
    if time.published_from and time.published_to:
        dated = _chosen_day_by_day(dated, max_stories)
    rows: list[Row] = []
    for _, story, allowed_ids in dated[:max_stories]:
        items = [
            item
            for item in scope.kb.catalogue.stories.items(story.id)
            if item.published_at
            and _is_within(item.published_at, time)
            and (allowed_ids is None or item.document.id in allowed_ids)
        ]
        if items:  # empty if the story was removed meanwhile
            rows.append(_story_row(scope, story, items))
    return rows


def _chosen_day_by_day(dated: Sequence[_DatedStory], max_stories: int) -> list[_DatedStory]:
    """The best of every day, then the second best, so that the last day does not fill the list."""
    days: dict[date, list[_DatedStory]] = {}
    for dated_story in dated:
        days.setdefault(dated_story.newest_at.date(), []).append(dated_story)
    in_turn = (story for turn in zip_longest(*days.values()) for story in turn if story)
    chosen = list(islice(in_turn, max_stories))
    return [dated_story for dated_story in dated if dated_story in chosen]


def _stories_in(scope: Scope, time: Filters, max_stories: int) -> list[_DatedStory]:
    """The stories with an item in ``time`` and the scope; without an end at least the newest."""
    stories = scope.kb.catalogue.stories
    if not scope.limited and scope.collections:
        # The newest item may be after an end date: then all stories are needed, to date them.
        limit = None if time.published_to else max_stories
        latest = stories.latest(scope.collections, time.published_from, time.published_to, limit)
        dates = stories.dates([story.id for story in latest])
        inside = [
            (story, [at for at in dates[story.id] if _is_within(at, time)]) for story in latest
        ]
        return [_DatedStory(max(moments), story, None) for story, moments in inside if moments]
    narrowed = scope.within(time) if time != Filters() else scope
    published = {entry.id: entry.published_at for entry in narrowed.entries() if entry.published_at}
    ids_by_story: dict[str, set[str]] = {}
    for document_id, items in stories.places(list(published)).items():
        for item in items:
            ids_by_story.setdefault(item.story_id, set()).add(document_id)
    return [
        _DatedStory(max(published[key] for key in ids), story, frozenset(ids))
        for story in stories.with_text(list(ids_by_story))
        if story.collection in scope.collections and (ids := ids_by_story[story.id])
    ]


def _story_row(scope: Scope, story: Story, items: Sequence[StoryItem]) -> Row:
    """The row of a story; it quotes the summary if that comes from one of ``items``."""
    by_id = {item.document.id: item for item in items}
    summary = next((part for part in story.summary if part.document_id in by_id), None)
    newest_item = items[-1]
    lead = by_id[summary.document_id] if summary else newest_item
    document = lead.document
    if summary:
        place = Place(document_id=document.id, version=document.version, span=summary.span)
        sentence = summary.text
    else:
        span = newest_item.span  # its start is long enough for its first sentence
        start = Span(start=span.start, end=min(span.end, span.start + QUOTABLE_CHARS))
        place = Place(document_id=document.id, version=document.version, span=start)
        sentence = _first_sentence(scope, place)
    ids = dict.fromkeys([document.id, *(item.document.id for item in reversed(items))])
    # If not all items are shown, the title must not come from one that is left out.
    title = story.title if any(item.title == story.title for item in items) else lead.title
    publishers = {urlsplit(item.document.url).netloc or item.document.id for item in items}
    sources = amount(len(publishers), "source", "sources")
    title, dated, sources, sentence = (
        " ".join(visible(cell).split())
        for cell in (title, day(newest_item.published_at), sources, sentence)
    )
    sentence = shorten(sentence, MAX_SENTENCE_CHARS)
    line = f"{title} ({dated}; {sources})"
    return Row(
        cells=(title, dated, sources, sentence),
        document_ids=tuple(ids),
        line=f"{line}: {sentence}" if sentence else line,
        places=(place,),
    )


def _first_sentence(scope: Scope, place: Place) -> str:
    [text] = scope.kb.catalogue.texts([(place.document_id, place.span)])
    sentence = first_sentence(text, place.span)
    return text[sentence.start - place.span.start : sentence.end - place.span.start]


def _is_within(moment: datetime, time: Filters) -> bool:
    since, until = time.published_from, time.published_to
    return (since is None or moment >= since) and (until is None or moment <= until)
