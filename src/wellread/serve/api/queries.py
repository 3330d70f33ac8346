"""The query parameters that look-ups share, and what they stand for.

A parameter that is not known is refused, so that a misspelt limit is not taken for none.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from wellread.ask.retrieve.past_questions import Comparison
from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.library.named_things import pair_of
from wellread.library.timelines import Taken
from wellread.serve.features.bodies import ErrorBody
from wellread.serve.features.entity_listing import EntityOrder
from wellread.serve.features.timeline_views import Unit
from wellread.store.catalogue.documents.listings import Order
from wellread.text.periods import window_of
from wellread.types import Filters, Kind

MOST_RESULTS = 200
DEEPEST = 1_000  # results of a search that may be left out in front
FAR = 1_000_000_000
MOST_SIMILAR = 50
RowNumber = Annotated[int, Field(ge=0, lt=2**63)]
"""The number of a row: no database has one beyond."""

REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "A parameter is unknown, missing or out of range"},
    404: {"model": ErrorBody, "description": "A name that nothing has"},
}


class StrictModel(BaseModel):
    """What is asked for; a field or parameter that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class ScopeQuery(StrictModel):
    """In which collections to look; both names are repeatable and mean the same."""

    topic: list[str] = []
    collection: list[str] = []

    @property
    def collections(self) -> tuple[str, ...]:
        """All collections that were named."""
        return tuple(dict.fromkeys(_given([*self.topic, *self.collection])))


class FieldsQuery(ScopeQuery):
    """By what documents are told apart. Values of one field are alternatives, fields add up."""

    kind: list[Kind] = []
    author: list[str] = []
    language: list[str] = []
    source_type: list[str] = []
    taxonomy: list[str] = Field(default=[], description="dimension=value")

    def limits(self, since: str, until: str, speakers: list[str]) -> Filters:
        """What the parameters limit a search to.

        Raises:
            RequestError: a date or field that is none, or a window that ends before it begins.
        """
        start, end = window_of(since, until, hint="swap the two dates")
        return Filters(
            collections=self.collections,
            kinds=tuple(self.kind),
            source_types=_given(self.source_type),
            languages=_given(self.language),
            authors=_given(self.author),
            speakers=_given(speakers),
            published_from=start,
            published_to=end,
            taxonomy=tuple(pair_of(field) for field in _given(self.taxonomy)),
        )


class DatedQuery(FieldsQuery):
    """With the first and last day of publication, both inclusive."""

    from_: str = Field(default="", alias="from")
    to: str = ""


class RankedQuery(BaseModel):
    """What is ranked, and which part of the list; without a query there is no ranking."""

    query: str = ""
    mode: SearchMode = "hybrid"
    limit: int = Field(default=10, ge=1, le=MOST_RESULTS)
    offset: int = Field(default=0, ge=0, le=DEEPEST)


class SearchQuery(RankedQuery, DatedQuery):
    """A search by words."""

    query: str
    speaker: list[str] = []

    def filters(self) -> Filters:
        """The limits of the search."""
        return self.limits(self.from_, self.to, self.speaker)


class SpeakerQuery(RankedQuery, DatedQuery):
    """What one speaker says, about the query or at all."""


class DateRangeQuery(RankedQuery, FieldsQuery):
    """What was published in a time, about the query or at all."""

    start: str = ""
    end: str = ""
    speaker: list[str] = []

    def filters(self) -> Filters:
        """The limits of the search.

        Raises:
            RequestError: neither a start nor an end is given, or as ``limits``.
        """
        if not (self.start or self.end):
            raise RequestError(
                "the date range has neither start nor end", hint="give start, end or both"
            )
        return self.limits(self.start, self.end, self.speaker)


class ListQuery(DatedQuery):
    """A page of a list of documents."""

    speaker: list[str] = []
    order: Order = "newest"
    limit: int = Field(default=20, ge=1, le=MOST_RESULTS)
    offset: int = Field(default=0, ge=0, le=FAR)

    def filters(self) -> Filters:
        """The limits of the list."""
        return self.limits(self.from_, self.to, self.speaker)


class DocumentQuery(ScopeQuery):
    """One document; ``text``: with its text."""

    text: bool = True


class TranscriptQuery(ScopeQuery):
    """A transcript, or the turns of one speaker or some time (seconds, ``MM:SS``, ``H:MM:SS``)."""

    speaker: str = ""
    from_: str = Field(default="", alias="from")
    to: str = ""


class ContextQuery(ScopeQuery):
    """How many passages around one."""

    before: int = Field(default=2, ge=0, le=50)
    after: int = Field(default=2, ge=0, le=50)


class TopicsQuery(ScopeQuery):
    """Collections, with how many entities of each."""

    entities: int = Field(default=10, ge=0, le=MOST_RESULTS)


class TimelineQuery(ScopeQuery):
    """A timeline between two days; ``kind`` takes the name for this only."""

    from_: str = Field(default="", alias="from")
    to: str = ""
    kind: Taken | None = None
    unit: Unit | None = None
    limit: int = Field(default=50, ge=1, le=1_000)


class EntitiesQuery(ScopeQuery):
    """A page of the list of entities; ``query`` is a part of a name."""

    query: str = Field(default="", max_length=500)
    type: list[str] = []
    order: EntityOrder = "mentions"
    limit: int = Field(default=50, ge=1, le=MOST_RESULTS)
    offset: int = Field(default=0, ge=0, le=FAR)


class StoriesQuery(ScopeQuery):
    """A page of the list of stories with news in a window, or of those about ``query``."""

    query: str = Field(default="", max_length=4_000)
    from_: str = Field(default="", alias="from")
    to: str = ""
    limit: int = Field(default=20, ge=1, le=MOST_RESULTS)
    offset: int = Field(default=0, ge=0, le=DEEPEST)


class SimilarQuery(ScopeQuery):
    """A question, and which past questions are wanted; what is not given is as in the settings."""

    question: str
    rating: int | None = Field(default=None, ge=0, le=100)
    compare: Comparison = "lt"
    language: str = ""
    threshold: float | None = Field(default=None, ge=-1, le=1)
    limit: int | None = Field(default=None, ge=1, le=MOST_SIMILAR)


def event_after(last_event_id: str) -> int | None:
    """The number in the header ``Last-Event-ID``; None when it holds none of an event."""
    given = last_event_id.strip()
    is_one = given.isascii() and given.isdecimal() and len(given) < len(str(FAR))
    return int(given) if is_one else None


def _given(values: list[str]) -> tuple[str, ...]:
    """The values without empty ones, which forms send for what was left out."""
    return tuple(value for value in values if value.strip())
