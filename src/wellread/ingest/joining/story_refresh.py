"""Updates a collection's entity mentions and news stories at the end of a run.

Entity names are searched for (``mention_linking.py``), and stories are built: documents are
split into news items, items are clustered into stories, and stories get a title and a summary.

Every step commits one transaction per batch and reads the remaining work from the catalogue, so
that a killed pass continues where it stopped, and a pass without changes costs a query or two.
Items are clustered in the order of their dates (``story_clusters.py``). When the items of a story
change, its title, summary and terms are written again; they quote the items verbatim.

A news item is a whole article, unless the article is a digest (a newsletter, a weekly round-up):
then each top-level list item is a news item, with the paragraphs that follow it, and so is each
section without a list (long ones are split at paragraphs). Lead-ins ("this week's newsletter
summarises …"), contents lists, footnotes and stubs are not news items.
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
    content_words,
    feature_counts,
    pack_signature,
    pack_vector,
    unpack_signature,
    unpack_vector,
)
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.story_records import (
    ItemRecord,
    StoryMaterial,
    StoryText,
    SummarySentence,
    WaitingDocument,
)
from wellread.text.sentences import HEAD_CHARS, part_title, sentence_spans
from wellread.types import Document, DocumentFacts, HeadingMark, Span

MIN_CHARACTERS = 45  # characters; a shorter list item is a line of a contents list or a stub
MIN_ITEMS = 3  # a document with this many substantial list items is a digest …
MIN_LIST_SHARE = 0.4  # … if they make up this share of its text
MAX_PROSE = 2_000  # characters; longer prose without a list is split at paragraphs
MAX_LEAD_IN = 600  # characters; longer paragraphs before a list are news items themselves

_BLOCK = re.compile(r"\S.*?(?=\n\n|\Z)", re.DOTALL)
_BULLET = re.compile(r"^[-*•] +(?=\S)", re.MULTILINE)
# A list item that continues a sentence begun before the list.
_CONTINUES = re.compile(r"[a-z]+ ")
_NAMED_DIGEST = re.compile(
    r"\b(newsletter|digest|round-?up|briefing|bulletin|week in|weekly|year[- ]in[- ]review)\b",
    re.IGNORECASE,
)
_NO_NEWS = re.compile(r"(footnotes?|notes|references|(table of )?contents)", re.IGNORECASE)

Section = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of the text under one heading; ``listed``: a list item with what follows it."""

    span: Span
    section: Section
    listed: bool


def news_items(document: Document) -> list[Span]:
    """Return the spans of the news items of ``document``, in order and without overlaps.

    An article that is not a digest is one item. So is a digest that has no substantial part, so
    that no article is lost.
    """
    parts = _parts(document)
    if _is_digest(document, parts):
        items = [part.span for part in _news_parts(parts)]
        if items:
            return items
    text = document.text
    start = len(text) - len(text.lstrip())
    return [Span(start=start, end=max(start, len(text.rstrip())))]


def _parts(document: Document) -> list[_Part]:
    parts: list[_Part] = []
    for span, section, listed in _pieces(document):
        last = parts[-1] if parts else None
        full = last and not last.listed and span.end - last.span.start > MAX_PROSE
        if last is None or last.section != section or listed or full:
            parts.append(_Part(span=span, section=section, listed=listed))
        else:
            parts[-1] = replace(last, span=Span(start=last.span.start, end=span.end))
    return parts


