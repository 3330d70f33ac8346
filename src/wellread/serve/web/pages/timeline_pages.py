"""How a collection, an entity or a story went on: a chart of its periods, and what happened."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import field_validator

from wellread.kb import KnowledgeBase
from wellread.library.timelines import Window, timeline
from wellread.serve.api.queries import TimelineQuery
from wellread.serve.features.bodies import Body
from wellread.serve.features.timeline_views import timeline_body
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.charts import bar_chart
from wellread.serve.web.rendering import PageFormat, shown
from wellread.text.periods import first_moment, last_moment

router = APIRouter(include_in_schema=False)
MOST_NAMES = 300  # of each sort, that the form offers


class TimelinePageQuery(TimelineQuery, PageFormat):
    """The timeline of what is called ``name``."""

    name: str = ""

    @field_validator("kind", "unit", mode="before")
    @classmethod
    def _not_given(cls, value: Any) -> Any:
        """A form sends an empty value for what was left out."""
        return value or None


class TimelineNamesBody(Body):
    """What has a timeline; of the entities those that are named most, of the stories the latest."""

    collections: tuple[str, ...]
    entities: tuple[str, ...]
    stories: tuple[str, ...]


@router.get("/timeline")
def timeline_page(
    kb: Kb, request: Request, asked: Annotated[TimelinePageQuery, Query()]
) -> Response:
    """The form; with ``name`` how it went on, oldest first."""
    names = _names(kb)
    if not asked.name.strip():
        return shown(request, "timeline.html", names, asked=asked, names=names, found=None)
    window = Window(
        since=first_moment(asked.from_) if asked.from_ else None,
        until=last_moment(asked.to) if asked.to else None,
        limit=asked.limit,
    )
    made = timeline(kb, asked.name, window, collections=asked.collections, taken=asked.kind)
    body = timeline_body(asked.name, made, asked.unit)
    return shown(
        request,
        "timeline.html",
        body,
        asked=asked,
        names=names,
        found=body,
        chart=bar_chart([(one.label, one.count) for one in body.periods]),
    )


def _names(kb: KnowledgeBase) -> TimelineNamesBody:
    totals = kb.catalogue.graph.mention_totals(())
    nodes = kb.catalogue.graph.entities(())
    often = {key: total.documents for key, total in totals.items()}
    nodes.sort(key=lambda node: -often.get((node.collection, node.id), 0))
    stories = kb.catalogue.stories.latest(limit=MOST_NAMES)
    return TimelineNamesBody(
        collections=tuple(kb.catalogue.collection_names()),
        entities=tuple(dict.fromkeys(node.title for node in nodes[:MOST_NAMES])),
        stories=tuple(dict.fromkeys(story.title for story in stories)),
    )
