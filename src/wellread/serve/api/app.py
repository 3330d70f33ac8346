"""The HTTP interface over one open knowledge base."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from wellread.kb import KnowledgeBase
from wellread.serve.api import failures
from wellread.serve.api.answers import answers_router
from wellread.serve.api.ask import ask_router
from wellread.serve.api.check import check_router
from wellread.serve.api.entities import entities_router
from wellread.serve.api.jobs import jobs_router
from wellread.serve.api.library import library_router
from wellread.serve.api.middleware import BodyLimit, LocalNames, SecurityHeaders
from wellread.serve.api.schemas import HealthBody
from wellread.serve.api.search import search_router
from wellread.serve.api.sessions import sessions_router
from wellread.serve.api.similar import similar_router
from wellread.serve.api.topics import topics_router
from wellread.serve.api.usage import usage_router
from wellread.serve.api.view import view_router

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def create_app(kb: KnowledgeBase) -> FastAPI:
    """The application over ``kb``, which the caller opened and closes."""
    release = version("wellread")
    # No /docs: that page loads scripts from elsewhere. The description is at /openapi.json.
    app = FastAPI(title="Wellread", version=release, docs_url=None, redoc_url=None)
    failures.install(app)
    app.add_middleware(BodyLimit, limit=kb.settings.serve.max_request_bytes)
    app.add_middleware(LocalNames, names=LOCAL_NAMES)
    app.add_middleware(SecurityHeaders)
    app.include_router(ask_router(kb))
    app.include_router(check_router(kb))
    app.include_router(sessions_router(kb))
    app.include_router(answers_router(kb))
    app.include_router(view_router(kb))
    app.include_router(entities_router(kb))
    app.include_router(jobs_router(kb))
    app.include_router(search_router(kb))
    app.include_router(similar_router(kb))
    app.include_router(library_router(kb))
    app.include_router(topics_router(kb))
    app.include_router(usage_router(kb))
    app.mount("/static", StaticFiles(directory=str(files("wellread.serve.web") / "static")))

    @app.get("/healthz", response_model=HealthBody)
    def healthz() -> HealthBody:
        """Whether the server answers, and what it answers from."""
        stats = kb.catalogue.stats()
        return HealthBody(
            status="ok",
            documents=sum(row.documents for row in stats),
            passages=sum(row.passages for row in stats),
            version=release,
        )

    return app
