"""The routers of the HTTP interface, in the order in which the documentation lists their routes."""

from __future__ import annotations

from wellread.serve.api import ask_api, research_api
from wellread.serve.features import (
    documents_found,
    entities_shown,
    figures,
    gaps_and_coverage,
    home_and_jobs,
    kept_answers,
    material_found,
    people,
    timelines_shown,
)

API_ROUTERS = (
    ask_api.router,
    ask_api.query_router,
    research_api.router,
    kept_answers.router,
    home_and_jobs.router,
    entities_shown.router,
    timelines_shown.stories_router,
    material_found.router,
    documents_found.router,
    timelines_shown.router,
    kept_answers.feedback_router,
    gaps_and_coverage.router,
    gaps_and_coverage.coverage_router,
    figures.router,
    people.router,
)
