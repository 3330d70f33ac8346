"""Stories as JSON and as people read them: a list with small timelines, and one story whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import FoundStory, StoryQuery, find_stories
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body, SpanBody, view_url
from wellread.serve.features.timeline_views import bucketed, periods, sparkline, unit_for
from wellread.serve.terminal import SHORT_ID, day_words, fold, right, table, whole
from wellread.store.catalogue.stories.story_rows import Story, StoryItem, SummarySentence
from wellread.text.words import harmless
from wellread.types import Filters

SPARK_WIDTH = 16
BAR_WIDTH = 30

Dates = Mapping[str, Sequence[datetime]]


def story_body(story: Story, dates: Sequence[datetime]) -> dict[str, object]:
    """The JSON of a story."""
    unit = unit_for(dates[0], dates[-1]) if dates else "day"
    return {
        "id": story.id,
        "collection": story.collection,
        "title": story.title,
        "summary": [
            {
                "text": one.text,
                "document_id": one.document_id,
                "start": one.span.start,
                "end": one.span.end,
            }
            for one in story.summary
        ],
        "terms": list(story.terms),
        "first_at": _iso(story.first_at),
        "last_at": _iso(story.last_at),
        "items": story.items,
        "sources": story.sources,
        "novelty": round(story.novelty, 3),
        "timeline": {
            "unit": unit,
            "periods": [
                {"label": period.label, "start": period.start.isoformat(), "items": period.count}
                for period in periods(dates, unit)
            ],
        },
    }


def found_body(found: FoundStory, dates: Sequence[datetime]) -> dict[str, object]:
    """The JSON of a story that a question is about."""
    return {
        **story_body(found.story, dates),
        "score": round(found.score, 4),
        "fit": round(found.fit, 4),
        "similarity": None if found.similarity is None else round(found.similarity, 4),
        "best_items": [
            {
                "document_id": item.document.id,
                "start": item.span.start,
                "end": item.span.end,
                "title": item.title,
                "text": item.text,
                "url": item.document.url or item.document.uri,
                "published_at": _iso(item.published_at),
            }
            for item in found.items
        ],
    }


def item_body(item: StoryItem) -> dict[str, object]:
    """The JSON of a news item."""
    return {
        "document_id": item.document.id,
        "start": item.span.start,
        "end": item.span.end,
        "title": item.title,
        "source": item.document.title,
        "url": item.document.url or item.document.uri,
        "published_at": _iso(item.published_at),
        "repeats": f"{item.repeats[0]}:{item.repeats[1]}" if item.repeats else None,
    }


class ToldBody(Body):
    """A sentence of a story's summary, verbatim, and where it stands."""

    text: str
    document_id: str
    view_url: str
    source_span: SpanBody


class StoryLineBody(Body):
    """A story on a list; ``score`` is of a search and null on a list.

    ``timeline`` of its topic has its news: ``GET /api/topics/{id}/timeline?kind=story``.
    """

    id: str
    collection: str
    title: str
    summary: tuple[ToldBody, ...]
    terms: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    items: int
    sources: int
    novelty: float
    score: float | None


class StoryListBody(Body):
    """A part of the list of stories: the latest first, or the best for ``query``.

    ``total`` is the length of the whole list; null for a search, which ranks and does not count.
    """

    query: str
    total: int | None
    offset: int
    stories: tuple[StoryLineBody, ...]


def story_list_body(kb: KnowledgeBase, wanted: StoryQuery, page: tuple[int, int]) -> StoryListBody:
    """The stories of the collections and the window, or those about the text, best first.

    Args:
        page: limit and offset.

    Raises:
        UnknownCollectionError: a collection that does not exist.
        FingerprintError, StoreError, ModelError: as ``find_stories``.
    """
    limit, offset = page
    scores: dict[str, float] = {}
    total = None
    if wanted.text.strip():
        found = find_stories(kb, of_all_time(replace(wanted, top_k=limit + offset)))[offset:]
        shown = [one.story for one in found]
        scores = {one.story.id: round(one.score, 4) for one in found}
    else:
        check_collections(kb, Filters(collections=wanted.collections))
        stored, window = kb.catalogue.stories, (wanted.since, wanted.until)
        shown = stored.latest(wanted.collections, *window, limit, offset)
        total = stored.many(wanted.collections, *window)
    versions = kb.catalogue.live_versions(
        {one.document_id for story in shown for one in story.summary}
    )
    lines = [
        StoryLineBody.of(
            story,
            summary=[_told(one, versions) for one in story.summary],
            novelty=round(story.novelty, 3),
            score=scores.get(story.id),
        )
        for story in shown
    ]
    return StoryListBody(query=wanted.text, total=total, offset=offset, stories=tuple(lines))


