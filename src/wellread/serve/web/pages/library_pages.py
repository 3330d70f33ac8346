"""The library: what there is, adding to it by file, address or text, and removing with proof."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

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
from wellread.library.named_things import Topic, listed, topics
from wellread.library.uploads import keep_upload, uploaded_file, uploads_below
from wellread.serve.features.feature import ListQuery, Many, Offset
from wellread.serve.features.home_and_jobs import job as one_job
from wellread.serve.features.home_and_jobs import jobs as newest_jobs
from wellread.serve.features.people import check_may_edit, check_may_read
from wellread.serve.guards.route_rules import Kb, WholeKb, to_change
from wellread.serve.views import FACES, Shape
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.rendering import drawn, page_router, shown, wants_json
from wellread.serve.web.runs import Ingest
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.store.catalogue.run_logs import ItemStatus, Job
from wellread.store.schema.stored_values import SourceRecord

router = page_router()

UPLOAD_PATH = "/library/upload"
LONGEST_COLLECTION = 80
SAMPLE = "halden-sound"
SAMPLE_FOLDERS = ("commons", "news", "pages", "papers", "questions", "transcripts")
CollectionName = Annotated[str, Form(max_length=LONGEST_COLLECTION)]


class LibraryQuery(ListQuery):
    """Which documents are listed."""

    limit: int = Field(default=50, ge=1, le=200)


DocumentState = Literal["ready", "words ready"]
MOST_TROUBLED = 200

FACES.show(SourceRecord, "collection uri status reason")


class LibraryDocument(Shape, line="*document state source uploaded"):
    """A document with its state: ``words ready`` is found by its words, and not yet by meaning.

    ``source`` is how it is named to remove it; ``uploaded``: its file lies in the home.
    """

    document: ListedDocument
    state: DocumentState
    source: str
    uploaded: bool


class LibraryBody(Shape):
    """Collections, a page of their documents, and what could not be read."""

    collections: tuple[Topic, ...]
    total: int
    offset: int
    documents: tuple[LibraryDocument, ...]
    troubled: tuple[SourceRecord, ...]


class TakenBody(Shape):
    """What was given and waits to be read."""

    collection: str
    inputs: tuple[str, ...]


@router.get("/library")
def library(kb: Kb, request: Request, asked: Annotated[LibraryQuery, Query()]) -> Response:
    """Documents with kind, date and state, a page of them."""
    page = listed(kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order)
    owing = kb.catalogue.vectors.owing(one.facts.id for one in page.documents)
    sources = kb.catalogue.known_sources(one.facts.uri for one in page.documents)

    def line(one: ListedDocument) -> LibraryDocument:
        facts = one.facts
        return LibraryDocument(
            document=one,
            state="words ready" if facts.id in owing else "ready",
            source=facts.uri if (facts.collection, facts.uri) in sources else facts.id,
            uploaded=uploaded_file(kb, facts.uri) is not None,
        )

    body = LibraryBody(
        collections=tuple(topics(kb, asked.collections, entities=0)),
        total=page.total,
        offset=asked.offset,
        documents=tuple(map(line, page.documents)),
        troubled=tuple(kb.catalogue.troubled_sources(asked.collections, MOST_TROUBLED)),
    )
    return shown(request, "library.html", body, asked=asked, choices=limit_choices(kb))


@router.get("/library/add")
def add_page(kb: Kb, request: Request) -> Response:
    """The forms that add something."""
    served = kb.settings.serve
    values = {"choices": limit_choices(kb), "served": served}
    return drawn(request, "add.html", values)


@router.post(UPLOAD_PATH)
async def upload(kb: Kb, ingest: Ingest, request: Request) -> Response:
    """Keep the files of a form in the home, and read them."""
    most = kb.settings.serve.max_upload_files
    async with request.form(max_files=most, max_fields=20) as form:
        given = [one for one in form.getlist("files") if isinstance(one, UploadFile)]
        named = [(one.filename or "", one.file) for one in given if one.filename]
        collection = _collection(str(form.get("collection") or ""))
        check_may_edit(request, collection)
        replace = bool(form.get("replace"))
        whole = to_change(kb, collection)
        kept = await to_thread.run_sync(_keep, whole, collection, named, replace)
    return _taken(request, ingest, kept, collection)


def _keep(
    kb: KnowledgeBase, collection: str, named: Sequence[tuple[str, BinaryIO]], replace: bool
) -> list[str]:
    if not named:
        raise RequestError("no file was given", hint="choose at least one")
    return [
        str(keep_upload(kb, collection, name, stream, replace=replace)) for name, stream in named
    ]


@router.post("/library/address")
def address(
    kb: Kb,
    request: Request,
    ingest: Ingest,
    given: Annotated[str, Form(alias="address", min_length=1, max_length=2_000)],
    collection: CollectionName = "",
) -> Response:
    """Read a web page, a feed, a file or a folder of this machine."""
    wanted = given.strip()
    name = _collection(collection)
    whole = to_change(kb, name)
    check_may_edit(request, name)
    check_may_read(request, whole, name, [wanted])
    if not is_web(wanted) and not Path(local_path(wanted)).exists():
        raise SourceError(
            wanted, "is no address and no file or folder of this machine", hint="give a whole path"
        )
    return _taken(request, ingest, [wanted], name)


@router.post("/library/text")
def text(
    kb: Kb,
    request: Request,
    ingest: Ingest,
    title: Annotated[str, Form(min_length=1, max_length=200)],
    said: Annotated[str, Form(alias="text", min_length=1)],
    collection: CollectionName = "",
) -> Response:
    """Keep a pasted text as a Markdown file in the home, and read it."""
    name = _collection(collection)
    check_may_edit(request, name)
    words = " ".join(title.split())
    content = f"# {words}\n\n{said.replace(chr(13), '')}\n"
    kept = keep_upload(to_change(kb, name), name, f"{words[:80]}.md", io.BytesIO(content.encode()))
    return _taken(request, ingest, [str(kept)], name)


@router.post("/library/sample")
def sample(_kb: WholeKb, request: Request, ingest: Ingest) -> Response:
    """Read the sample that comes with the program."""
    check_may_edit(request, SAMPLE)
    with as_file(files("wellread.sample")) as folder:
        inputs = [str(folder / name) for name in SAMPLE_FOLDERS]
    return _taken(request, ingest, inputs, SAMPLE)


@router.post("/library/remove")
async def remove(
    kb: Kb,
    request: Request,
    source: Annotated[list[str], Form()],
    collection: Annotated[str, Form()],
) -> Response:
    """Remove documents or sources with everything that was made of them, and prove it."""
    check_may_edit(request, collection)
    request.state.changed = f"{collection}, {len(source)} sources"  # for the audit log
    body = await to_thread.run_sync(_remove, kb, collection, source)
    return shown(request, "removed.html", body, collection=collection)


def _remove(kb: KnowledgeBase, collection: str, sources: Sequence[str]) -> RemoveReport:
    """Remove, the kept files first: the proof looks into every file of the home.

    They come back when the removal is refused.
    """
    whole = _to_remove(kb, collection, sources)
    held = {path: path.read_bytes() for source in sources for path in _kept(whole, source)}
    for path in held:
        path.unlink()
    try:
        report = remove_named(whole, collection, list(sources))
    except BaseException:
        for path, data in held.items():
            path.write_bytes(data)
        raise
    if not sees_all(kb):  # what hung on it elsewhere, and says the same, is not theirs to know
        report = dataclasses.replace(report, counts={}, answers=0, shared=0, traces=())
    return report


def _to_remove(kb: KnowledgeBase, collection: str, sources: Sequence[str]) -> KnowledgeBase:
    """The whole knowledge base, once all of ``sources`` are of the asker's collection."""
    whole = to_change(kb, collection)
    if sees_all(kb):
        return whole
    for source in sources:
        facts = kb.catalogue.facts([source]).get(source)
        inside = facts is not None and facts.collection == collection
        if not inside and kb.catalogue.source(collection, source) is None:
            raise UnknownNameError(f"there is nothing called {source!r} in {collection!r}")
    return whole


