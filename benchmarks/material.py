"""Large homes of generated text with real shape, built through the stores' own seams.

Embedding 200,000 passages would take over an hour, so some thousand real passages (Optech
newsletters, cut and embedded by the product) are the pattern: every generated passage is one of
them with a third of its words drawn anew from the newsletters' word frequencies, and its vector is
that of its pattern with noise (cosine about 0.9). So word frequencies, lengths and the spread of
the vectors are real, a question finds passages near to it, and no two passages are alike.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from benchmarks.homes import default_embedder, open_home
from benchmarks.ingest import subset
from benchmarks.paths import CACHE
from wellread.identity import document_id, passage_id, version_of
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline.kinds import load
from wellread.ingest.pipeline.parse import split
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.word_pieces import count_tokens
from wellread.store.base import IndexRow
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Document, Kind, Passage, Span

logger = logging.getLogger(__name__)

PATTERN_FILES = 60
DRAWN_ANEW = 0.33
NOISE = 0.48  # length of the noise beside a unit vector: a cosine of about 0.9
PASSAGES_PER_DOCUMENT = 8
DOCUMENTS_AT_ONCE = 500
SEED = 11
PARAGRAPH = "\n\n"
COLLECTIONS = ("news", "archive")  # four documents of five, one of five
KINDS: tuple[Kind, ...] = ("article", "page", "paper", "transcript")
FIRST_DAY = datetime(2019, 1, 1, tzinfo=UTC)
DAYS = 2_000

_WORD = re.compile(r"[^\W\d_]{3,}")
_PIECE = re.compile(r"[^\W\d_]{3,}|.", re.DOTALL)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Real passages with their vectors, and the frequencies of their words."""

    texts: tuple[str, ...]
    vectors: Floats
    words: NDArray[np.str_]
    shares: NDArray[np.float64]


def generated_home(passages: int) -> KnowledgeBase:
    """The home of ``passages`` generated passages; built when it is not there yet."""
    kb = open_home(f"generated-{passages}")
    there = sum(facts.passages for facts in kb.catalogue.listings.kinds())
    if there == passages:
        return kb
    if there:
        raise SystemExit(f"{kb.home} is half built ({there} passages); remove it and run again")
    with open_kb(kb.home) as own:  # as commands do it: the embedder can be opened by its record
        own.catalogue.reindexing.claim(own.wanted_live())
    _build(kb, pattern(), passages)
    kb.index.optimize()
    return kb


def pattern() -> Pattern:
    """The pattern; its vectors are kept in the cache."""
    texts = tuple(pattern_texts())
    embedder = default_embedder()
    kept = CACHE / f"pattern-{PATTERN_FILES}.npy"
    if kept.exists() and (found := np.load(kept)).shape == (len(texts), embedder.dimensions):
        vectors = np.asarray(found, dtype=np.float32)
    else:
        vectors = embedder.embed(texts, "passage")
        np.save(kept, vectors)
    return shape_of(texts, vectors)


def shape_of(texts: tuple[str, ...], vectors: Floats) -> Pattern:
    """The texts and their vectors with the frequencies of their words."""
    counts = Counter(word for text in texts for word in _WORD.findall(text))
    words, numbers = zip(*sorted(counts.items()), strict=True)
    shares = np.asarray(numbers, dtype=np.float64)
    return Pattern(
        texts=texts, vectors=vectors, words=np.asarray(words), shares=shares / shares.sum()
    )


def pattern_texts() -> Iterator[str]:
    """What the newsletters are cut into."""
    for path in sorted(subset(PATTERN_FILES).glob("*.md")):
        source = Source(
            uri=path.as_uri(), name=path.name, data=path.read_bytes(), collection="p", path=path
        )
        for document in load(source, LoaderLimits()):
            for passage in split(document, 200, count_tokens):
                yield passage.text


