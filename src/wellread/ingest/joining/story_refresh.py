"""What is made of a collection as a whole, once a run has written its sources.

The names of entities are looked for (``mention_linking.py``), and stories are built: documents are
cut into news items, these are put into stories, and stories are told.

Every step is kept in one transaction per batch, and every next step reads what is left to do from
the catalogue, so that a killed pass goes on where it was, and a pass without news costs a query
or two. Items go into stories in the order of their dates (``story_clusters.py``); what is told of
a story is made anew when its items changed: title, summary and terms are verbatim words of items.

A news item is a whole article, unless the article is a digest (a newsletter, a weekly round-up):
then its top-level list items are news items, each with the paragraphs that follow it, and so are
its sections without a list, long ones cut at paragraphs. What only leads in ("this week's
newsletter summarises …"), contents lists, footnotes and stubs are no news.
"""

from __future__ import annotations

import logging
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlsplit

from wellread.identity import tagged_hash
from wellread.ingest.joining.mention_linking import link_mentions
from wellread.ingest.joining.story_clusters import (
    SCHEME,
    Clusters,
    PlacedItem,
    Vector,
    centre_of,
    code_of,
    counts,
    packed,
    packed_signature,
    spoken,
    unpacked,
    unpacked_signature,
)
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.story_records import (
    ItemRecord,
    Material,
    StoryText,
    SummarySentence,
    WaitingDocument,
)
from wellread.text.sentences import HEAD, headline, sentence_spans
from wellread.types import Document, DocumentFacts, HeadingMark, Span

SHORTEST = 45  # characters: below, a list item is a line of a contents list or a stub
LEAST_ITEMS = 3  # substantial list items that make a document a digest …
LEAST_SHARE = 0.4  # … when they hold this share of its text
LONGEST_PROSE = 2_000  # characters: longer prose without a list is cut at paragraphs
LONGEST_LEAD_IN = 600  # characters: paragraphs before a list that hold more are news themselves

_BLOCK = re.compile(r"\S.*?(?=\n\n|\Z)", re.DOTALL)
_BULLET = re.compile(r"^[-*•] +(?=\S)", re.MULTILINE)
# A list item that goes on with a sentence begun before the list.
_CONTINUES = re.compile(r"[a-z]+ ")
_NAMED_DIGEST = re.compile(
    r"\b(newsletter|digest|round-?up|briefing|bulletin|week in|weekly|year[- ]in[- ]review)\b",
    re.IGNORECASE,
)
_NO_NEWS = re.compile(r"(footnotes?|notes|references|(table of )?contents)", re.IGNORECASE)

