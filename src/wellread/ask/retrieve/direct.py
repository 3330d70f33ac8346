"""Finds the passages for a question: by one search, by person, by side, or from news stories.

"Who directed the film in which she made her debut?" needs two passages: the one about her names the
film but no director. When a hit names the title of another document, a second search looks for that
title together with the rest of the question.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from wellread.ask.retrieve.ranking import Found, distinct, merged, varied
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
ITEM_CHARACTERS = 2_000  # longest part of an item that is used
ITEMS = 3  # items per story
PASSAGES = 100  # hits of the search for stories
BEST_PASSAGES = 3  # passages of a story whose mean counts, beside the very best one
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)  # the start of a search of all times

# Relevance decides; the others, 0-1 each, order stories that are about equally relevant: together
# they weigh as much as a fifth of it. They are a choice, not a measurement.
RECENCY_WEIGHT = 0.1
SOURCES_WEIGHT = 0.06
NOVELTY_WEIGHT = 0.04
RECENT_DAYS = 30.0  # after which recency is down to a half
MANY_SOURCES = 8  # further sources make no difference


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

    Stories without a passage that reaches ``retrieval.min_similarity`` are left out.
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
    scored_by_vector = any(hit.similarity is not None for hit in hits)
    matches = []
    for story in kb.catalogue.stories.with_text(list(by_story)):
        places = by_story[story.id]
        similarity = max(place.hit.similarity or 0.0 for place in places)
        if scored_by_vector and similarity < kb.settings.retrieval.min_similarity:
            continue
        last = story.last_at
        age = ((until or now) - last).total_seconds() / 86_400 if last else 365.0
        matches.append(
            FoundStory(
                story=story,
                score=rank(_fit(places), age, story.sources, story.novelty),
                similarity=similarity if scored_by_vector else None,
                items=tuple(_best_items(places)),
            )
        )
    matches.sort(key=lambda match: (-match.score, match.story.id))
    return matches[: top_k or kb.settings.qa.max_clusters]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A hit in an item of a story; ``share``: their overlap as a share of the shorter one."""

    hit: Hit
    item: ItemPlace
    share: float

    @property
    def score(self) -> float:
        """The hit's score, lowered by up to a half the smaller the overlap is."""
        return self.hit.score * (1 + self.share) / 2


def _hits_by_story(kb: KnowledgeBase, hits: Sequence[Hit]) -> dict[str, list[_Place]]:
    """Map each story id to the hits in its items, best first."""
    items = kb.catalogue.stories.places({hit.document.id for hit in hits})
    by_story: dict[str, list[_Place]] = {}
    for hit in hits:
        for item in items.get(hit.document.id, ()):
            span, other = item.span, hit.passage.span
            if item.version == hit.document.version and span.overlaps(other):
                shared = min(span.end, other.end) - max(span.start, other.start)
                place = _Place(hit=hit, item=item, share=shared / min(len(span), len(other)))
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
STORY_FACTOR = 1.1  # factor on the score of a passage that belongs to one of the stories
_NEWS = re.compile(rf"\b(?:{NEWS_ASKED})\b", re.IGNORECASE)
_NOT_RECENT = "no story of the last 30 days is about this, so all dates were searched"