def of_all_time(wanted: StoryQuery) -> StoryQuery:
    """``wanted`` without the usual window: who looks around wants the old stories too."""
    return replace(wanted, since=wanted.since or datetime.min.replace(tzinfo=UTC))


def _told(sentence: SummarySentence, versions: Mapping[str, str]) -> ToldBody:
    version = versions.get(sentence.document_id, "")
    address = view_url(sentence.document_id, version, sentence.span)
    return ToldBody.of(sentence, view_url=address, source_span=sentence.span)


def print_stories(console: Console, stories: Sequence[Story], dates: Dates) -> None:
    """One line for each story: when it had news (all in one stretch of time), how much, title."""
    if not stories:
        _print_none(console)
        return
    known = [moment for story in stories for moment in dates[story.id]]
    columns = (
        whole("id", "dim"),
        right("news"),
        right("sources"),
        whole("last"),
        whole(_stretch(known), "cyan"),
        fold("story"),
    )
    rows = []
    for story in stories:
        spark = ""
        if known:
            spark = sparkline(bucketed(dates[story.id], min(known), max(known), SPARK_WIDTH))
        counts = (f"{story.items:,}", f"{story.sources:,}", day_words(story.last_at))
        rows.append((story.id[:SHORT_ID], *counts, spark, story.title))
    console.print(table(columns, rows))


def print_found(console: Console, found: Sequence[FoundStory]) -> None:
    """The stories that a question is about, each with its best items."""
    if not found:
        _print_none(console)
    for number, one in enumerate(found, start=1):
        head = Text.assemble((f"{number}. ", "bold cyan"), (harmless(one.story.title), "bold"))
        head.append(f"  {one.fit:.2f} · {_figures(one.story)}", style="dim")
        console.print(head)
        for item in one.items:
            line = Text.assemble((f"{day_words(item.published_at)}  ", "dim"), harmless(item.title))
            console.print(Padding(line, (0, 0, 0, 3)))


def print_story(console: Console, story: Story, items: Sequence[StoryItem], limit: int) -> None:
    """Title, summary with where each sentence is from, and the items along a timeline."""
    console.print(Text(harmless(story.title), style="bold"))
    console.print(Text(f"{story.id} · {_figures(story)}", style="dim"), soft_wrap=True)
    if story.terms:
        console.print(Text(harmless(", ".join(story.terms)), style="cyan"))
    titles = {item.document.id: item.document.title for item in items}
    for one in story.summary:
        line = Text(f"“{harmless(one.text)}” ")
        line.append(f"— {harmless(titles.get(one.document_id, ''))}", style="dim")
        console.print(Padding(line, (1, 0, 0, 2)))
    console.print()
    _print_timeline(console, [item.published_at for item in items if item.published_at])
    for item in items[-limit:]:
        mark = "= " if item.repeats else ""
        line = Text.assemble(
            (f"{day_words(item.published_at)}  ", "dim"), f"{mark}{harmless(item.title)}"
        )
        line.append(f"  {harmless(item.document.title)}", style="dim")
        console.print(line)
    if len(items) > limit:
        console.print(Text(f"… and {len(items) - limit:,} older ones (--limit)", style="dim"))


def _print_timeline(console: Console, dates: Sequence[datetime]) -> None:
    if len(dates) < 2:
        return
    found = periods(dates, unit_for(dates[0], dates[-1]))
    most = max(period.count for period in found)
    for period in found:
        bar = "█" * max(1, round(period.count / most * BAR_WIDTH)) if period.count else ""
        line = Text.assemble((f"{period.label}  ", "dim"), (bar, "cyan"))
        line.append(f" {period.count}" if period.count else "·")
        console.print(line)
    console.print()


def _print_none(console: Console) -> None:
    text = "No stories there. They are built of articles (stories.kinds) at the end of every run."
    console.print(Text(text, style="yellow"))


def _figures(story: Story) -> str:
    news = f"{story.items:,} news item{'' if story.items == 1 else 's'}"
    sources = f"{story.sources:,} source{'' if story.sources == 1 else 's'}"
    first, last = day_words(story.first_at), day_words(story.last_at)
    when = first if first == last else f"{first} to {last}"
    return f"{news}, {sources}, {when}"


def _stretch(dates: Sequence[datetime]) -> str:
    return f"{min(dates):%Y-%m} – {max(dates):%Y-%m}" if dates else "when"


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