Section = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A stretch of the text under one heading; ``listed``: a list item with what follows it."""

    span: Span
    section: Section
    listed: bool


def news_items(document: Document) -> list[Span]:
    """The news items of ``document``, in order; they do not overlap.

    An article that is no digest is one item. A digest in which nothing substantial is found
    is one item too, so that no article is lost.
    """
    parts = _parts(document)
    if _is_digest(document, parts):
        items = [part.span for part in _news(parts)]
        if items:
            return items
    text = document.text
    start = len(text) - len(text.lstrip())
    return [Span(start=start, end=max(start, len(text.rstrip())))]


def _parts(document: Document) -> list[_Part]:
    """The text as list items with what follows them, and as prose from its heading on."""
    parts: list[_Part] = []
    for span, section, listed in _pieces(document):
        last = parts[-1] if parts else None
        full = last and not last.listed and span.end - last.span.start > LONGEST_PROSE
        if last is None or last.section != section or listed or full:
            parts.append(_Part(span=span, section=section, listed=listed))
        else:
            parts[-1] = replace(last, span=Span(start=last.span.start, end=span.end))
    return parts


def _pieces(document: Document) -> Iterator[tuple[Span, Section, bool]]:
    """Paragraphs and single list items in reading order; whether it opens a list item."""
    text = document.text
    headings = sorted(
        (mark for mark in document.marks if isinstance(mark, HeadingMark)),
        key=lambda mark: (mark.start, -mark.end),
    )
    section: Section = ()
    heading: int | None = None  # where the line of a heading begins, right above
    waiting = iter([*headings, None])
    following = next(waiting)
    for block in _BLOCK.finditer(text):
        while following and following.start <= block.start():
            section, following = following.path, next(waiting)
        if section and block.group().strip() == section[-1]:
            heading = block.start()
            continue
        starts = [found.start() for found in _BULLET.finditer(text, block.start(), block.end())]
        borders = sorted({block.start(), *starts, block.end()})
        for start, end in pairwise(borders):
            bullet = _BULLET.match(text, start) if start in starts else None
            begin = bullet.end() if bullet else start
            listed = bullet is not None and not _CONTINUES.match(text, begin)
            stop = begin + len(text[begin:end].rstrip())
            if heading is not None and bullet is None:
                begin = heading
            heading = None
            yield Span(start=begin, end=stop), section, listed


def _is_digest(document: Document, parts: list[_Part]) -> bool:
    if _NAMED_DIGEST.search(f"{document.title} {document.source_type}"):
        return len(parts) > 1
    listed = [len(part.span) for part in parts if part.listed and len(part.span) >= SHORTEST]
    return len(listed) >= LEAST_ITEMS and sum(listed) >= LEAST_SHARE * len(document.text)


def _news(parts: list[_Part]) -> Iterator[_Part]:
    """The parts that are news: no lead-in, no footnotes, no stub."""
    with_list = {part.section for part in parts if part.listed}
    for part in parts:
        leads_in = not part.section or (
            part.section in with_list and len(part.span) <= LONGEST_LEAD_IN
        )
        stub = len(part.span) < SHORTEST
        aside = bool(part.section and _NO_NEWS.fullmatch(part.section[-1]))
        if not stub and not aside and (part.listed or not leads_in):
            yield part


logger = logging.getLogger(__name__)

BATCH_ITEMS = 500  # kept in one transaction
TOLD_AT_ONCE = 64  # stories that get their text in one transaction


class StoryReport(NamedTuple):
    """Documents cut into news items, the items, copies among these, and stories told anew."""

    documents: int = 0
    items: int = 0
    repeats: int = 0
    told: int = 0


def finish_run(kb: KnowledgeBase, collection: str) -> None:
    """Bring what joins documents up to date: who names whom, what belongs to one story, and which
    feedback counts still.

    Cheap when nothing changed; safe to kill, since the next run takes up what is left.
    """
    linked = link_mentions(kb.catalogue, collection)
    stories = refresh(kb, collection)
    if linked or stories.documents or stories.told:
        kb.catalogue.answer_cache.joined(collection)  # answers before it knew less
    kb.catalogue.expiry.sweep()


def refresh(kb: KnowledgeBase, collection: str) -> StoryReport:
    """Bring the stories of a collection up to date with its documents.

    Other rules or settings than the stories were made with make them anew.
    """
    if not kb.settings.stories.enabled:
        return StoryReport()
    stored = kb.catalogue.stories
    # Changes with everything that decides which items are in which story.
    rules = f"{SCHEME}/{kb.settings.stories.join_threshold}/{kb.settings.stories.window_days}"
    if stored.begin(collection, rules):
        logger.info("making the stories of %s anew, because of other settings", collection)
    documents, items, repeats = _place(kb, collection)
    untold = stored.untold(collection)
    told = 0
    for start in range(0, len(untold), TOLD_AT_ONCE):
        told += _tell(kb, untold[start : start + TOLD_AT_ONCE])
    if untold:
        stored.drop_empty(collection)
        logger.info("%s: %d new news items, %d stories told", collection, items, told)
    return StoryReport(documents=documents, items=items, repeats=repeats, told=told)


def _place(kb: KnowledgeBase, collection: str) -> tuple[int, int, int]:
    """Put what is new into stories; how many documents, items, and copies among these."""
    stored = kb.catalogue.stories
    kinds = kb.settings.stories.kinds
    stored.drop_others(collection, kinds)
    documents = items = repeats = 0
    waiting = stored.waiting(collection, kinds)
    if waiting:
        clusters = _clusters(kb, collection)
        for batch in _batches(kb, collection, clusters, waiting):
            stored.keep(collection, batch)
            documents += len({item.document_id for item in batch})
            items += len(batch)
            repeats += sum(item.repeats is not None for item in batch)
    return documents, items, repeats


def _clusters(kb: KnowledgeBase, collection: str) -> Clusters:
    settings = kb.settings.stories
    window = timedelta(days=settings.window_days) if settings.window_days else None
    clusters = Clusters(settings.join_threshold, window)
    clusters.restore(
        (
            PlacedItem(
                key=item.key,
                story=item.story_id,
                vector=unpacked(item.vector),
                signature=unpacked_signature(item.fingerprint),
                repeats=item.repeats,
            ),
            item.published_at,
        )
        for item in kb.catalogue.stories.placed(collection)
    )
    return clusters


def _batches(
    kb: KnowledgeBase, collection: str, clusters: Clusters, waiting: Sequence[WaitingDocument]
) -> Iterator[list[ItemRecord]]:
    """The items of whole documents, each in its story, in the order of dates."""
    batch: list[ItemRecord] = []
    for one in waiting:
        document = kb.catalogue.document(one.document_id)
        if document is None:
            continue  # removed meanwhile
        for span in news_items(document):
            text = span.of(document.text)
            title = headline(span, text[:HEAD], document.title, len(document.text))
            fresh = tagged_hash("sty", collection, one.document_id, one.version, span.start)
            key = (one.document_id, span.start)
            placed = clusters.place(key, title, text, one.published_at, fresh)
            batch.append(
                ItemRecord(
                    document_id=one.document_id,
                    version=one.version,
                    span=span,
                    story_id=placed.story,
                    published_at=one.published_at,
                    vector=packed(placed.vector),
                    fingerprint=packed_signature(placed.signature),
                    repeats=placed.repeats,
                )
            )
        if len(batch) >= BATCH_ITEMS:
            yield batch
            batch = []
    if batch:
        yield batch


def _tell(kb: KnowledgeBase, story_ids: Sequence[str]) -> int:
    stored = kb.catalogue.stories
    materials = [(known, stored.material(known, central_items)) for known in story_ids]
    return stored.tell(
        [
            (known, material.items, text_of(material))
            for known, material in materials
            if material.items
        ]
    )


CENTRAL_ITEMS = 12  # whose texts are read, beside that of the newest one
LEAD_SENTENCES = 4  # of an item: what matters is said first
SUMMARY_SENTENCES = 3
SHORTEST_SENTENCE, LONGEST_SENTENCE = 40, 320  # characters
REPEATED = 0.5  # share of a sentence's words in an earlier one from which it says nothing new
TERMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    place: int  # of the item among those that were read
    span: Span
    text: str
    codes: frozenset[int]
    score: float


class Centre:
    """The middle of a story: what its items, copies aside, have in common."""

    def __init__(self, items: Iterable[ItemRecord]) -> None:
        total: defaultdict[int, float] = defaultdict(float)
        for item in items:
            for code, weight in unpacked(item.vector).items():
                total[code] += weight
        self.weights = centre_of(total)

    def nearness(self, vector: Vector) -> float:
        """Cosine of an item with the middle."""
        return sum(weight * self.weights.get(code, 0.0) for code, weight in vector.items())

    def worth(self, codes: Iterable[int]) -> float:
        """How much of the middle some features hold."""
        return sum(self.weights.get(code, 0.0) for code in codes)


def central_items(items: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items nearest to the middle of their story, and the newest one; by date."""
    originals = [item for item in items if item.repeats is None] or list(items)
    centre = Centre(originals)
    nearest = sorted(
        range(len(originals)),
        key=lambda place: (-centre.nearness(unpacked(originals[place].vector)), place),
    )
    chosen = sorted({*nearest[:CENTRAL_ITEMS], len(originals) - 1})
    return [originals[place] for place in chosen]


