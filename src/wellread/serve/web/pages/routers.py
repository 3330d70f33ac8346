"""The routers of the pages, in the order of the navigation."""

from __future__ import annotations

from wellread.serve.web.pages import (
    answer_pages,
    ask_pages,
    conversation_pages,
    document_pages,
    job_pages,
    library_pages,
)
from wellread.serve.web.pages.home import usage_pages

PAGE_ROUTERS = tuple(
    one.router
    for one in (
        ask_pages,
        answer_pages,
        conversation_pages,
        document_pages,
        library_pages,
        job_pages,
        usage_pages,
    )
)
