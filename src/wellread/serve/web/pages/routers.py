"""The routers of the pages, in the order of the navigation."""

from __future__ import annotations

from wellread.serve.web.pages import (
    account_pages,
    ask_pages,
    document_pages,
    learning_pages,
    library_pages,
    lookup_pages,
)

PAGE_ROUTERS = tuple(
    pages.router
    for pages in (
        ask_pages,
        document_pages,
        library_pages,
        lookup_pages,
        learning_pages,
        account_pages,
    )
)
