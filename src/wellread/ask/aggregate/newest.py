"""What is new, with no subject asked for: the newest stories, else the newest documents.

Such a question names nothing to search for, so it is answered from the catalogue. Each is told by
its first sentence, newest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from itertools import islice, zip_longest
from urllib.parse import urlsplit

from wellread.ask.aggregate.queries.query import CatalogueQuery
from wellread.ask.aggregate.queries.result import (
    AggregateResult,
    Place,
    Row,
    Scope,
    amount,
    day,
    in_words,
    kind_of,
)
from wellread.ask.retrieve.relax import SOURCE_KINDS
from wellread.store.catalogue.stories.story_rows import Story, StoryItem
from wellread.text.headlines import shortened
from wellread.text.sentences import QUOTED, first_sentence
from wellread.text.words import visible
from wellread.types import Filters, Span

STRATEGY = "the newest of the catalogue"
MOST = 10
OPENING = 1_000  # characters of a text within which all stands equally far in front
LONGEST_SENTENCE = 300  # characters of what is told of each
STORIES = ("Title", "Date", "Sources", "Told")
DOCUMENTS = ("Title", "Date", "Kind", "Told")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

_Dated = tuple[list[datetime], list[Row]]
_Told = tuple[datetime, Story, frozenset[str] | None]


def newest(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The newest stories or documents within the limits; None without any.

    Args:
        scope: within the limits of the query, but for its time.
    """
    time = _time_of(query.where)
    most = query.limit or MOST
    stories = query.of.what == "stories"
    dates, rows = (_stories if stories else _documents)(scope, time, most)
    if not rows:
        return None
    one, many = ("story", "stories") if stories else ("document", "documents")
    first, last = day(min(dates)), day(max(dates))
    when = f"from {first} to {last}" if first != last else f"of {last}"
    limits = "".join(f", {part}" for part in (*scope.said, *in_words(time)))
    return AggregateResult(
        strategy=STRATEGY,
        kind="list",
        sentence=f"The newest {f'{len(rows):,} {many}' if len(rows) > 1 else one}, {when}:",
        number=len(rows),
        columns=STORIES if stories else DOCUMENTS,
        rows=tuple(rows),
        method=f"{many} by the date of what is newest in them{limits}; in {scope.where}",
        clusters=len(rows) if stories else 0,
    )


def _time_of(where: Sequence[Filters]) -> Filters:
    """The time that all of the limits leave."""
    since = [one.published_from for one in where if one.published_from]
    until = [one.published_to for one in where if one.published_to]
    return Filters(published_from=max(since, default=None), published_to=min(until, default=None))


def _stories(scope: Scope, time: Filters, most: int) -> _Dated:
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
    """The documents of the scope that were published last in ``time``; of all sources."""
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
        for one in stories.told(list(kept))
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
    told = shortened(told, LONGEST_SENTENCE)
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
