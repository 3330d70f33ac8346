"""The routers of the pages, in the order of the navigation."""

from __future__ import annotations

from wellread.serve.web.pages import (
    answer_pages,
    ask_pages,
    conversation_pages,
    document_pages,
    entity_pages,
    job_pages,
    library_pages,
    media_pages,
    search_pages,
    story_pages,
    timeline_pages,
)
from wellread.serve.web.pages.accounts import account_pages, sign_in_pages, user_pages
from wellread.serve.web.pages.home import health_pages, settings_pages, usage_pages
from wellread.serve.web.pages.learning import (
    coverage_pages,
    feedback_pages,
    gap_pages,
    metrics_pages,
    notice_pages,
    preference_pages,
)

PAGE_ROUTERS = tuple(
    one.router
    for one in (
        ask_pages,
        answer_pages,
        feedback_pages,
        conversation_pages,
        document_pages,
        library_pages,
        job_pages,
        search_pages,
        story_pages,
        entity_pages,
        timeline_pages,
        media_pages,
        coverage_pages,
        gap_pages,
        metrics_pages,
        preference_pages,
        notice_pages,
        usage_pages,
        settings_pages,
        health_pages,
        sign_in_pages,
        account_pages,
        user_pages,
    )
)