def text_of(material: Material) -> StoryText:
    """All that is told of a story."""
    originals = [item for item in material.items if item.repeats is None] or material.items
    centre = Centre(originals)
    return StoryText(
        title=title_of(material, centre),
        summary=summary_of(material, centre),
        terms=terms_of(material, centre),
        centre=packed(centre.weights),
        scheme=SCHEME,
        sources=sources_of(originals, material.documents),
        novelty=novelty_of(originals),
    )


def title_of(material: Material, centre: Centre) -> str:
    """The headline that holds most of what the story is about, for its length."""
    titles = []
    for place, (item, text) in enumerate(zip(material.chosen, material.texts, strict=True)):
        facts = material.documents[item.document_id]
        title = headline(item.span, text, facts.title, facts.characters)
        codes = [code_of(feature) for feature in counts(title, "")]
        worth = centre.worth(codes) / math.sqrt(len(codes) + 1)
        near = centre.nearness(unpacked(item.vector))
        titles.append((-worth * near, place, title))
    return min(titles)[2]


def summary_of(material: Material, centre: Centre) -> tuple[SummarySentence, ...]:
    """Up to three sentences of different items where there are several, by date."""
    waiting = sorted(_sentences(material, centre), key=lambda one: (-one.score, one.place))
    several = len(material.chosen) >= SUMMARY_SENTENCES
    chosen: list[_Sentence] = []
    for one in waiting:
        if len(chosen) == SUMMARY_SENTENCES:
            break
        if several and any(one.place == other.place for other in chosen):
            continue
        if all(_shared(one, other) < REPEATED for other in chosen):
            chosen.append(one)
    chosen.sort(key=lambda one: (one.place, one.span.start))
    return tuple(
        SummarySentence(
            document_id=material.chosen[one.place].document_id, span=one.span, text=one.text
        )
        for one in chosen
    )


