"""From what was looked up to the JSON bodies of ``api/lookup_schemas.py``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.library.document_lists import Topic, WholeDocument
from wellread.library.recordings import Recording, Recordings, Transcript
from wellread.library.searches import Result, Results, Surroundings
from wellread.library.speaker_turns import Turn
from wellread.library.timeline_entries import Entry
from wellread.library.timelines import Timeline
from wellread.locators import link_to
from wellread.serve.api import lookup_schemas as schemas
from wellread.serve.api.schemas import PlaceBody, RankBody, SourceBody, SpanBody
from wellread.serve.present import view_url
from wellread.serve.timeline import Unit, periods, unit_for
from wellread.store.catalogue.documents.listings import DocumentPage, ListedDocument
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.types import DocumentFacts, Filters, Locator, Span

MOST_PERIODS = 1_000


# --- passages --------------------------------------------------------------------------------


def results_body(found: Results, mode: SearchMode | None) -> schemas.ResultsBody:
    """What a search found (by ``mode``), or a list has."""
    ranked = found.total is None
    return schemas.ResultsBody(
        query=found.query,
        mode=mode if ranked else None,
        limits=_limits(found.filters),
        total=found.total,
        results=tuple(result_body(one, ranked=ranked) for one in found.results),
    )


def result_body(result: Result, *, ranked: bool = False) -> schemas.ResultBody:
    """A passage; with its score and places when it was ``ranked``."""
    hit = result.hit
    return schemas.ResultBody(
        **_source(hit.document, result.span, result.text, result.locator),
        passage_id=hit.passage.id,
        collection=hit.document.collection,
        authors=hit.document.authors,
        speakers=hit.passage.speakers,
        score=hit.score if ranked else None,
        similarity=hit.similarity,
        ranks=tuple(
            RankBody(name=place.name, rank=place.rank, score=place.score) for place in hit.ranks
        ),
    )


def surroundings_body(found: Surroundings) -> schemas.SurroundingsBody:
    """A passage among those around it."""
    bodies = [result_body(one) for one in found.results]
    middle = next(place for place, body in enumerate(bodies) if body.passage_id == found.passage_id)
    return schemas.SurroundingsBody(
        document_id=found.document.id,
        title=found.document.title,
        passage_id=found.passage_id,
        ordinal=found.ordinal,
        passages=found.passages,
        before=tuple(bodies[:middle]),
        passage=bodies[middle],
        after=tuple(bodies[middle + 1 :]),
    )


# --- documents -------------------------------------------------------------------------------


def documents_body(page: DocumentPage, offset: int) -> schemas.DocumentsBody:
    """A page of documents."""
    return schemas.DocumentsBody(
        total=page.total,
        offset=offset,
        documents=tuple(schemas.DocumentBody(**_document(one)) for one in page.documents),
    )


def whole_document_body(found: WholeDocument, *, text: bool = True) -> schemas.WholeDocumentBody:
    """One document, with its text or without."""
    return schemas.WholeDocumentBody(
        **_document(found.listed),
        version=found.listed.facts.version,
        speakers=found.speakers,
        entities=tuple(
            schemas.NamedEntityBody(**_entity(one.node), mentions=len(one.places))
            for one in found.entities
        ),
        text=found.document.text if text else None,
    )


# --- recordings ------------------------------------------------------------------------------


def recordings_body(found: Recordings, offset: int) -> schemas.RecordingsBody:
    """A page of recordings."""
    return schemas.RecordingsBody(
        total=found.total,
        offset=offset,
        videos=tuple(schemas.RecordingBody(**_recording(one)) for one in found.recordings),
    )


def transcript_body(found: Transcript) -> schemas.TranscriptBody:
    """A transcript with its turns."""
    facts = found.recording.document.facts
    return schemas.TranscriptBody(
        **_recording(found.recording),
        total=found.total,
        turns=tuple(_turn(facts, turn) for turn in found.turns),
    )


# --- topics ----------------------------------------------------------------------------------


def topic_body(topic: Topic) -> schemas.TopicBody:
    """A collection with its counts."""
    return schemas.TopicBody(
        name=topic.name,
        documents=topic.documents,
        passages=topic.passages,
        kinds=topic.kinds,
        first=topic.first,
        last=topic.last,
        stories=topic.stories,
        entity_count=topic.entity_count,
        entities=tuple(
            schemas.OftenNamedBody(
                **_entity(one.node), mentioned_in=one.documents, mentions=one.mentions
            )
            for one in topic.entities
        ),
    )


def timeline_body(name: str, found: Timeline, unit: Unit | None = None) -> schemas.TimelineBody:
    """A timeline counted by ``unit``, or by the finest one that is readable.

    Raises:
        RequestError: there are more than ``MOST_PERIODS`` of these units.
    """
    dates = found.dates
    chosen = unit or (unit_for(dates[0], dates[-1]) if dates else "day")
    days = {"day": 1, "week": 7, "month": 28, "year": 365}[chosen]
    if dates and (dates[-1] - dates[0]).days > MOST_PERIODS * days:
        raise RequestError(
            f"from {dates[0]:%Y-%m-%d} to {dates[-1]:%Y-%m-%d} there are too many periods",
            hint="count by a longer one, or set from and to",
        )
    return schemas.TimelineBody(
        name=name,
        taken=found.taken,
        id=found.id,
        title=found.title,
        collections=found.collections,
        others=found.others,
        counted=found.counted,
        unit=chosen,
        periods=tuple(
            schemas.PeriodBody(label=one.label, start=one.start, count=one.count)
            for one in periods(dates, chosen)
        ),
        total=found.total,
        undated=found.undated,
        entries=tuple(_entry(one) for one in found.entries),
    )


# --- parts of bodies -------------------------------------------------------------------------


def _limits(filters: Filters) -> schemas.LimitsBody:
    return schemas.LimitsBody(
        collections=filters.collections,
        kinds=filters.kinds,
        speakers=filters.speakers,
        authors=filters.authors,
        languages=filters.languages,
        source_types=filters.source_types,
        taxonomy=tuple(f"{dimension}={value}" for dimension, value in filters.taxonomy),
        published_from=filters.published_from,
        published_to=filters.published_to,
    )


def _source(document: DocumentFacts, span: Span, text: str, locator: Locator) -> dict[str, Any]:
    url = document.url or document.uri
    return {
        "document_id": document.id,
        "title": document.title,
        "url": url,
        "link": link_to(url, locator, text, media_url=document.media_url),
        "view_url": view_url(document.id, document.version, span),
        "kind": document.kind,
        "source_type": document.source_type,
        "published_at": document.published_at,
        "locator": locator.label,
        "place": _place(locator),
        "quote": text,
        "source_span": SpanBody(start=span.start, end=span.end),
    }


def _place(locator: Locator) -> PlaceBody:
    return PlaceBody.model_validate(asdict(locator))


def _document(listed: ListedDocument) -> dict[str, Any]:
    facts = listed.facts
    return {
        "document_id": facts.id,
        "collection": facts.collection,
        "uri": facts.uri,
        "kind": facts.kind,
        "title": facts.title,
        "url": facts.url or facts.uri,
        "view_url": _view(facts.id),
        "source_type": facts.source_type,
        "language": facts.language,
        "authors": facts.authors,
        "published_at": facts.published_at,
        "added_at": listed.added_at,
        "media_url": facts.media_url,
        "summary": listed.summary,
        "taxonomy": dict(listed.taxonomy),
        "characters": facts.characters,
        "passages": listed.passages,
    }


def _recording(recording: Recording) -> dict[str, Any]:
    facts = recording.document.facts
    return {
        "document_id": facts.id,
        "collection": facts.collection,
        "kind": facts.kind,
        "title": facts.title,
        "url": facts.url or facts.uri,
        "view_url": _view(facts.id),
        "media_url": facts.media_url,
        "language": facts.language,
        "published_at": facts.published_at,
        "duration": recording.duration,
        "speakers": recording.speakers,
        "segments": recording.document.passages,
    }


def _turn(facts: DocumentFacts, turn: Turn) -> schemas.TurnBody:
    url = facts.url or facts.uri
    return schemas.TurnBody(
        speaker=turn.speaker,
        begin=turn.begin,
        finish=turn.finish,
        text=turn.text,
        locator=turn.locator.label,
        place=_place(turn.locator),
        link=link_to(url, turn.locator, turn.text, media_url=facts.media_url),
        view_url=view_url(facts.id, facts.version, turn.span),
        source_span=SpanBody(start=turn.span.start, end=turn.span.end),
        passage_id=turn.passage_id,
        cues=tuple(
            schemas.CueBody(
                source_span=SpanBody(start=cue.span.start, end=cue.span.end),
                begin=cue.begin,
                finish=cue.finish,
            )
            for cue in turn.cues
        ),
    )


def _entry(entry: Entry) -> schemas.EntryBody:
    source = None
    if entry.document and entry.span and entry.locator:
        source = SourceBody(**_source(entry.document, entry.span, entry.text, entry.locator))
    return schemas.EntryBody(
        kind=entry.kind,
        at=entry.at,
        last=entry.last,
        title=entry.title,
        count=entry.count,
        story_id=entry.story_id or None,
        repeats=entry.repeats,
        source=source,
        passage_id=entry.passage_id or None,
    )


def _entity(node: EntityNode) -> dict[str, Any]:
    return {
        "collection": node.collection,
        "id": node.id,
        "type": node.type,
        "title": node.title,
        "document_id": node.document_id,
        "view_url": _view(node.document_id),
    }


def _view(document_id: str) -> str:
    return f"/view/{quote(document_id, safe='')}"