def _pieces(document: Document) -> Iterator[tuple[Span, Section, bool]]:
    """Yield paragraphs and list items in reading order: span, section, starts a list item."""
    text = document.text
    headings = sorted(
        (mark for mark in document.marks if isinstance(mark, HeadingMark)),
        key=lambda mark: (mark.start, -mark.end),
    )
    section: Section = ()
    heading: int | None = None  # start of the heading line directly above
    remaining = iter([*headings, None])
    following = next(remaining)
    for block in _BLOCK.finditer(text):
        while following and following.start <= block.start():
            section, following = following.path, next(remaining)
        if section and block.group().strip() == section[-1]:
            heading = block.start()
            continue
        starts = [match.start() for match in _BULLET.finditer(text, block.start(), block.end())]
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
    listed = [len(part.span) for part in parts if part.listed and len(part.span) >= MIN_CHARACTERS]
    return len(listed) >= MIN_ITEMS and sum(listed) >= MIN_LIST_SHARE * len(document.text)


def _news_parts(parts: list[_Part]) -> Iterator[_Part]:
    with_list = {part.section for part in parts if part.listed}
    for part in parts:
        leads_in = not part.section or (part.section in with_list and len(part.span) <= MAX_LEAD_IN)
        stub = len(part.span) < MIN_CHARACTERS
        aside = bool(part.section and _NO_NEWS.fullmatch(part.section[-1]))
        if not stub and not aside and (part.listed or not leads_in):
            yield part


logger = logging.getLogger(__name__)

BATCH_ITEMS = 500  # items stored in one transaction
TEXTS_PER_BATCH = 64  # stories that get their text in one transaction


class StoryReport(NamedTuple):
    """Numbers of documents split, of items, of copies among them, and of stories with new text."""

    documents: int = 0
    items: int = 0
    repeats: int = 0
    updated: int = 0


def finish_run(kb: KnowledgeBase, collection: str) -> None:
    """Update mentions and stories and expire feedback. Cheap without changes, and safe to kill."""
    linked = link_mentions(kb.catalogue, collection)
    stories = refresh_stories(kb, collection)
    if linked or stories.documents or stories.updated:
        kb.catalogue.answer_cache.joined(collection)  # cached answers lack the new links
    kb.catalogue.expiry.sweep()


def refresh_stories(kb: KnowledgeBase, collection: str) -> StoryReport:
    """Update a collection's stories; rebuild all of them if the rules or settings have changed."""
    settings, stored = kb.settings.stories, kb.catalogue.stories
    if not settings.enabled:
        return StoryReport()
    # Changes with everything that decides which items are in which story.
    rules = f"{SCHEME}/{settings.join_threshold}/{settings.window_days}"
    if stored.begin(collection, rules):
        logger.info("rebuilding the stories of %s, because the settings changed", collection)
    stored.drop_others(collection, settings.kinds)
    documents = items = repeats = updated = 0
    if new_documents := stored.waiting(collection, settings.kinds):
        clusters = _clusters(kb, collection)
        for batch in _batches(kb, collection, clusters, new_documents):
            stored.keep(collection, batch)
            documents += len({item.document_id for item in batch})
            items += len(batch)
            repeats += sum(item.repeats is not None for item in batch)
    story_ids = stored.without_text(collection)
    for start in range(0, len(story_ids), TEXTS_PER_BATCH):
        updated += _write_texts(kb, story_ids[start : start + TEXTS_PER_BATCH])
    if story_ids:
        stored.drop_empty(collection)
        logger.info("%s: %d new news items, %d stories updated", collection, items, updated)
    return StoryReport(documents=documents, items=items, repeats=repeats, updated=updated)


def _clusters(kb: KnowledgeBase, collection: str) -> Clusters:
    settings = kb.settings.stories
    window = timedelta(days=settings.window_days) if settings.window_days else None
    clusters = Clusters(settings.join_threshold, window)
    clusters.restore(
        (
            PlacedItem(
                key=item.key,
                story=item.story_id,
                vector=unpack_vector(item.vector),
                signature=unpack_signature(item.fingerprint),
                repeats=item.repeats,
            ),
            item.published_at,
        )
        for item in kb.catalogue.stories.placed(collection)
    )
    return clusters