def terms_of(material: Material, centre: Centre) -> tuple[str, ...]:
    """The words that set the story apart, heaviest first, as they are mostly written."""
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in material.texts:
        for stem, word in spoken(text):
            written[stem][word] += 1
    heavy = sorted(
        (-centre.weights[code_of(stem)], stem)
        for stem in written
        if centre.weights.get(code_of(stem), 0.0) > 0
    )
    return tuple(
        min(written[stem], key=lambda word: (-written[stem][word], word))
        for _, stem in heavy[:TERMS]
    )


def sources_of(originals: Iterable[ItemRecord], documents: Mapping[str, DocumentFacts]) -> int:
    """How many independent sources tell the story: web hosts, or documents without one.

    Copies do not count: who prints another's text is no second witness.
    """
    found = set()
    for item in originals:
        facts = documents[item.document_id]
        found.add(_host(facts.url) or _host(facts.uri) or facts.id)
    return len(found)


def novelty_of(originals: Sequence[ItemRecord]) -> float:
    """0-1: how little the newest item repeats the middle of those before it; 1 for a lone one."""
    if len(originals) < 2:
        return 1.0
    near = Centre(originals[:-1]).nearness(unpacked(originals[-1].vector))
    return min(1.0, max(0.0, 1.0 - near))


def _sentences(material: Material, centre: Centre) -> Iterable[_Sentence]:
    for place, (item, text) in enumerate(zip(material.chosen, material.texts, strict=True)):
        for span in sentence_spans(text)[:LEAD_SENTENCES]:
            said = span.of(text)
            if not SHORTEST_SENTENCE <= len(said) <= LONGEST_SENTENCE:
                continue
            codes = frozenset(code_of(feature) for feature in counts("", said))
            yield _Sentence(
                place=place,
                span=Span(start=item.span.start + span.start, end=item.span.start + span.end),
                text=said,
                codes=codes,
                score=centre.worth(codes) / math.sqrt(len(codes) + 1),
            )


def _shared(one: _Sentence, other: _Sentence) -> float:
    return len(one.codes & other.codes) / max(1, min(len(one.codes), len(other.codes)))


def _host(address: str) -> str:
    parts = urlsplit(address)
    return (parts.hostname or "").removeprefix("www.") if parts.scheme in ("http", "https") else ""
