"""What the tools are called with. A field that is not known is refused: a misspelt limit must not
be taken for none."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from wellread.text.periods import window_of
from wellread.types import Filters, Kind, Mode

MOST_SOURCES = 100
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Arguments(BaseModel):
    """The base of them all."""

    model_config = ConfigDict(extra="forbid")


class Limited(Arguments):
    """What a question or a list is limited to."""

    collection: str | None = Field(
        default=None, min_length=1, description="only this collection; list_documents names them"
    )
    kinds: tuple[Kind, ...] = Field(default=(), description="only these kinds of document")
    speakers: tuple[str, ...] = Field(default=(), description="only what these people said")
    since: str = Field(default="", description="published on or after: 2025, 2025-10, 2025-10-14")
    until: str = Field(default="", description="published on or before")

    def filters(self, collections: tuple[str, ...]) -> Filters:
        """The limits, within ``collections``.

        Raises:
            RequestError: a date that is none, or a window that ends before it begins.
        """
        start, end = window_of(self.since, self.until, hint="swap since and until")
        return Filters(
            collections=collections,
            kinds=self.kinds,
            speakers=self.speakers,
            published_from=start,
            published_to=end,
        )


class Asking(Limited):
    """A question."""

    question: Words = Field(description="the question in plain words")
    session_id: str = Field(
        default="", description="sessionId of an answer, so that this is read as a follow-up to it"
    )
    strict: bool | None = Field(default=None, description="leave unsupported sentences out")


class AskArguments(Asking):
    """A question, answered at once."""

    mode: Mode = Field(default="auto", description="deep looks further; auto decides")


class ResearchArguments(Asking):
    """A question to research, and what that may take; the settings say what is not given."""

    rounds: int | None = Field(default=None, ge=1, le=10, description="of searching, at most")
    searches: int | None = Field(default=None, ge=1, le=1_000, description="at most")
    seconds: float | None = Field(default=None, gt=0, le=3_600, description="at most")
    dollars: float | None = Field(default=None, ge=0, description="of language models, at most")


class SearchArguments(Arguments):
    """A search by words and meaning."""

    query: Words = Field(description="what to look for")


class FetchArguments(Arguments):
    """A document to read."""

    id: Words = Field(description="id of a search result, or of a document")


class OpenArguments(Arguments):
    """A place to open."""

    source: Words = Field(
        description="source of a citation (doc_…:120-180:…), or the id or title of a document"
    )


class ListArguments(Limited):
    """Which documents to list."""

    limit: int = Field(default=50, ge=1, le=200, description="most of them")


class GivenSource(Arguments):
    """A source that is given with the text to check."""

    text: Words
    title: str = ""


class CheckArguments(Arguments):
    """A text to verify."""

    text: Words = Field(description="the text whose sentences are checked")
    sources: tuple[GivenSource, ...] = Field(
        default=(),
        max_length=MOST_SOURCES,
        description="check against these texts alone, not against the documents",
    )
    collection: str | None = Field(
        default=None, min_length=1, description="check against this collection"
    )
    strict: bool = Field(
        default=False, description="a sentence that is supported in part fails the check too"
    )