def _batches(
    kb: KnowledgeBase, collection: str, clusters: Clusters, new_documents: Sequence[WaitingDocument]
) -> Iterator[list[ItemRecord]]:
    """Place the items of each document into stories, by date; yield them in batches."""
    batch: list[ItemRecord] = []
    for pending in new_documents:
        document = kb.catalogue.document(pending.document_id)
        if document is None:
            continue  # the document was removed meanwhile
        for span in news_items(document):
            text = span.of(document.text)
            title = part_title(span, text[:HEAD_CHARS], document.title, len(document.text))
            new_story_id = tagged_hash(
                "sty", collection, pending.document_id, pending.version, span.start
            )
            key = (pending.document_id, span.start)
            placed = clusters.place(key, title, text, pending.published_at, new_story_id)
            batch.append(
                ItemRecord(
                    document_id=pending.document_id,
                    version=pending.version,
                    span=span,
                    story_id=placed.story,
                    published_at=pending.published_at,
                    vector=pack_vector(placed.vector),
                    fingerprint=pack_signature(placed.signature),
                    repeats=placed.repeats,
                )
            )
        if len(batch) >= BATCH_ITEMS:
            yield batch
            batch = []
    if batch:
        yield batch


def _write_texts(kb: KnowledgeBase, story_ids: Sequence[str]) -> int:
    stored = kb.catalogue.stories
    materials = [(story_id, stored.material(story_id, central_items)) for story_id in story_ids]
    return stored.set_texts(
        [
            (story_id, material.items, story_text(material))
            for story_id, material in materials
            if material.items
        ]
    )


CENTRAL_ITEMS = 12  # items whose texts are read, besides the newest one
LEAD_SENTENCES = 4  # sentences read at the start of an item, where the main facts are
SUMMARY_SENTENCES = 3
MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 40, 320
MAX_SHARED_WORDS = 0.5  # share of common words from which a sentence repeats an earlier one
MAX_TERMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    item_index: int  # of its item among the items read
    span: Span
    text: str
    codes: frozenset[int]
    score: float


class Centre:
    """The centre of a story: the heaviest common features of its original items."""

    def __init__(self, items: Iterable[ItemRecord]) -> None:
        total: defaultdict[int, float] = defaultdict(float)
        for item in items:
            for code, weight in unpack_vector(item.vector).items():
                total[code] += weight
        self.weights = centre_of(total)

    def nearness(self, vector: Vector) -> float:
        """Return the cosine similarity of an item's vector with the centre."""
        return sum(weight * self.weights.get(code, 0.0) for code, weight in vector.items())

    def weight_of(self, codes: Iterable[int]) -> float:
        """Return the sum of the features' weights in the centre."""
        return sum(self.weights.get(code, 0.0) for code in codes)


def central_items(items: Sequence[ItemRecord]) -> list[ItemRecord]:
    """Return the items nearest to the centre of their story and the newest one, by date."""
    originals = [item for item in items if item.repeats is None] or list(items)
    centre = Centre(originals)
    nearest = sorted(
        range(len(originals)),
        key=lambda index: (-centre.nearness(unpack_vector(originals[index].vector)), index),
    )
    chosen = sorted({*nearest[:CENTRAL_ITEMS], len(originals) - 1})
    return [originals[index] for index in chosen]


def story_text(material: StoryMaterial) -> StoryText:
    """Write the text of a story: title, summary, terms and figures."""
    originals = [item for item in material.items if item.repeats is None] or material.items
    centre = Centre(originals)
    return StoryText(
        title=title_of(material, centre),
        summary=summary_of(material, centre),
        terms=terms_of(material, centre),
        centre=pack_vector(centre.weights),
        scheme=SCHEME,
        sources=sources_of(originals, material.documents),
        novelty=novelty_of(originals),
    )


