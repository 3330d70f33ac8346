"""Routes of the library pages: documents, collections, adding, moving, removing, and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from wellread.errors import RequestError, SourceError, UnknownNameError
from wellread.ingest.sources.addresses import is_web
from wellread.ingest.sources.discover import local_path, uri_of
from wellread.kb import KnowledgeBase
from wellread.library.collection_changes import (
    MAX_NAME_CHARS,
    collection_choices,
    collection_name,
    sources_of,
)
from wellread.library.named_things import list_documents
from wellread.serve.features.documents_found import (
    CollectionChanges,
    NewCollection,
    add_material,
    change_collection,
    collections,
    create_collection,
    move_documents,
    queue_inputs,
    removable,
    remove_material,
    store_files,
    text_file,
)
from wellread.serve.features.feature import Limit, ListQuery, Offset, StrictModel
from wellread.serve.features.home_and_jobs import SAMPLE, Ingest, sample_inputs
from wellread.serve.features.home_and_jobs import job as job_detail
from wellread.serve.features.home_and_jobs import jobs as newest_jobs
from wellread.serve.features.people import check_may_edit, check_may_read
from wellread.serve.guards.route_rules import Kb, WholeKb, kb_to_change
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.rendering import page_response, page_router, render_page
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobItem
from wellread.types import DocumentFacts

router = page_router("read")
reads, edits = router.requiring("read", "edit")
UPLOAD_PATH = "/library/upload"
CollectionName = Annotated[str, Form(max_length=MAX_NAME_CHARS)]
MAX_TROUBLED = 200
MAX_SELECTED = 200  # documents that are asked, moved or removed together


class LibraryQuery(ListQuery):
    """Filters, order and paging of the document list; ``find``: words of titles and authors."""

    find: str = ""
    limit: int = Field(default=50, ge=1, le=MAX_SELECTED)


@reads.get("/library")
def library(kb: Kb, request: Request, query: Annotated[LibraryQuery, Query()]) -> Response:
    """A table of the documents with kind, collection, date, length and state."""
    page = list_documents(kb, query.filters(), words=query.find, **query.page)
    values = {
        "total": page.total,
        "documents": page.documents,
        # Found by its words already, but not yet by its meaning.
        "by_words": kb.catalogue.vectors.pending_among(
            listed.facts.id for listed in page.documents
        ),
        "troubled": kb.catalogue.troubled_sources(query.collections, MAX_TROUBLED),
        "running": any(job_.state == "running" for job_ in kb.catalogue.jobs.newest(5)),
        "asked": query,
        "choices": limit_choices(kb),
    }
    return render_page(request, "library.html", values)


# --- selected documents ----------------------------------------------------------------------


class SelectedQuery(StrictModel):
    """The documents chosen in the table, and what to do with them."""

    document: list[str] = Field(default=[], max_length=MAX_SELECTED)
    action: Literal["ask", "move", "remove"] = "ask"


@reads.get("/library/selected")
def selected(kb: Kb, request: Request, query: Annotated[SelectedQuery, Query()]) -> Response:
    """Ask the selected documents, or ask where to move them or whether to remove them."""
    if not query.document:
        raise RequestError("no document was chosen", hint="go back and choose at least one")
    if query.action == "ask":
        chosen = urlencode({"document": query.document}, doseq=True)
        return RedirectResponse(f"/?{chosen}", status_code=303)
    by_collection = sources_of(kb, query.document)
    ids = [
        document_id
        for name, uris in by_collection.items()
        for document_id in kb.catalogue.forgetting.documents_of_sources(name, uris)
    ]
    facts = kb.catalogue.facts({*query.document, *ids})
    values = {
        "action": query.action,
        "picked": [facts[document_id] for document_id in query.document],
        # They come from the same files as the chosen ones, and move with them.
        "along": [facts[name] for name in ids if name not in query.document],
        "collections": collection_choices(kb),
    }
    return render_page(request, "selected.html", values)


@edits.post("/library/move")
def move_selected(
    kb: Kb,
    request: Request,
    document: Annotated[list[str], Form(max_length=MAX_SELECTED)],
    collection: CollectionName,
) -> Response:
    """Move documents into a collection, which may be new."""
    name = collection_name(collection)
    move_documents(kb, request, document, name)
    chosen = urlencode({"collection": name})
    return RedirectResponse(f"/library?{chosen}", status_code=303)


@edits.post("/library/remove")
def remove(
    kb: Kb,
    request: Request,
    document: Annotated[list[str], Form(max_length=MAX_SELECTED)] = [],  # noqa: B006
    source: Annotated[list[str], Form(max_length=MAX_SELECTED)] = [],  # noqa: B006
    collection: CollectionName = "",
) -> Response:
    """Remove documents, or sources of one collection, with all derived data; show the proof."""
    sources = {collection: source} if source else {}
    facts = kb.catalogue.facts(document)
    for name in {one.collection for one in facts.values()}:
        sources[name] = removable(kb, [one for one in facts.values() if one.collection == name])
    if not sources:
        raise UnknownNameError("there are no such documents", hint="they may have been removed")
    for name in sources:
        check_may_edit(request, name)
    reports = [(name, remove_material(kb, request, name, of)) for name, of in sources.items()]
    return page_response(request, "removed.html", None, reports=reports)


# --- collections -----------------------------------------------------------------------------


@reads.get("/library/collections")
def collections_page(kb: Kb, request: Request, name: str = "") -> Response:
    """All collections, and the forms to change the one called ``name``."""
    body = collections(kb)
    picked = next((one for one in body.collections if one.name == name), None)
    return page_response(request, "collections.html", body, picked=picked)


def _changed() -> Response:
    return RedirectResponse("/library/collections", status_code=303)


@edits.post("/library/collections")
def make_collection(kb: Kb, request: Request, new: Annotated[NewCollection, Form()]) -> Response:
    """Make an empty collection."""
    create_collection(kb, request, new)
    return _changed()


class CollectionForm(CollectionChanges):
    """Changes of the collection that is called ``collection`` so far."""

    collection: str


@edits.post("/library/collections/change")
def change(kb: Kb, request: Request, form: Annotated[CollectionForm, Form()]) -> Response:
    """Rename or describe a collection, or merge it with another one."""
    change_collection(kb, request, form.collection, form)
    return _changed()


@edits.post("/library/collections/remove")
def remove_whole(kb: Kb, request: Request, collection: CollectionName) -> Response:
    """Remove a collection with all its documents, and show the proof."""
    reports = [(collection, remove_material(kb, request, collection, None))]
    return page_response(request, "removed.html", None, reports=reports)


# --- adding ----------------------------------------------------------------------------------


@edits.get("/library/add")
def add_page(kb: Kb, request: Request, collection: str = "", pane: bool = False) -> Response:
    """The forms for adding material; ``pane``: only the one for files, for the sheet."""
    values = {
        "collections": collection_choices(kb),
        "served": kb.settings.serve,
        "asked_for": collection,
    }
    return render_page(request, "parts/add_files.html" if pane else "add.html", values)


def _accepted(run: Job) -> Response:
    return RedirectResponse(f"/library/jobs/{run.id}", status_code=303)


@edits.post(UPLOAD_PATH)
async def upload(kb: Kb, ingest: Ingest, request: Request) -> Response:
    """Store the uploaded files and queue them for ingest."""
    return _accepted(await add_material(kb, ingest, request, replace=False))


@edits.post("/library/address")
def address(
    kb: Kb,
    request: Request,
    ingest: Ingest,
    entered: Annotated[str, Form(alias="address", min_length=1, max_length=2_000)],
    collection: CollectionName = "",
) -> Response:
    """Queue a web page, a feed, or a file or folder of this machine for ingest."""
    location = entered.strip()
    name = collection_name(collection)
    full_kb = kb_to_change(kb, name)
    check_may_edit(request, name)
    check_may_read(request, full_kb, name, [location])
    if not is_web(location) and not Path(local_path(location)).exists():
        raise SourceError(
            location, "is not a web address, file or folder", hint="give an absolute path"
        )
    return _accepted(queue_inputs(kb, ingest, request, name, [location]))


@edits.post("/library/text")
def text(
    kb: Kb,
    request: Request,
    ingest: Ingest,
    title: Annotated[str, Form(min_length=1, max_length=200)],
    body: Annotated[str, Form(alias="text", min_length=1)],
    collection: CollectionName = "",
) -> Response:
    """Store a pasted text as a Markdown file and queue it for ingest."""
    name = collection_name(collection)
    stored = store_files(kb, request, name, [text_file(title, body)])
    return _accepted(queue_inputs(kb, ingest, request, name, stored))


@edits.post("/library/sample")
def sample(kb: WholeKb, request: Request, ingest: Ingest) -> Response:
    """Queue the sample material that comes with the program."""
    return _accepted(queue_inputs(kb, ingest, request, SAMPLE, sample_inputs()))


# --- jobs ------------------------------------------------------------------------------------

REPEATABLE = ("add", "sync")  # actions that can be repeated with the job's inputs
MAX_ASKED = 50  # documents of a job that are asked by name; of more, the whole collection is


@edits.get("/library/jobs")
def jobs(
    kb: Kb, ingest: Ingest, request: Request, limit: Limit = 20, pane: bool = False
) -> Response:
    """The newest jobs and the queue; ``pane``: only the list, for a page that refreshes it."""
    body = newest_jobs(kb, limit)
    template = "parts/jobs.html" if pane else "jobs.html"
    running = ingest.busy(kb) or any(job_.state == "running" for job_ in body.jobs)
    return page_response(request, template, body, asked_for=ingest.unfinished(kb), running=running)


@edits.get("/library/jobs/{job_id}")
def job(
    kb: Kb,
    ingest: Ingest,
    request: Request,
    job_id: str,
    status: ItemStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    offset: Offset = 0,
    pane: bool = False,
) -> Response:
    """One job with a line for each source; ``pane``: only these, for a page that refreshes them."""
    body = job_detail(kb, ingest, job_id, status, limit, offset)
    found = kb.catalogue.jobs
    values: dict[str, Any] = {
        "again": body.job.action in REPEATABLE,
        "by_words": kb.catalogue.vectors.waiting_sources(
            body.job.collection, [item.uri for item in body.sources]
        ),
        "waiting": _not_read(body.job, body.sources) if not (status or offset) else [],
        "pace": _pace(body.job),
        "ready": _documents_of(kb, body.job, found.items(job_id, limit=MAX_ASKED + 1)),
    }
    return page_response(request, "parts/job.html" if pane else "job.html", body, **values)


def _not_read(job_: Job, items: Sequence[JobItem]) -> list[str]:
    """The files that a job was given and has not reported on yet; folders tell none."""
    if job_.state not in ("waiting", "running"):
        return []
    done = {item.uri for item in items}
    return [name for name in job_.named if (name if is_web(name) else uri_of(name)) not in done]


def _pace(job_: Job) -> tuple[float, float] | None:
    """Passages made ready per second so far, and the seconds left; None before it is known."""
    if job_.state != "running" or not job_.vectors or not job_.done:
        return None
    seconds = max((datetime.now(UTC) - job_.started_at).total_seconds(), 1.0)
    rate = job_.vectors / seconds
    expected = job_.passages * max(job_.total, 1) / job_.done
    return rate, max(0.0, expected - job_.vectors) / rate


def _documents_of(
    kb: KnowledgeBase, job_: Job, items: Sequence[JobItem]
) -> Sequence[DocumentFacts]:
    """The documents that an ended job has brought or found unchanged, at most ``MAX_ASKED + 1``."""
    if job_.state in ("waiting", "running") or job_.action not in REPEATABLE:
        return ()
    uris = [item.uri for item in items if item.status in ("added", "updated", "unchanged")]
    ids = kb.catalogue.forgetting.documents_of_sources(job_.collection, uris)
    return list(kb.catalogue.facts(ids[: MAX_ASKED + 1]).values())


@edits.post("/library/jobs/{job_id}/cancel")
def cancel(kb: Kb, request: Request, job_id: str) -> Response:
    """Ask a job to stop; documents already written stay."""
    job_ = _require_job(kb, job_id)
    check_may_edit(request, job_.collection)
    kb_to_change(kb, job_.collection).catalogue.jobs.cancel(job_.id)
    return RedirectResponse(f"/library/jobs/{job_id}", status_code=303)


@edits.post("/library/jobs/{job_id}/retry")
def retry(kb: Kb, ingest: Ingest, request: Request, job_id: str) -> Response:
    """Run a job again; finished and unchanged sources are skipped."""
    job_ = _require_job(kb, job_id)
    check_may_edit(request, job_.collection)
    if job_.action not in REPEATABLE:
        raise RequestError(f"a job of type {job_.action!r} cannot be run again here")
    check_may_read(request, kb_to_change(kb, job_.collection), job_.collection, job_.named)
    action: Literal["add", "sync"] = "sync" if job_.action == "sync" else "add"
    return _accepted(ingest.start(action, job_.named, job_.collection))


def _require_job(kb: KnowledgeBase, job_id: str) -> Job:
    job_ = kb.catalogue.jobs.get(job_id)
    if job_ is None:
        raise UnknownNameError(f"there is no job {job_id}", hint="/library/jobs lists them")
    return job_
