"""Finds the passages for a question: as a whole, by persona, by sides, or from news stories.

"Who directed the film in which she made her debut?" needs two passages: the one about her names the
film but no director. When a hit names the title of another document, a second search looks for that
title together with the rest of the question.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from wellread.ask.retrieve.ranking import Found, merged, varied
from wellread.ask.retrieve.search import search, search_within
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.story_records import ItemKey, ItemPlace, Story
from wellread.text.english import NEWS_ASKED
from wellread.text.parsed import parse, stem
from wellread.text.tokens import key_of, tokens_of
from wellread.types import DocumentFacts, Filters, Hit, Span
from wellread.values.locators import Marks
from wellread.values.question import Analysis

WINDOW = timedelta(days=30)  # searched when the asker names no time
ITEM_CHARACTERS = 2_000  # of an item that are used
ITEMS = 3  # of a story
PASSAGES = 100  # considered in a search
BEST_PASSAGES = 3  # of a story that count, beside the very best one
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)  # the start of a search of all times

# Relevance decides; the others, 0-1 each, order stories that are about equally relevant: together
# they weigh as much as a fifth of it. They are a choice, not a measurement.
RECENCY_WEIGHT = 0.1
SOURCES_WEIGHT = 0.06
NOVELTY_WEIGHT = 0.04
RECENT_DAYS = 30.0  # after which recency is down to a half
MANY_SOURCES = 8  # from which on more of them make no difference


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundStory:
    """A story on the topic; ``items`` are the documents and spans of its best items, best first."""

    story: Story
    score: float
    similarity: float | None
    items: tuple[tuple[DocumentFacts, Span], ...]


def rank(fit: float, age_days: float, sources: int, novelty: float) -> float:
    """The ranking score of a story; larger is better."""
    recency = math.pow(0.5, max(0.0, age_days) / RECENT_DAYS)
    witnesses = min(1.0, math.log2(max(1, sources)) / math.log2(MANY_SOURCES))
    return (
        fit
        + RECENCY_WEIGHT * recency
        + SOURCES_WEIGHT * witnesses
        + NOVELTY_WEIGHT * min(1.0, max(0.0, novelty))
    )


def find_stories(
    kb: KnowledgeBase,
    text: str,
    limits: Filters,
    *,
    top_k: int | None = None,
    now: datetime | None = None,
) -> list[FoundStory]:
    """The stories that fit the question best, best first.

    Stories of which no passage reaches ``retrieval.min_similarity`` are left out.
    """
    now = now or datetime.now(UTC)
    since, until = limits.published_from, limits.published_to
    if since is None and until is None:
        since, until = now - WINDOW, now
    filters = Filters(
        collections=limits.collections,
        kinds=kb.settings.stories.kinds,
        published_from=since,
        published_to=until,
    )
    hits = search(kb, text, filters, limit=PASSAGES)
    by_story = _hits_by_story(kb, hits)
    known = any(hit.similarity is not None for hit in hits)
    found = []
    for story in kb.catalogue.stories.with_text(list(by_story)):
        places = by_story[story.id]
        similarity = max(place.hit.similarity or 0.0 for place in places)
        if known and similarity < kb.settings.retrieval.min_similarity:
            continue
        last = story.last_at
        age = ((until or now) - last).total_seconds() / 86_400 if last else 365.0
        found.append(
            FoundStory(
                story=story,
                score=rank(_fit(places), age, story.sources, story.novelty),
                similarity=similarity if known else None,
                items=tuple(_best_items(places)),
            )
        )
    found.sort(key=lambda one: (-one.score, one.story.id))
    return found[: top_k or kb.settings.qa.max_clusters]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A hit in an item of a story; ``share``: of the shorter of the two, what they share."""

    hit: Hit
    item: ItemPlace
    share: float

    @property
    def score(self) -> float:
        """The hit's score, up to half less the less of it is the item's."""
        return self.hit.score * (1 + self.share) / 2