def title_of(material: StoryMaterial, centre: Centre) -> str:
    """Return the headline that covers most of the story's centre for its length."""
    titles = []
    for index, (item, text) in enumerate(zip(material.chosen, material.texts, strict=True)):
        facts = material.documents[item.document_id]
        title = part_title(item.span, text, facts.title, facts.characters)
        codes = [code_of(feature) for feature in feature_counts(title, "")]
        coverage = centre.weight_of(codes) / math.sqrt(len(codes) + 1)
        nearness = centre.nearness(unpack_vector(item.vector))
        titles.append((-coverage * nearness, index, title))
    *_, best = min(titles)
    return best


def summary_of(material: StoryMaterial, centre: Centre) -> tuple[SummarySentence, ...]:
    """Return up to three central sentences by date, from different items if there are enough."""
    sentences = _sentences(material, centre)
    ranked = sorted(sentences, key=lambda sentence: (-sentence.score, sentence.item_index))
    enough_items = len(material.chosen) >= SUMMARY_SENTENCES
    chosen: list[_Sentence] = []
    for sentence in ranked:
        if len(chosen) == SUMMARY_SENTENCES:
            break
        if enough_items and any(sentence.item_index == other.item_index for other in chosen):
            continue
        if all(_shared_words(sentence, other) < MAX_SHARED_WORDS for other in chosen):
            chosen.append(sentence)
    chosen.sort(key=lambda sentence: (sentence.item_index, sentence.span.start))
    document_ids = [material.chosen[sentence.item_index].document_id for sentence in chosen]
    return tuple(
        SummarySentence(document_id=document_id, span=sentence.span, text=sentence.text)
        for document_id, sentence in zip(document_ids, chosen, strict=True)
    )


def terms_of(material: StoryMaterial, centre: Centre) -> tuple[str, ...]:
    """Return the heaviest words of the story's centre, in their most frequent spelling."""
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in material.texts:
        for stem, word in content_words(text):
            written[stem][word] += 1
    heavy = sorted(
        (-centre.weights[code_of(stem)], stem)
        for stem in written
        if centre.weights.get(code_of(stem), 0.0) > 0
    )
    return tuple(
        min(written[stem], key=lambda word: (-written[stem][word], word))
        for _, stem in heavy[:MAX_TERMS]
    )


def sources_of(originals: Iterable[ItemRecord], documents: Mapping[str, DocumentFacts]) -> int:
    """Count independent sources: web hosts, or documents without one. Reprints do not count."""
    origins = set()
    for item in originals:
        facts = documents[item.document_id]
        origins.add(_host(facts.url) or _host(facts.uri) or facts.id)
    return len(origins)


def novelty_of(originals: Sequence[ItemRecord]) -> float:
    """Return the novelty of the newest item: 1 minus its similarity to the earlier ones."""
    if len(originals) < 2:
        return 1.0
    nearness = Centre(originals[:-1]).nearness(unpack_vector(originals[-1].vector))
    return min(1.0, max(0.0, 1.0 - nearness))


def _sentences(material: StoryMaterial, centre: Centre) -> Iterable[_Sentence]:
    for index, (item, text) in enumerate(zip(material.chosen, material.texts, strict=True)):
        for span in sentence_spans(text)[:LEAD_SENTENCES]:
            sentence_text = span.of(text)
            if not MIN_SENTENCE_CHARS <= len(sentence_text) <= MAX_SENTENCE_CHARS:
                continue
            codes = frozenset(code_of(feature) for feature in feature_counts("", sentence_text))
            yield _Sentence(
                item_index=index,
                span=Span(start=item.span.start + span.start, end=item.span.start + span.end),
                text=sentence_text,
                codes=codes,
                score=centre.weight_of(codes) / math.sqrt(len(codes) + 1),
            )


def _shared_words(sentence: _Sentence, other: _Sentence) -> float:
    return len(sentence.codes & other.codes) / max(1, min(len(sentence.codes), len(other.codes)))


def _host(address: str) -> str:
    parts = urlsplit(address)
    return (parts.hostname or "").removeprefix("www.") if parts.scheme in ("http", "https") else ""