def _build(kb: KnowledgeBase, shape: Pattern, passages: int) -> None:
    generator = np.random.default_rng(SEED)
    made = 0
    while made < passages:
        wanted = min(passages - made, DOCUMENTS_AT_ONCE * PASSAGES_PER_DOCUMENT)
        chosen = generator.integers(0, len(shape.texts), wanted)
        texts = vary([shape.texts[number] for number in chosen], shape, generator)
        changes, rows = _documents(texts, made // PASSAGES_PER_DOCUMENT)
        kb.index.write(rows, noisy(shape.vectors[chosen], generator))
        kb.catalogue.commit(changes)
        made += wanted
        logger.info("%d of %d passages", made, passages)


def vary(texts: Sequence[str], shape: Pattern, generator: np.random.Generator) -> list[str]:
    """Each text with a third of its words drawn anew; capitals stay where they were."""
    pieces = [_PIECE.findall(text) for text in texts]
    places = [
        (row, column)
        for row, parts in enumerate(pieces)
        for column, part in enumerate(parts)
        if len(part) >= 3
    ]
    chosen = np.flatnonzero(generator.random(len(places)) < DRAWN_ANEW)
    fresh = generator.choice(shape.words, size=len(chosen), p=shape.shares)
    for number, word in zip(chosen.tolist(), fresh.tolist(), strict=True):
        row, column = places[number]
        capital = pieces[row][column][0].isupper()
        pieces[row][column] = word.capitalize() if capital else word
    return ["".join(parts) for parts in pieces]


def noisy(vectors: Floats, generator: np.random.Generator) -> Floats:
    noise = generator.standard_normal(vectors.shape)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    moved: Floats = (vectors + noise).astype(np.float32)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved


def _documents(texts: Sequence[str], first: int) -> tuple[list[SourceChange], list[IndexRow]]:
    changes: list[SourceChange] = []
    rows: list[IndexRow] = []
    for start in range(0, len(texts), PASSAGES_PER_DOCUMENT):
        number = first + start // PASSAGES_PER_DOCUMENT
        document, passages = _document(texts[start : start + PASSAGES_PER_DOCUMENT], number)
        change = DocumentChange(document=document, passages=passages)
        record = SourceRecord(collection=document.collection, uri=document.uri)
        changes.append(SourceChange(record=record, documents=(change,)))
        rows += [_row(document, passage) for passage in passages]
    return changes, rows


def _document(texts: Sequence[str], number: int) -> tuple[Document, list[Passage]]:
    document = Document(
        collection=COLLECTIONS[number % 5 == 4],
        uri=f"https://eval.example/generated/{number}",
        kind=KINDS[number % len(KINDS)],
        title=f"Generated item {number}",
        text=PARAGRAPH.join(texts),
        published_at=FIRST_DAY + timedelta(days=number % DAYS),
    )
    known = document_id(document.collection, document.uri)
    version = version_of(document.text, document.marks)
    passages = []
    start = 0
    for text in texts:
        span = Span(start=start, end=start + len(text))
        passages.append(
            Passage(
                id=passage_id(known, version, span),
                document_id=known,
                version=version,
                span=span,
                text=text,
                context=document.title,
            )
        )
        start = span.end + len(PARAGRAPH)
    return document, passages


def _row(document: Document, passage: Passage) -> IndexRow:
    return IndexRow(
        passage_id=passage.id,
        document_id=passage.document_id,
        version=passage.version,
        span=passage.span,
        collection=document.collection,
        kind=document.kind,
        text=passage.text,
        context=passage.context,
        published_at=document.published_at,
    )


def questions(shape: Pattern, count: int, seed: int) -> list[str]:
    """Distinct questions of 2-8 words of one pattern each; every fifth has a word that no
    document has.
    """
    generator = np.random.default_rng(seed)
    openings = ("what about", "how does", "why is", "when was", "who proposed")
    made: dict[str, None] = {}
    while len(made) < count:
        words = sorted(set(_WORD.findall(shape.texts[generator.integers(len(shape.texts))])))
        words = [word for word in words if len(word) > 4]
        if len(words) < 8:
            continue
        picked = generator.choice(words, size=int(generator.integers(2, 9)), replace=False).tolist()
        if generator.random() < 0.2:
            picked.append(f"zorb{generator.integers(10_000)}lin")
        opening = openings[int(generator.integers(len(openings)))]
        made[f"{opening} {' '.join(picked)}?"] = None
    return list(made)
