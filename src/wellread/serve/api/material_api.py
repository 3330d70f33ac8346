"""``GET`` routes over the material: search, documents, recordings, topics, entities, questions;
and over what was done to it: jobs, ``/api/usage``, ``/healthz``."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, HTTPException, Query, Request

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import StoryQuery
from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import whole_of
from wellread.library.named_things import listed, topics, whole
from wellread.library.recordings import recordings, transcript
from wellread.library.searches import around
from wellread.library.timelines import Window, timeline
from wellread.serve.api.queries import (
    FAR,
    REFUSED,
    ContextQuery,
    DateRangeQuery,
    DocumentQuery,
    EntitiesQuery,
    ListQuery,
    SearchQuery,
    SimilarQuery,
    SpeakerQuery,
    StoriesQuery,
    TimelineQuery,
    TopicsQuery,
    TranscriptQuery,
)
from wellread.serve.error_shapes import ProblemError
from wellread.serve.features.accounts.editing_rights import check_may_edit
from wellread.serve.features.bodies import Body, ErrorBody
from wellread.serve.features.document_views import (
    DocumentsBody,
    RecordingsBody,
    TranscriptBody,
    WholeDocumentBody,
    documents_body,
    recordings_body,
    transcript_body,
    whole_document_body,
)
from wellread.serve.features.entity_listing import EntitiesBody, entities_body
from wellread.serve.features.entity_views import EntityBody, entity_body, unknown_entity
from wellread.serve.features.job_views import (
    MOST_DAYS,
    JobBody,
    JobDetailBody,
    JobsBody,
    UsageReportBody,
    usage_body,
)
from wellread.serve.features.passage_views import (
    ResultsBody,
    SimilarBody,
    SurroundingsBody,
    found_body,
    ranked_body,
    similar_body,
    surroundings_body,
    wanted_like,
)
from wellread.serve.features.story_views import StoryListBody, story_list_body
from wellread.serve.features.timeline_views import (
    TimelineBody,
    TopicsBody,
    timeline_body,
    topic_body,
)
from wellread.serve.guards.asking_rights import Kb, note_opened, to_change
from wellread.store.catalogue.run_logs import ItemStatus, Job
from wellread.store.schema.account_values import Rights
from wellread.text.periods import first_moment, last_moment, seconds_of, window_of
from wellread.types import Filters

router = APIRouter()


class HealthBody(Body):
    """Whether the server answers, and what it answers from."""

    status: Literal["ok"]
    documents: int
    passages: int
    version: str


@router.get("/api/jobs", response_model=JobsBody)
def jobs(kb: Kb, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> JobsBody:
    """The newest runs, newest first."""
    end_dead_jobs(whole_of(kb))
    waiting = kb.catalogue.vectors.passages_owed()
    return JobsBody.of(jobs=kb.catalogue.jobs.newest(limit), waiting=waiting)


@router.get("/api/jobs/{job_id}", response_model=JobDetailBody)
def job(
    kb: Kb,
    job_id: str,
    status: ItemStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=FAR)] = 0,
) -> JobDetailBody:
    """One run with its sources, in the order in which they were done."""
    end_dead_jobs(whole_of(kb))
    found = _job(kb, job_id)
    items = kb.catalogue.jobs.items(found.id, status, limit, offset)
    return JobDetailBody.of(found, counts=kb.catalogue.jobs.counts(found.id), sources=items)


@router.post("/api/jobs/{job_id}/cancel", response_model=JobBody)
def cancel(kb: Kb, request: Request, job_id: str) -> JobBody:
    """Ask a running job to stop; what it has written stays. 404 when it is not running."""
    found = _job(kb, job_id)
    check_may_edit(request, found.collection)
    if not to_change(kb, found.collection).catalogue.jobs.cancel(found.id):
        raise HTTPException(404, f"job {job_id} is not running")
    return JobBody.of(found)


@router.get("/api/usage", response_model=UsageReportBody)
def usage(kb: Kb, days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 30) -> UsageReportBody:
    """Calls of models by day, purpose and model, and the budgets as they stand."""
    return usage_body(kb, days)


@router.get("/healthz", response_model=HealthBody)
async def healthz(kb: Kb, request: Request) -> HealthBody:
    """Whether the server answers, and what it answers from; 0 to who is not signed in."""
    room = request.app.state.room_for_health
    counted = "read" in request.state.rights.scopes
    return await to_thread.run_sync(_health, kb, counted, limiter=room)


def _health(kb: KnowledgeBase, counted: bool) -> HealthBody:
    stats = kb.catalogue.stats()  # also where nothing is told: it shows that they can be read
    if not counted:
        stats = []
    return HealthBody(
        status="ok",
        documents=sum(row.documents for row in stats),
        passages=sum(row.passages for row in stats),
        version=version("wellread"),
    )


def _job(kb: KnowledgeBase, job_id: str) -> Job:
    found = kb.catalogue.jobs.get(job_id)
    if found is None:
        raise HTTPException(404, f"there is no job {job_id}")
    return found


TOPICS = "GET /api/topics lists what is named most"

refusing = APIRouter(responses=REFUSED)


# A name may be an address or an id with slashes.
@router.get(
    "/api/entities/{name:path}",
    response_model=EntityBody,
    responses={404: {"model": ErrorBody, "description": "No such entity or collection"}},
)
def entity(
    kb: Kb,
    name: str,
    collection: Annotated[list[str] | None, Query()] = None,
    limit: Annotated[int, Query(ge=0, le=200)] = 20,
) -> EntityBody:
    """The entity with this id, title, alias or address; ``limit`` is of ``mentions``."""
    scope = tuple(collection or ())
    check_collections(kb, Filters(collections=scope))
    body = entity_body(kb, scope, name, limit)
    if body is None:
        raise ProblemError(unknown_entity(kb, scope, name, lists=TOPICS))
    return body


@refusing.get("/api/entities", response_model=EntitiesBody)
def list_entities(kb: Kb, asked: Annotated[EntitiesQuery, Query()]) -> EntitiesBody:
    """Entities, those that most documents name first, a page of them."""
    check_collections(kb, Filters(collections=asked.collections))
    types = [one for one in asked.type if one.strip()] or None
    page = (asked.limit, asked.offset)
    return entities_body(kb, asked.collections, types, page, part=asked.query, order=asked.order)


@refusing.get("/api/stories", response_model=StoryListBody)
def list_stories(kb: Kb, asked: Annotated[StoriesQuery, Query()]) -> StoryListBody:
    """Stories, the latest first, or with ``query`` the best first; a page of them."""
    since, until = window_of(asked.from_, asked.to, hint="swap the two dates")
    wanted = StoryQuery(text=asked.query, collections=asked.collections, since=since, until=until)
    return story_list_body(kb, wanted, (asked.limit, asked.offset))


@refusing.get("/api/search", response_model=ResultsBody)
def search_passages(kb: Kb, asked: Annotated[SearchQuery, Query()]) -> ResultsBody:
    """The best passages for ``query``, best first."""
    return ranked_body(kb, asked.query, asked.filters(), asked.mode, (asked.limit, asked.offset))


# A name may hold a slash.
@refusing.get("/api/search/speaker/{name:path}", response_model=ResultsBody)
def by_speaker(kb: Kb, name: str, asked: Annotated[SpeakerQuery, Query()]) -> ResultsBody:
    """What the speaker says about ``query``; without one all of it, newest first."""
    limits = asked.limits(asked.from_, asked.to, [name])
    return found_body(kb, asked.query, limits, asked.mode, (asked.limit, asked.offset))


@refusing.get("/api/search/date-range", response_model=ResultsBody)
def by_date(kb: Kb, asked: Annotated[DateRangeQuery, Query()]) -> ResultsBody:
    """What was published from ``start`` to ``end``; without a query newest first."""
    return found_body(kb, asked.query, asked.filters(), asked.mode, (asked.limit, asked.offset))


@refusing.get("/api/segments/{passage_id}/context", response_model=SurroundingsBody)
def context(
    kb: Kb, request: Request, passage_id: str, asked: Annotated[ContextQuery, Query()]
) -> SurroundingsBody:
    """A passage with those before and after it in its document."""
    found = around(kb, passage_id, asked.before, asked.after, asked.collections)
    note_opened(request, found.document.id)
    return surroundings_body(found)


@refusing.get("/api/similar", response_model=SimilarBody)
def similar(kb: Kb, request: Request, asked: Annotated[SimilarQuery, Query()]) -> SimilarBody:
    """Past questions like ``question`` that have an answer and feedback.

    Those that others asked here only where the collection is named. What experts explained is for
    who may edit it.
    """
    wanted = wanted_like(
        kb,
        asked.collections,
        rating=(asked.rating, asked.compare),
        language=asked.language,
        threshold=asked.threshold,
        limit=asked.limit,
    )
    if not asked.collections:
        wanted = replace(wanted, owner=kb.asker.owner)
    rights: Rights = request.state.rights
    return similar_body(kb, asked.question, wanted, rights.may_edit)


@refusing.get("/api/documents", response_model=DocumentsBody)
def documents(kb: Kb, asked: Annotated[ListQuery, Query()]) -> DocumentsBody:
    """The documents that meet the limits, a page of them."""
    page = listed(kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order)
    return documents_body(page, asked.offset)


# An id, a title, or an address with slashes.
@refusing.get("/api/documents/{name:path}", response_model=WholeDocumentBody)
def document(
    kb: Kb, request: Request, name: str, asked: Annotated[DocumentQuery, Query()]
) -> WholeDocumentBody:
    """The document with this id, title or address."""
    found = whole(kb, name, asked.collections)
    note_opened(request, found.listed.facts.id)
    return whole_document_body(found, text=asked.text)


@refusing.get("/api/videos", response_model=RecordingsBody)
def videos(kb: Kb, asked: Annotated[ListQuery, Query()]) -> RecordingsBody:
    """Transcripts, and what else has a recording, a page of them."""
    found = recordings(
        kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order
    )
    return recordings_body(found, asked.offset)


@refusing.get("/api/videos/{name:path}/transcript", response_model=TranscriptBody)
def whole_transcript(
    kb: Kb, request: Request, name: str, asked: Annotated[TranscriptQuery, Query()]
) -> TranscriptBody:
    """The recording turn by turn, or the turns of one speaker or some time."""
    found = transcript(
        kb,
        name,
        collections=asked.collections,
        speaker=asked.speaker,
        since=seconds_of(asked.from_) if asked.from_ else None,
        until=seconds_of(asked.to) if asked.to else None,
    )
    note_opened(request, found.recording.document.facts.id)
    return transcript_body(found)


@refusing.get("/api/topics", response_model=TopicsBody)
def list_topics(kb: Kb, asked: Annotated[TopicsQuery, Query()]) -> TopicsBody:
    """The collections that a question can be scoped to, with what is named most in each."""
    found = topics(kb, asked.collections, entities=asked.entities)
    return TopicsBody(topics=tuple(topic_body(one) for one in found))


@refusing.get("/api/topics/{name:path}/timeline", response_model=TimelineBody)
def topic_timeline(kb: Kb, name: str, asked: Annotated[TimelineQuery, Query()]) -> TimelineBody:
    """How the collection, entity or story of this name went on, oldest first."""
    window = Window(
        since=first_moment(asked.from_) if asked.from_ else None,
        until=last_moment(asked.to) if asked.to else None,
        limit=asked.limit,
    )
    found = timeline(kb, name, window, collections=asked.collections, taken=asked.kind)
    return timeline_body(name, found, asked.unit)


router.routes.extend(refusing.routes)  # one list: what judges a request looks through it
