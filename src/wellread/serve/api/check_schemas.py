"""The JSON of checking a text (camelCase), also written by ``wellread check --json``."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from wellread.answers import Citation, VerdictName
from wellread.library.check_text import CheckedText
from wellread.serve.api.schemas import Body, CitationBody, SentenceBody
from wellread.serve.present import citation_body, sentence_body

MOST_SOURCES = 100


class SourceText(Body):
    """A source that is given with the text."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    title: str = ""


class CheckRequest(Body):
    """A text to check: against ``sources`` where there are some, else against what is stored."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    topic_id: str | None = Field(default=None, min_length=1, description="name of a collection")
    sources: tuple[SourceText, ...] = Field(
        default=(), max_length=MOST_SOURCES, description="check against these texts alone"
    )
    strict: bool = Field(
        default=False, description="a sentence that is supported in part fails the check too"
    )


class CountsBody(Body):
    """How many sentences have each verdict."""

    supported: int
    partial: int
    unsupported: int
    not_checked: int


class CheckResponse(Body):
    """A text with a verdict for each sentence; spans are of ``text``.

    The citation of a sentence is the passage that bears it out, or comes nearest.
    """

    text: str
    borne_out: bool = Field(description="whether no sentence is left unsupported")
    counts: CountsBody
    sentences: tuple[SentenceBody, ...]
    citations: tuple[CitationBody, ...]


def check_body(found: CheckedText, *, strict: bool, stored: bool) -> CheckResponse:
    """The result of a check.

    Args:
        stored: whether the viewer can show the citations' documents.
    """
    counts = found.counts()
    return CheckResponse(
        text=found.text,
        borne_out=found.borne_out(strict=strict),
        counts=CountsBody(
            supported=counts[VerdictName.SUPPORTED],
            partial=counts[VerdictName.PARTIAL],
            unsupported=counts[VerdictName.UNSUPPORTED],
            not_checked=counts[VerdictName.NOT_CHECKED],
        ),
        sentences=tuple(sentence_body(sentence) for sentence in found.sentences),
        citations=tuple(_citation(each, stored=stored) for each in found.citations),
    )


def _citation(citation: Citation, *, stored: bool) -> CitationBody:
    body = citation_body(citation)
    return body if stored else body.model_copy(update={"view_url": ""})