def _hits_by_story(kb: KnowledgeBase, hits: Sequence[Hit]) -> dict[str, list[_Place]]:
    """Map each story id to the hits in its items, best first."""
    items = kb.catalogue.stories.places({hit.document.id for hit in hits})
    by_story: dict[str, list[_Place]] = {}
    for hit in hits:
        for item in items.get(hit.document.id, ()):
            one, other = item.span, hit.passage.span
            if item.version == hit.document.version and one.overlaps(other):
                both = min(one.end, other.end) - max(one.start, other.start)
                place = _Place(hit=hit, item=item, share=both / min(len(one), len(other)))
                by_story.setdefault(item.story_id, []).append(place)
    return by_story


def _fit(places: Sequence[_Place]) -> float:
    """Half the score of the best passage, half the mean of the best three."""
    best = max(place.score for place in places)
    scores = sorted((place.hit.score * place.share for place in places), reverse=True)
    return (best + sum(scores[:BEST_PASSAGES]) / BEST_PASSAGES) / 2


def _best_items(places: Sequence[_Place]) -> list[tuple[DocumentFacts, Span]]:
    """The items with the best hits; the best of each group of near-duplicates."""
    best: dict[ItemKey, _Place] = {}
    for place in places:
        original = place.item.repeats or place.item.key
        if original not in best or place.score > best[original].score:
            best[original] = place
    chosen = sorted(best.values(), key=lambda place: (-place.score, place.item.key))[:ITEMS]
    return [
        (
            place.hit.document,
            replace(
                place.item.span,
                end=min(place.item.span.end, place.item.span.start + ITEM_CHARACTERS),
            ),
        )
        for place in chosen
    ]


# --- what is new ---------------------------------------------------------------------------------

ITEM_HITS = 100
OF_A_STORY = 1.1  # times its score, for a passage that tells a story of the time
_NEWS = re.compile(rf"\b(?:{NEWS_ASKED})\b", re.IGNORECASE)
_NOT_RECENT = "no story of the last 30 days is about this, so all dates were searched"