def _kept(kb: KnowledgeBase, source: str) -> list[Path]:
    return list(uploads_below(kb, source)) if source.startswith("file:") else []


def _collection(given: str) -> str:
    return " ".join(given.split())[:LONGEST_COLLECTION] or "default"


def _taken(request: Request, ingest: Ingest, inputs: Sequence[str], collection: str) -> Response:
    request.state.changed = f"{collection}, {len(inputs)} sources"  # for the audit log
    ingest.start("add", inputs, collection)
    if wants_json(request):
        body = TakenBody(collection=collection, inputs=tuple(inputs))
        return shown(request, "", body, status=202)
    return RedirectResponse("/library/jobs", status_code=303)


AGAIN = ("add", "sync")  # what can be run again with the inputs that the job knows


@router.get("/library/jobs")
def jobs(
    kb: Kb, ingest: Ingest, request: Request, limit: Many = 20, pane: bool = False
) -> Response:
    """The newest runs, and what waits; ``pane``: only the list, for a page that looks on."""
    body = newest_jobs(kb, limit)
    template = "parts/jobs.html" if pane else "jobs.html"
    running = ingest.busy(kb) or any(one.state == "running" for one in body.jobs)
    return shown(request, template, body, asked_for=ingest.open_ones(kb), running=running)


@router.get("/library/jobs/{job_id}")
def job(
    kb: Kb,
    request: Request,
    job_id: str,
    status: ItemStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    offset: Offset = 0,
    pane: bool = False,
) -> Response:
    """One run with a line for each source."""
    body = one_job(kb, job_id, status, limit, offset)
    template = "parts/job.html" if pane else "job.html"
    return shown(request, template, body, again=body.job.action in AGAIN)


@router.post("/library/jobs/{job_id}/cancel")
def cancel(kb: Kb, request: Request, job_id: str) -> Response:
    """Ask a run to stop; what it has written stays."""
    found = _known(kb, job_id)
    check_may_edit(request, found.collection)
    to_change(kb, found.collection).catalogue.jobs.cancel(found.id)
    return RedirectResponse(f"/library/jobs/{job_id}", status_code=303)


@router.post("/library/jobs/{job_id}/retry")
def retry(kb: Kb, ingest: Ingest, request: Request, job_id: str) -> Response:
    """Run it again: what is done and unchanged is skipped."""
    found = _known(kb, job_id)
    check_may_edit(request, found.collection)
    if found.action not in AGAIN:
        raise RequestError(f"a job that does {found.action} cannot be run again here")
    check_may_read(request, to_change(kb, found.collection), found.collection, found.named)
    ingest.start("sync" if found.action == "sync" else "add", found.named, found.collection)
    return RedirectResponse("/library/jobs", status_code=303)


def _known(kb: KnowledgeBase, job_id: str) -> Job:
    found = kb.catalogue.jobs.get(job_id)
    if found is None:
        raise UnknownNameError(f"there is no job {job_id}", hint="/library/jobs lists them")
    return found
