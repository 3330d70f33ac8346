"""Routes of the library pages: list documents; add files, addresses or text; remove; jobs."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

from anyio import to_thread
from fastapi import Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field
from starlette.datastructures import UploadFile

from wellread.errors import RequestError, SourceError, UnknownNameError
from wellread.ingest.remove import RemoveReport, remove_named
from wellread.ingest.sources.addresses import is_web
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import sees_all
from wellread.library.named_things import list_documents
from wellread.library.uploads import keep_upload, uploaded_file, uploads_below
from wellread.serve.features.feature import Limit, ListQuery, Offset
from wellread.serve.features.home_and_jobs import SAMPLE, Ingest, sample_inputs
from wellread.serve.features.home_and_jobs import job as job_detail
from wellread.serve.features.home_and_jobs import jobs as newest_jobs
from wellread.serve.features.people import check_may_edit, check_may_read
from wellread.serve.guards.route_rules import Kb, WholeKb, kb_to_change
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.rendering import page_response, page_router, render_page
from wellread.store.catalogue.run_logs import ItemStatus, Job

router = page_router("read")
reads, edits = router.requiring("read", "edit")
UPLOAD_PATH = "/library/upload"
MAX_COLLECTION_CHARS = 80
CollectionName = Annotated[str, Form(max_length=MAX_COLLECTION_CHARS)]


class LibraryQuery(ListQuery):
    """Filters and paging of the document list."""

    limit: int = Field(default=50, ge=1, le=200)


MAX_TROUBLED = 200


@reads.get("/library")
def library(kb: Kb, request: Request, query: Annotated[LibraryQuery, Query()]) -> Response:
    """A page of documents with kind, date and state."""
    filters, part = query.filters(), {"limit": query.limit, "offset": query.offset}
    page = list_documents(kb, filters, order=query.order, **part)
    unembedded = kb.catalogue.vectors.pending_among(listed.facts.id for listed in page.documents)
    sources = kb.catalogue.known_sources(listed.facts.uri for listed in page.documents)

    documents = [
        {
            "listed": listed,
            # "words ready": found by its words already, but not yet by meaning.
            "state": "words ready" if listed.facts.id in unembedded else "ready",
            "source": listed.facts.uri
            if (listed.facts.collection, listed.facts.uri) in sources
            else listed.facts.id,
            "uploaded": uploaded_file(kb, listed.facts.uri) is not None,
        }
        for listed in page.documents
    ]
    values = {
        "total": page.total,
        "documents": documents,
        "troubled": kb.catalogue.troubled_sources(query.collections, MAX_TROUBLED),
        "asked": query,
        "choices": limit_choices(kb),
    }
    return render_page(request, "library.html", values)


@edits.get("/library/add")
def add_page(kb: Kb, request: Request) -> Response:
    """The forms for adding material."""
    served = kb.settings.serve
    values = {"choices": limit_choices(kb), "served": served}
    return render_page(request, "add.html", values)


@edits.post(UPLOAD_PATH)
async def upload(kb: Kb, ingest: Ingest, request: Request) -> Response:
    """Store the uploaded files and queue them for ingest."""
    max_files = kb.settings.serve.max_upload_files
    async with request.form(max_files=max_files, max_fields=20) as form:
        files_ = [field for field in form.getlist("files") if isinstance(field, UploadFile)]
        uploads = [(file.filename or "", file.file) for file in files_ if file.filename]
        collection = _collection(str(form.get("collection") or ""))
        check_may_edit(request, collection)
        replace = bool(form.get("replace"))
        full_kb = kb_to_change(kb, collection)
        stored = await to_thread.run_sync(_store_uploads, full_kb, collection, uploads, replace)
    return _accepted(request, ingest, stored, collection)


def _store_uploads(
    kb: KnowledgeBase, collection: str, named: Sequence[tuple[str, BinaryIO]], replace: bool
) -> list[str]:
    if not named:
        raise RequestError("no file was chosen", hint="choose at least one")
    return [
        str(keep_upload(kb, collection, name, stream, replace=replace)) for name, stream in named
    ]


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
    name = _collection(collection)
    full_kb = kb_to_change(kb, name)
    check_may_edit(request, name)
    check_may_read(request, full_kb, name, [location])
    if not is_web(location) and not Path(local_path(location)).exists():
        raise SourceError(
            location, "is not a web address, file or folder", hint="give an absolute path"
        )
    return _accepted(request, ingest, [location], name)


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
    name = _collection(collection)
    check_may_edit(request, name)
    heading = " ".join(title.split())
    content = f"# {heading}\n\n{body.replace(chr(13), '')}\n"
    stored = keep_upload(
        kb_to_change(kb, name), name, f"{heading[:80]}.md", io.BytesIO(content.encode())
    )
    return _accepted(request, ingest, [str(stored)], name)


@edits.post("/library/sample")
def sample(_kb: WholeKb, request: Request, ingest: Ingest) -> Response:
    """Queue the sample material that comes with the program."""
    check_may_edit(request, SAMPLE)
    return _accepted(request, ingest, sample_inputs(), SAMPLE)


@edits.post("/library/remove")
async def remove(
    kb: Kb,
    request: Request,
    source: Annotated[list[str], Form()],
    collection: Annotated[str, Form()],
) -> Response:
    """Remove documents or sources with all derived data, and show the proof."""
    check_may_edit(request, collection)
    request.state.changed = f"{collection}, {len(source)} sources"  # for the audit log
    body = await to_thread.run_sync(_remove, kb, collection, source)
    show = partial(page_response, request, "removed.html", body, collection=collection)
    return await to_thread.run_sync(show)


def _remove(kb: KnowledgeBase, collection: str, sources: Sequence[str]) -> RemoveReport:
    """Remove the sources, their stored files first, since the proof searches all stored files.

    The files are restored when the removal is refused.
    """
    full_kb = _to_remove(kb, collection, sources)
    contents = {
        path: path.read_bytes() for source in sources for path in _stored_files(full_kb, source)
    }
    for path in contents:
        path.unlink()
    try:
        report = remove_named(full_kb, collection, list(sources))
    except BaseException:
        for path, data in contents.items():
            path.write_bytes(data)
        raise
    if not sees_all(kb):  # do not reveal what other collections hold
        report = dataclasses.replace(report, counts={}, answers=0, shared=0, traces=())
    return report


def _to_remove(kb: KnowledgeBase, collection: str, sources: Sequence[str]) -> KnowledgeBase:
    """The unrestricted knowledge base, after checking that ``sources`` are in the collection."""
    full_kb = kb_to_change(kb, collection)
    if sees_all(kb):
        return full_kb
    for source in sources:
        facts = kb.catalogue.facts([source]).get(source)
        in_collection = facts is not None and facts.collection == collection
        if not in_collection and kb.catalogue.source(collection, source) is None:
            raise UnknownNameError(f"{collection!r} has no document or source {source!r}")
    return full_kb


def _stored_files(kb: KnowledgeBase, source: str) -> list[Path]:
    return list(uploads_below(kb, source)) if source.startswith("file:") else []


def _collection(name: str) -> str:
    return " ".join(name.split())[:MAX_COLLECTION_CHARS] or "default"


def _accepted(request: Request, ingest: Ingest, inputs: Sequence[str], collection: str) -> Response:
    request.state.changed = f"{collection}, {len(inputs)} sources"  # for the audit log
    ingest.start("add", inputs, collection)
    return RedirectResponse("/library/jobs", status_code=303)


REPEATABLE = ("add", "sync")  # actions that can be repeated with the job's inputs


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
    """One job with a line for each source."""
    body = job_detail(kb, ingest, job_id, status, limit, offset)
    template = "parts/job.html" if pane else "job.html"
    return page_response(request, template, body, again=body.job.action in REPEATABLE)


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
    ingest.start("sync" if job_.action == "sync" else "add", job_.named, job_.collection)
    return RedirectResponse("/library/jobs", status_code=303)


def _require_job(kb: KnowledgeBase, job_id: str) -> Job:
    job_ = kb.catalogue.jobs.get(job_id)
    if job_ is None:
        raise UnknownNameError(f"there is no job {job_id}", hint="/library/jobs lists them")
    return job_