def news(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """The best items of the stories that fit, and what else is found.

    None if the question does not ask for news, or no story fits. Without a time in the question
    the stories of the last 30 days come first; if there are none, those of all times, and a note
    says so. Stories keep to the limits that passages do.
    """
    if not _NEWS.search(analysis.question):
        return None
    settings = kb.settings.retrieval
    beside = search_within(kb, analysis, analysis.searched, settings.top_k)
    stories, notes = _stories(kb, analysis, beside.filters)
    if not stories:
        return None
    by_id = {hit.passage.id: hit for hit in beside.hits}
    of_stories = _passages(kb, analysis.searched, beside.filters, stories)
    for hit in of_stories:
        other = by_id.get(hit.passage.id, hit)
        score = min(1.0, max(hit.score, other.score) * OF_A_STORY)
        by_id[hit.passage.id] = replace(other, score=score)
    hits = sorted(by_id.values(), key=lambda hit: (-hit.score, hit.passage.id))
    chosen = varied(hits, settings.top_k, settings.diversity)
    story_ids = {hit.passage.id for hit in of_stories}
    used = {hit.document.id for hit in chosen if hit.passage.id in story_ids}
    stories = [one for one in stories if any(document.id in used for document, _ in one.items)]
    if not stories:
        return None
    return replace(
        beside,
        strategy="stories: " + "; ".join(f"“{one.story.title}”" for one in stories),
        hits=tuple(chosen),
        notes=notes,
        clusters=len(stories),
    )


def _stories(
    kb: KnowledgeBase, analysis: Analysis, filters: Filters
) -> tuple[list[FoundStory], tuple[str, ...]]:
    """The stories of the requested or the last time, else of all times, with a note for readers."""
    text, most = analysis.subject or analysis.question, analysis.max_clusters
    timed = filters.published_from is not None or filters.published_to is not None
    # A requested time that is not among the filters was relaxed, which another note says.
    relaxed = not timed and any(limit.kind == "time" for limit in analysis.constraints)
    stories = [] if relaxed else find_stories(kb, text, filters, top_k=most)
    if stories or timed:
        return stories, ()
    stories = find_stories(kb, text, replace(filters, published_from=BEGINNING), top_k=most)
    return stories, (_NOT_RECENT,) if stories and not relaxed else ()


def _passages(
    kb: KnowledgeBase, text: str, filters: Filters, stories: Sequence[FoundStory]
) -> list[Hit]:
    """The best passage of each item, story by story, within ``filters``."""
    items = [item for story in stories for item in story.items]
    documents = tuple(dict.fromkeys(document.id for document, _ in items))
    if filters.document_ids:
        documents = tuple(name for name in documents if name in filters.document_ids) or ("",)
    hits = search(kb, text, replace(filters, document_ids=documents), limit=ITEM_HITS)
    chosen: dict[str, Hit] = {}
    for document, span in items:
        inside = (hit for hit in hits if hit.document.id == document.id)
        best = next((hit for hit in inside if hit.passage.span.overlaps(span)), None)
        if best is not None:
            chosen.setdefault(best.passage.id, best)
    return list(chosen.values())


ONE_THING = ("factual", "temporal")  # types of question that ask for one thing
DEEP = 60  # hits among which the words of one speaker are looked for
OPENED = 3  # best documents whose first passage is read too
OTHERS = 0.5  # of its score keeps a passage in which only others name what is asked about


def direct(kb: KnowledgeBase, analysis: Analysis) -> Found:
    """The best passages for the question as a whole, and how their best documents begin."""
    settings = kb.settings.retrieval
    text = analysis.searched
    found = search_within(kb, analysis, text, DEEP if analysis.voices else 2 * settings.top_k)
    candidates = _own_first(kb, analysis, found.hits)
    hits = varied(candidates, settings.top_k, settings.diversity)
    if analysis.type in ONE_THING:
        hits = expand_by_references(kb, text, found.filters, hits)
    if not analysis.voices:
        hits = _with_openings(kb, hits)
    return replace(found, strategy="direct retrieval", hits=tuple(hits))


def _with_openings(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, followed by the first passage of each of the best documents.

    Openings state what a thing is, what a paper contributes and who wrote it.
    """
    first = {hit.document.id: hit for hit in reversed(hits)}
    best = list(dict.fromkeys(hit.document.id for hit in hits))[:OPENED]
    shown = {hit.passage.id for hit in hits}
    openings = kb.catalogue.listings.openings(best)
    led = [
        replace(first[document], passage=opening, ranks=(), similarity=None)
        for document in best
        if (opening := openings.get(document)) and opening.id not in shown
    ]
    return [*hits, *(hit for hit in led if hit.passage.version == hit.document.version)]


def _own_first(kb: KnowledgeBase, analysis: Analysis, hits: Sequence[Hit]) -> list[Hit]:
    """The hits reordered by what the requested speakers themselves say in them.

    A passage of several speakers is found for the words of any of them.
    """
    voices = {name.casefold() for name in analysis.voices}
    asked = frozenset(parse(analysis.subject or analysis.question).topic_stems)
    if not voices or not asked:
        return list(hits)
    marks = kb.catalogue.marks_over([(hit.passage.document_id, hit.passage.span) for hit in hits])
    scored = []
    for hit, document_marks in zip(hits, marks, strict=True):
        passage = hit.passage
        turns = Marks(document_marks).turns(passage.span)
        own = [turn.span for turn in turns if turn.speaker.casefold() in voices]
        first = passage.span.start
        words = " ".join(passage.text[span.start - first : span.end - first] for span in own)
        share = len(asked & parse(words).stem_set) / len(asked)
        whole = OTHERS + (1 - OTHERS) * share if turns else 1.0
        scored.append(replace(hit, score=hit.score * whole))
    return sorted(scored, key=lambda hit: -hit.score)


def persona(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """The persona's own words on the subject, then what names them; None when nobody is named."""
    people = (name for name in analysis.names if name[:1].isupper())
    name = next(iter([*analysis.persona, *people]), "")
    if not name:
        return None
    settings = kb.settings.retrieval
    text = analysis.searched
    speakers = vocabulary_of(kb, analysis.filters.collections).speakers
    asked = {speaker.casefold() for speaker in analysis.filters.speakers}
    spellings = speakers.get(key_of(name), (name,))
    meant = tuple(one for one in spellings if not asked or one.casefold() in asked)
    own, first = Found(), list[Hit]()
    if meant:
        spoken = replace(analysis, filters=replace(analysis.filters, speakers=meant))
        own = search_within(kb, spoken, text, DEEP)
        first = _own_first(kb, replace(analysis, persona=meant), own.hits)
    others = search_within(kb, analysis, text, settings.top_k)
    spoken_ids = {hit.passage.id for hit in first}
    named = [hit for hit in others.hits if hit.passage.id not in spoken_ids and _names(hit, name)]
    hits = varied([*first, *named], settings.top_k, 1.0)
    if not hits:
        return None
    note = (
        f"{name} was not asked this; the answer is drawn from what the sources hold of their views"
    )
    return Found(
        strategy=f"stated views of {name}",
        hits=tuple(hits),
        # Limits that were relaxed in search of what somebody never said are nobody's concern.
        relaxed=_all([own.relaxed if own.hits else (), others.relaxed]),
        failures=_all([own.failures, others.failures]),
        notes=(note,),
    )


def _names(hit: Hit, name: str) -> bool:
    last = re.escape(name.split()[-1].casefold())
    passage = hit.passage
    text = f"{passage.context} {passage.text} {' '.join(passage.speakers)}".casefold()
    return re.search(rf"(?<!\w){last}(?!\w)", text) is not None


T = TypeVar("T")

MOST_SOURCES = 5  # documents that a comparison or a synthesis rests on
DEPTH = 3  # times as many candidates as are used
SYNTHESIS_DIVERSITY = 0.6
_COMPARING = frozenset(
    parse("compare comparison contrast differ difference different similar similarity versus").stems
)


def compare(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """Passages about each side of a comparison in turn, then about all sides together.

    None when the question does not name two sides. A note names a side without passages.
    """
    if len(analysis.sides) < 2:
        return None
    settings = kb.settings.retrieval
    topic = shared_topic(analysis)
    sides = [whole_side(side, analysis.sides) for side in analysis.sides]
    limit = settings.top_k if topic else max(settings.top_k, DEEP)
    searched = [search_within(kb, analysis, f"{side} {topic}".strip(), limit) for side in sides]
    about = [
        _about(side, each.hits)[: settings.top_k]
        for side, each in zip(sides, searched, strict=True)
    ]
    together = search_within(kb, analysis, analysis.subject or analysis.question, settings.top_k)
    hits = _of_few_sources(merged([*about, together.hits], 2 * settings.top_k))
    missing = [
        f"nothing was found about “{side}”"
        for side, found in zip(sides, about, strict=True)
        if side in analysis.sides and not found and not _about(side, together.hits)
    ]
    return Found(
        strategy=f"a search for each side ({', '.join(sides)}), then together",
        hits=tuple(varied(hits, settings.top_k, 1.0)),
        relaxed=_all(each.relaxed for each in [*searched, together]),
        failures=_all(each.failures for each in [*searched, together]),
        notes=tuple(missing),
    )


def synthesis(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """Diverse passages from several sources; None when nothing is found."""
    settings = kb.settings.retrieval
    found = search_within(kb, analysis, analysis.searched, DEPTH * settings.top_k)
    if not found.hits:
        return None
    relevance = min(settings.diversity, SYNTHESIS_DIVERSITY)
    hits = varied(_of_few_sources(found.hits), settings.top_k, relevance)
    return replace(found, strategy=f"a wide search, up to {MOST_SOURCES} sources", hits=tuple(hits))


def whole_side(side: str, sides: Sequence[str]) -> str:
    """A side that leans on another's noun ("recent ones") with that noun in its place."""
    *words_before, last = side.split()
    if last.lower() not in ("one", "ones"):
        return side
    noun = next((other.split()[-1] for other in sides if other != side), last)
    return " ".join([*words_before, noun])


def shared_topic(analysis: Analysis) -> str:
    """The terms of the question that belong to no side and do not just ask to compare."""
    named = {stem for side in analysis.sides for stem in parse(side).stems} | _COMPARING
    return " ".join(term for term in analysis.terms if not named.issuperset(parse(term).stems))


def _about(side: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that contain every word of the side's name, in title, heading or text."""
    name = parse(side).stem_set
    return [
        hit
        for hit in hits
        if name.issubset(parse(f"{hit.passage.context}\n{hit.passage.text}").stems)
    ]


def _of_few_sources(hits: Sequence[Hit]) -> list[Hit]:
    """The hits of the first few documents only."""
    few = list(dict.fromkeys(hit.document.id for hit in hits))[:MOST_SOURCES]
    return [hit for hit in hits if hit.document.id in few]


def _all(several: Iterable[Sequence[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(item for each in several for item in each))


# --- what a passage leads on to ------------------------------------------------------------------

ANCHORS = 3  # hits, best first, one of which has to be about the thing named
MOST_NAMES = 12  # of its passage that are searched for
LED_DEPTH = 40  # hits of that search that are looked at
ADDED = 2  # documents that it leads on to
BEHIND = 6  # hits that stay before them


def expand_by_references(
    kb: KnowledgeBase, text: str, filters: Filters, hits: Sequence[Hit]
) -> list[Hit]:
    """``hits``, best first, with up to two hits in documents that the best ones refer to."""
    asked = frozenset(parse(text).topic_stems)
    anchor = next((hit for hit in hits[:ANCHORS] if _is_about(hit, asked)), None)
    if anchor is None:
        return list(hits)
    about = [hit.passage.text for hit in hits if hit.document.id == anchor.document.id]
    left_open = asked - parse("\n".join((anchor.document.title, *about))).stem_set
    found_names = parse(anchor.passage.text).names
    names = [name for name in found_names if not asked.issuperset(map(stem, name.split()))]
    if not left_open or not names:
        return list(hits)
    words = " ".join(word for word in parse(text).words if stem(word) in left_open)
    query = f"{'; '.join(names[:MOST_NAMES])} {words}"
    told = f" {_key(anchor.passage.text)} "
    shown = {hit.document.id for hit in (*hits[: BEHIND + ADDED], anchor)}
    by_document: dict[str, Hit] = {}
    for hit in search(kb, query, filters, limit=LED_DEPTH):
        title = _key(_bare(hit.document.title))
        if hit.document.id not in shown and title and f" {title} " in told:
            by_document.setdefault(hit.document.id, hit)
    added = list(by_document.values())[:ADDED]
    new = {hit.passage.id for hit in added}
    first, rest = (
        [hit for hit in some if hit.passage.id not in new]
        for some in (hits[:BEHIND], hits[BEHIND:])
    )
    return [*first, *added, *rest]


def _is_about(hit: Hit, asked: Iterable[str]) -> bool:
    """Whether the question names the document of ``hit``."""
    title = parse(_bare(hit.document.title)).stem_set
    return bool(title) and title <= frozenset(asked)


def _bare(title: str) -> str:
    """A title without its disambiguation, such as "Charmed (series)"."""
    return title.partition(" (")[0]


def _key(text: str) -> str:
    return " ".join(token.plain for token in tokens_of(text))
