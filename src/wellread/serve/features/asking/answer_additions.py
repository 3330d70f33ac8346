"""What can be shown beside an answer: the text around its quotations, and the scope's coverage."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from rich.console import Console
from rich.text import Text

from wellread.ask.aggregate.execute import CatalogueRequest, worked_out
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body
from wellread.serve.features.catalogue_queries import (
    CatalogueResponse,
    print_catalogue,
    worked_out_body,
)
from wellread.text.sentences import sentence_spans
from wellread.types import Filters, Span
from wellread.values.answers import Answer

REACH = 600  # characters on either side of a quotation that are looked at
NEIGHBOURS = 2  # sentences on either side that are shown
MOST_DIMENSIONS, MOST_PAIRS, MOST_ROWS = 6, 3, 100


class QuoteContextBody(Body):
    """The sentences before and after the quotation of citation ``number``."""

    number: int
    before: str
    after: str


def quote_contexts(kb: KnowledgeBase, answer: Answer) -> tuple[QuoteContextBody, ...]:
    """What stands around each quotation; of a source that has changed since, nothing.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    live = kb.catalogue.live_versions([one.document_id for one in answer.citations])
    cited = [one for one in answer.citations if live.get(one.document_id) == one.version]
    facts = kb.catalogue.facts({one.document_id for one in cited}) if cited else {}
    places: list[tuple[str, Span]] = []
    for one in cited:
        span, size = one.source_span, facts[one.document_id].characters
        places.append((one.document_id, Span(start=max(0, span.start - REACH), end=span.start)))
        places.append((one.document_id, Span(start=span.end, end=min(size, span.end + REACH))))
    texts = kb.catalogue.texts(places) if places else []
    pairs = zip(cited, texts[::2], texts[1::2], strict=True)
    return tuple(
        QuoteContextBody(number=one.id, before=_last(before), after=_first(after))
        for one, before, after in pairs
    )


def _last(text: str) -> str:
    spans = sentence_spans(text)[-NEIGHBOURS:]
    cut = len(text) >= REACH and len(spans) < NEIGHBOURS  # it begins in the middle of a sentence
    told = " ".join(span.of(text) for span in spans)
    return f"… {told.partition(' ')[2]}" if cut and spans else told


def _first(text: str) -> str:
    spans = sentence_spans(text)[:NEIGHBOURS]
    cut = len(text) >= REACH and bool(spans) and spans[-1].end >= len(text.rstrip())
    told = " ".join(span.of(text) for span in spans)
    return f"{told.rpartition(' ')[0]} …" if cut else told


def scope_coverage(kb: KnowledgeBase, filters: Filters) -> tuple[CatalogueResponse, ...]:
    """The coverage of the taxonomy within ``filters``: each dimension, then pairs of them.

    Without a taxonomy, how the documents divide over collections, kinds and years.

    Raises:
        UnknownCollectionError: a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    held = vocabulary_of(kb, filters.collections).dimensions
    dimensions = sorted(held)[:MOST_DIMENSIONS]
    asked: list[tuple[str, ...]] = [(one,) for one in dimensions]
    asked += list(combinations(dimensions, 2))[:MOST_PAIRS]
    fields = [CatalogueRequest(form="coverage", by=by, limit=MOST_ROWS) for by in asked or [()]]
    return tuple(worked_out_body(worked_out(kb, one, filters)) for one in fields)


def print_coverage(console: Console, bodies: Sequence[CatalogueResponse]) -> None:
    """Each part of the coverage under one heading."""
    console.print()
    console.print(Text("Coverage of what the question could be answered from", style="bold"))
    for body in bodies:
        print_catalogue(console, body)
