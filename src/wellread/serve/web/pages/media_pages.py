"""Recordings: when, how long, who speaks."""

from __future__ import annotations

from typing import Annotated, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from wellread.library.recordings import recordings
from wellread.serve.api.queries import ListQuery
from wellread.serve.features.document_views import recordings_body
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.rendering import PageFormat, shown
from wellread.store.catalogue.documents.listings import Order

router = APIRouter(include_in_schema=False)


class MediaQuery(ListQuery, PageFormat):
    """A page of the list of recordings."""


@router.get("/media")
def media(kb: Kb, request: Request, asked: Annotated[MediaQuery, Query()]) -> Response:
    """Transcripts, and what else has a recording, a page of them."""
    found = recordings(
        kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order
    )
    body = recordings_body(found, asked.offset)
    more = asked.offset + len(body.videos) < body.total
    return shown(
        request,
        "media.html",
        body,
        asked=asked,
        choices=limit_choices(kb),
        orders=get_args(Order),
        more=more,
    )
