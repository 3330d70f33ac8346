"""The JSON of chat completions: as a whole, and in chunks as they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from wellread.serve.features.bodies import PlainBody
from wellread.serve.openai.answer_markdown import AnswerMarkdown, address, sources_in_order
from wellread.serve.openai.delivery import Delivered, wellread_fields
from wellread.values.answers import Usage


class UrlCitationBody(PlainBody):
    """A marker of the text, ``[start_index, end_index)`` in characters, and what it links to."""

    start_index: int
    end_index: int
    url: str
    title: str


class AnnotationBody(PlainBody):
    """A citation as OpenAI has it in chat completions."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitationBody


class SearchResultBody(PlainBody):
    """A cited place, as Perplexity has it: ``snippet`` is the quotation."""

    title: str
    url: str
    date: str | None
    snippet: str


class CompletionUsageBody(PlainBody):
    """Tokens of language models; none where no model wrote."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class MessageBody(PlainBody):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: tuple[AnnotationBody, ...]


class ChoiceBody(PlainBody):
    """The one choice there is."""

    index: int = 0
    message: MessageBody
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class CompletionBody(PlainBody):
    """A chat completion, with citations and proof beside it."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[ChoiceBody, ...]
    usage: CompletionUsageBody
    citations: tuple[str, ...]
    search_results: tuple[SearchResultBody, ...]
    wellread: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What every chunk of one completion says."""

    id: str
    created: int
    model: str

    def chunk(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """A chunk of the completion."""
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }

    def delta(
        self, delta: dict[str, Any], finish: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """A chunk with the next part of the message."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self.chunk([choice], **more)


def completion_body(done: Delivered, heading: Heading) -> CompletionBody:
    """The whole completion."""
    message = MessageBody(
        content=done.markdown.text, annotations=tuple(annotations_of(done.markdown))
    )
    return CompletionBody(
        id=heading.id,
        created=heading.created,
        model=heading.model,
        choices=(ChoiceBody(message=message),),
        usage=usage_body(done.answer.usage),
        citations=tuple(urls_of(done)),
        search_results=tuple(search_results_of(done)),
        wellread=wellread_fields(done),
    )


def completion_chunks(
    done: Delivered, heading: Heading, *, usage: bool
) -> Iterator[dict[str, Any]]:
    """The chunks of a completion after the first: its text, then its proof, then its usage."""
    for piece in done.markdown.pieces:
        yield heading.delta({"content": piece})
    found = [one.model_dump(mode="json") for one in annotations_of(done.markdown)]
    yield heading.delta(
        {"annotations": found} if found else {},
        "stop",
        citations=list(urls_of(done)),
        search_results=[one.model_dump(mode="json") for one in search_results_of(done)],
        wellread=wellread_fields(done),
    )
    if usage:
        yield heading.chunk([], usage=usage_body(done.answer.usage).model_dump())


def annotations_of(markdown: AnswerMarkdown) -> Iterator[AnnotationBody]:
    """One annotation for each marker of the text."""
    for marker in markdown.markers:
        cited = UrlCitationBody(
            start_index=marker.span.start,
            end_index=marker.span.end,
            url=marker.url,
            title=marker.citation.title or marker.citation.url,
        )
        yield AnnotationBody(url_citation=cited)


def urls_of(done: Delivered) -> Iterator[str]:
    """The address of each citation; that of number 1 is the first."""
    return (address(one, done.asked.base) for one in sources_in_order(done.answer))


def search_results_of(done: Delivered) -> Iterator[SearchResultBody]:
    """What each citation quotes, in the order of their numbers."""
    for one in sources_in_order(done.answer):
        yield SearchResultBody(
            title=one.title or one.url,
            url=address(one, done.asked.base),
            date=one.published_at.date().isoformat() if one.published_at else None,
            snippet=one.quote,
        )


def usage_body(usage: Usage) -> CompletionUsageBody:
    """What language models read and wrote."""
    return CompletionUsageBody(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
    )
