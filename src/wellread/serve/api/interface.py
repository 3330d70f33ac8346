"""The routers of the HTTP interface, in the order in which the documentation lists their routes."""

from __future__ import annotations

from wellread.serve.api import (
    ask_api,
    coverage_api,
    feedback_api,
    gaps_api,
    material_api,
    metrics_api,
    preferences_api,
    query_api,
    research_api,
    stored_api,
)

API_ROUTERS = tuple(
    one.router
    for one in (
        ask_api,
        query_api,
        research_api,
        stored_api,
        material_api,
        feedback_api,
        gaps_api,
        coverage_api,
        metrics_api,
        preferences_api,
    )
)