def news(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """The best items of the stories that fit, among all passages found.

    None if the question does not ask for news, or no story fits. Without a time in the question
    the stories of the last 30 days come first; if there are none, those of all times, and a note
    says so. Stories keep to the limits that passages do.
    """
    if not _NEWS.search(analysis.question):
        return None
    settings = kb.settings.retrieval
    general = search_within(kb, analysis, analysis.searched, settings.top_k)
    stories, notes = _stories(kb, analysis, general.filters)
    if not stories:
        return None
    by_id = {hit.passage.id: hit for hit in general.hits}
    story_hits = _passages(kb, analysis.searched, general.filters, stories)
    for hit in story_hits:
        other = by_id.get(hit.passage.id, hit)
        score = min(1.0, max(hit.score, other.score) * STORY_FACTOR)
        by_id[hit.passage.id] = replace(other, score=score)
    hits = sorted(by_id.values(), key=lambda hit: (-hit.score, hit.passage.id))
    chosen = varied(hits, settings.top_k, settings.diversity)
    story_ids = {hit.passage.id for hit in story_hits}
    used = {hit.document.id for hit in chosen if hit.passage.id in story_ids}
    stories = [
        match for match in stories if any(document.id in used for document, _ in match.items)
    ]
    if not stories:
        return None
    return replace(
        general,
        strategy="stories: " + "; ".join(f"“{match.story.title}”" for match in stories),
        hits=tuple(chosen),
        notes=notes,
        clusters=len(stories),
    )


def _stories(
    kb: KnowledgeBase, analysis: Analysis, filters: Filters
) -> tuple[list[FoundStory], tuple[str, ...]]:
    """The stories of the requested time or the last 30 days, else of all times, with a note."""
    text, limit = analysis.subject or analysis.question, analysis.max_clusters
    timed = filters.published_from is not None or filters.published_to is not None
    # A requested time that is not among the filters was relaxed; another note says so.
    relaxed = not timed and any(constraint.kind == "time" for constraint in analysis.constraints)
    stories = [] if relaxed else find_stories(kb, text, filters, top_k=limit)
    if stories or timed:
        return stories, ()
    stories = find_stories(kb, text, replace(filters, published_from=BEGINNING), top_k=limit)
    return stories, (_NOT_RECENT,) if stories and not relaxed else ()


def _passages(
    kb: KnowledgeBase, text: str, filters: Filters, stories: Sequence[FoundStory]
) -> list[Hit]:
    """The best passage of each item, story by story, within ``filters``."""
    items = [item for story in stories for item in story.items]
    documents = tuple(dict.fromkeys(document.id for document, _ in items))
    if filters.document_ids:
        documents = tuple(key for key in documents if key in filters.document_ids) or ("",)
    hits = search(kb, text, replace(filters, document_ids=documents), limit=ITEM_HITS)
    chosen: dict[str, Hit] = {}
    for document, span in items:
        document_hits = (hit for hit in hits if hit.document.id == document.id)
        best = next((hit for hit in document_hits if hit.passage.span.overlaps(span)), None)
        if best is not None:
            chosen.setdefault(best.passage.id, best)
    return list(chosen.values())


SINGLE_FACT_TYPES = ("factual", "temporal")
SPEAKER_DEPTH = 60  # hits searched for passages by one speaker
MAX_OPENINGS = 3  # best documents whose first passage is added
OTHERS_FACTOR = 0.5  # on the score of a passage in which only other speakers use the words


def direct(kb: KnowledgeBase, analysis: Analysis) -> Found:
    """The best passages for the whole question, followed by the openings of the best documents."""
    settings = kb.settings.retrieval
    text = analysis.searched
    found = search_within(
        kb, analysis, text, SPEAKER_DEPTH if analysis.voices else 2 * settings.top_k
    )
    candidates = _rank_by_speaker(kb, analysis, analysis.voices, found.hits)
    hits = varied(candidates, settings.top_k, settings.diversity)
    if analysis.type in SINGLE_FACT_TYPES:
        hits = expand_by_references(kb, text, found.filters, hits)
    if not analysis.voices:
        hits = _with_openings(kb, hits)
    return replace(found, strategy="direct retrieval", hits=tuple(hits))


def _with_openings(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, followed by the first passage of each of the best documents.

    Openings state what a thing is, what a paper contributes and who wrote it.
    """
    best_hits = {hit.document.id: hit for hit in reversed(hits)}
    best = list(dict.fromkeys(hit.document.id for hit in hits))[:MAX_OPENINGS]
    hit_ids = {hit.passage.id for hit in hits}
    openings = kb.catalogue.listings.openings(best)
    added = [
        replace(best_hits[document_id], passage=opening, ranks=(), similarity=None)
        for document_id in best
        if (opening := openings.get(document_id)) and opening.id not in hit_ids
    ]
    return [*hits, *(hit for hit in added if hit.passage.version == hit.document.version)]


def _rank_by_speaker(
    kb: KnowledgeBase, analysis: Analysis, voices: Sequence[str], hits: Sequence[Hit]
) -> list[Hit]:
    """The hits reordered by the share of the question's words that ``voices`` themselves say.

    A passage with several speakers also matches the words of the others.
    """
    speakers = {name.casefold() for name in voices}
    topic_stems = frozenset(parse(analysis.subject or analysis.question).topic_stems)
    if not speakers or not topic_stems:
        return list(hits)
    marks = kb.catalogue.marks_over([(hit.passage.document_id, hit.passage.span) for hit in hits])
    scored = []
    for hit, document_marks in zip(hits, marks, strict=True):
        passage = hit.passage
        turns = Marks(document_marks).turns(passage.span)
        own_spans = [turn.span for turn in turns if turn.speaker.casefold() in speakers]
        first = passage.span.start
        words = " ".join(passage.text[span.start - first : span.end - first] for span in own_spans)
        share = len(topic_stems & parse(words).stem_set) / len(topic_stems)
        factor = OTHERS_FACTOR + (1 - OTHERS_FACTOR) * share if turns else 1.0
        scored.append(replace(hit, score=hit.score * factor))
    return sorted(scored, key=lambda hit: -hit.score)


def persona(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """The person's own words on the subject, then passages that name them; None without a name."""
    people = (name for name in analysis.names if name[:1].isupper())
    name = next(iter([*analysis.persona, *people]), "")
    if not name:
        return None
    settings = kb.settings.retrieval
    text = analysis.searched
    speakers = vocabulary_of(kb, analysis.filters.collections).speakers
    allowed = {speaker.casefold() for speaker in analysis.filters.speakers}
    spellings = speakers.get(key_of(name), (name,))
    names = tuple(
        spelling for spelling in spellings if not allowed or spelling.casefold() in allowed
    )
    own, own_hits = Found(), list[Hit]()
    if names:
        spoken = replace(analysis, filters=replace(analysis.filters, speakers=names))
        own = search_within(kb, spoken, text, SPEAKER_DEPTH)
        voices = replace(analysis, persona=names).voices
        own_hits = _rank_by_speaker(kb, analysis, voices, own.hits)
    general = search_within(kb, analysis, text, settings.top_k)
    seen = {hit.passage.id for hit in own_hits}
    naming = [
        hit for hit in general.hits if hit.passage.id not in seen and _mentions_name(hit, name)
    ]
    hits = varied([*own_hits, *naming], settings.top_k, 1.0)
    if not hits:
        return None
    note = (
        f"{name} was not asked this; the answer is drawn from their views as stated in the sources"
    )
    return Found(
        strategy=f"stated views of {name}",
        hits=tuple(hits),
        # Relaxed limits are reported only for a search that found something.
        relaxed=distinct(own.relaxed if own.hits else (), general.relaxed),
        failures=distinct(own.failures, general.failures),
        notes=(note,),
    )


def _mentions_name(hit: Hit, name: str) -> bool:
    last = re.escape(name.split()[-1].casefold())
    passage = hit.passage
    text = f"{passage.context} {passage.text} {' '.join(passage.speakers)}".casefold()
    return re.search(rf"(?<!\w){last}(?!\w)", text) is not None


MAX_SOURCES = 5  # documents that a comparison or a synthesis uses
DEPTH = 3  # candidates of a synthesis per passage that is used
SIDE_DEPTH = 60  # hits per side when the question names nothing but the sides
SYNTHESIS_DIVERSITY = 0.6
_COMPARING = frozenset(
    parse("compare comparison contrast differ difference different similar similarity versus").stems
)


def compare(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """Passages about each side of a comparison in turn, then about all sides together.

    None when the question does not name two sides. A note names each side without passages.
    """
    if len(analysis.sides) < 2:
        return None
    settings = kb.settings.retrieval
    topic = shared_topic(analysis)
    sides = [complete_side(side, analysis.sides) for side in analysis.sides]
    # Without a topic only the side's name ranks the passages, so more are kept to choose from.
    limit = settings.top_k if topic else max(settings.top_k, SIDE_DEPTH)
    searched = [search_within(kb, analysis, f"{side} {topic}".strip(), limit) for side in sides]
    hits_by_side = [
        _about(side, found.hits)[: settings.top_k]
        for side, found in zip(sides, searched, strict=True)
    ]
    joint = search_within(kb, analysis, analysis.subject or analysis.question, settings.top_k)
    hits = _from_first_documents(merged([*hits_by_side, joint.hits], 2 * settings.top_k))
    missing = [
        f"nothing was found about “{side}”"
        for side, side_hits in zip(sides, hits_by_side, strict=True)
        if side in analysis.sides and not side_hits and not _about(side, joint.hits)
    ]
    return Found(
        strategy=f"a search for each side ({', '.join(sides)}), then together",
        hits=tuple(varied(hits, settings.top_k, 1.0)),
        relaxed=distinct(*(found.relaxed for found in [*searched, joint])),
        failures=distinct(*(found.failures for found in [*searched, joint])),
        notes=tuple(missing),
    )


def synthesis(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """Diverse passages from several sources; None when nothing is found."""
    settings = kb.settings.retrieval
    found = search_within(kb, analysis, analysis.searched, DEPTH * settings.top_k)
    if not found.hits:
        return None
    relevance = min(settings.diversity, SYNTHESIS_DIVERSITY)
    hits = varied(_from_first_documents(found.hits), settings.top_k, relevance)
    return replace(found, strategy=f"a wide search, up to {MAX_SOURCES} sources", hits=tuple(hits))


def complete_side(side: str, sides: Sequence[str]) -> str:
    """A side such as "recent ones" with the noun of another side in place of "one" or "ones"."""
    *words_before, last = side.split()
    if last.lower() not in ("one", "ones"):
        return side
    noun = next((other.split()[-1] for other in sides if other != side), last)
    return " ".join([*words_before, noun])


def shared_topic(analysis: Analysis) -> str:
    """The terms of the question that name no side and are not comparison words."""
    excluded_stems = {stem for side in analysis.sides for stem in parse(side).stems} | _COMPARING
    return " ".join(
        term for term in analysis.terms if not excluded_stems.issuperset(parse(term).stems)
    )


def _about(side: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that contain every word of the side's name, in title, heading or text."""
    name = parse(side).stem_set
    return [
        hit
        for hit in hits
        if name.issubset(parse(f"{hit.passage.context}\n{hit.passage.text}").stems)
    ]


def _from_first_documents(hits: Sequence[Hit]) -> list[Hit]:
    ids = list(dict.fromkeys(hit.document.id for hit in hits))[:MAX_SOURCES]
    return [hit for hit in hits if hit.document.id in ids]


# --- documents that the best passages refer to ---------------------------------------------------

MAX_ANCHOR_RANK = 3  # the anchor, a hit whose title is in the question, must be among the first
MAX_NAMES = 12  # names of the anchor's passage in the query
REFERENCE_DEPTH = 40  # hits of the search for these names
MAX_ADDED = 2  # referenced documents that are added
INSERT_AT = 6  # hits that stay ahead of the added ones


def expand_by_references(
    kb: KnowledgeBase, text: str, filters: Filters, hits: Sequence[Hit]
) -> list[Hit]:
    """``hits``, best first, with up to two hits in documents that the best ones refer to."""
    topic_stems = frozenset(parse(text).topic_stems)
    anchor = next((hit for hit in hits[:MAX_ANCHOR_RANK] if _is_about(hit, topic_stems)), None)
    if anchor is None:
        return list(hits)
    # The words of the question that the passages of the anchor's document do not contain.
    texts = [hit.passage.text for hit in hits if hit.document.id == anchor.document.id]
    unanswered_stems = topic_stems - parse("\n".join((anchor.document.title, *texts))).stem_set
    anchor_names = parse(anchor.passage.text).names
    names = [name for name in anchor_names if not topic_stems.issuperset(map(stem, name.split()))]
    if not unanswered_stems or not names:
        return list(hits)
    words = " ".join(word for word in parse(text).words if stem(word) in unanswered_stems)
    query = f"{'; '.join(names[:MAX_NAMES])} {words}"
    # Documents whose title occurs in the anchor's passage are referenced by it.
    anchor_text = f" {_title_key(anchor.passage.text)} "
    shown_ids = {hit.document.id for hit in (*hits[: INSERT_AT + MAX_ADDED], anchor)}
    by_document: dict[str, Hit] = {}
    for hit in search(kb, query, filters, limit=REFERENCE_DEPTH):
        title = _title_key(_without_disambiguation(hit.document.title))
        if hit.document.id not in shown_ids and title and f" {title} " in anchor_text:
            by_document.setdefault(hit.document.id, hit)
    added = list(by_document.values())[:MAX_ADDED]
    added_ids = {hit.passage.id for hit in added}
    first, rest = (
        [hit for hit in group if hit.passage.id not in added_ids]
        for group in (hits[:INSERT_AT], hits[INSERT_AT:])
    )
    return [*first, *added, *rest]


def _is_about(hit: Hit, topic_stems: frozenset[str]) -> bool:
    """Whether the question names the document of ``hit``."""
    title = parse(_without_disambiguation(hit.document.title)).stem_set
    return bool(title) and title <= topic_stems


def _without_disambiguation(title: str) -> str:
    """A title without its disambiguation, such as "Charmed (series)"."""
    return title.partition(" (")[0]


def _title_key(text: str) -> str:
    return " ".join(token.plain for token in tokens_of(text))
