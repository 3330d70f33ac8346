"""``POST /v1/chat/completions``, as a whole or as a stream of chunks.

Nothing is streamed that a check could still change: the text is sent when all of its sentences
have their verdicts. Until then the stream holds what is being done (``docs/decisions/042``).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.errors import WellreadError
from wellread.identity import tagged_hash
from wellread.serve.error_shapes import INTERNAL, openai_error, problem_of
from wellread.serve.features.feature import may_ask
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.openai.conversation_input import CompletionRequest, chat_conversation
from wellread.serve.openai.delivery import (
    ClientGoneError,
    Delivered,
    Progress,
    asked_of,
    delivering,
    last_delivered,
    resumed,
    while_connected,
)
from wellread.serve.openai.model_names import named_model
from wellread.serve.openai.openai_bodies import (
    CompletionBody,
    Heading,
    completion_body,
    completion_chunks,
)

logger = logging.getLogger(__name__)

LINE = "\n"  # as OpenAI ends the lines of a stream
HUNG_UP = 499  # nobody reads it; as nginx calls it

router = APIRouter()


@router.post("/v1/chat/completions", response_model=CompletionBody, dependencies=[Depends(may_ask)])
async def chat_completions(
    kb: Kb, http: Request, request: CompletionRequest
) -> Response | CompletionBody:
    """Answer the last message of the user after the turns before it, with citations and proof."""
    said = chat_conversation(request)
    model = await to_thread.run_sync(named_model, kb, request.model)
    asked = await asked_of(kb, http, model, said, store=request.store)
    now = time.time()
    heading = Heading(
        id=tagged_hash("chatcmpl", asked.question.text, str(now), str(time.perf_counter_ns())),
        created=int(now),
        model=model.name,
    )
    events = delivering(kb, asked)
    if not request.stream:
        try:
            done = await while_connected(http, last_delivered(events))
        except ClientGoneError:
            return Response(status_code=HUNG_UP)
        return completion_body(done, heading)
    # The first event comes before the response starts: what is wrong with the question
    # itself still ends in an HTTP status.
    first = await anext(events)
    options = request.stream_options
    chunks = _stream(
        resumed(first, events),
        heading,
        told=model.deep or kb.model is not None,
        usage=bool(options and options.include_usage),
    )
    return EventSourceResponse(chunks, sep=LINE)


async def _stream(
    events: AsyncIterator[Progress | Delivered], heading: Heading, *, told: bool, usage: bool
) -> AsyncIterator[ServerSentEvent]:
    """The chunks as server-sent events; an error on the way is the last of them.

    Args:
        told: whether progress is sent as reasoning, which is worth it where it takes a while.
        usage: whether a last chunk has the tokens.
    """
    try:
        yield _sent(heading.delta({"role": "assistant", "content": ""}))
        async for event in events:
            if isinstance(event, Delivered):
                for chunk in completion_chunks(event, heading, usage=usage):
                    yield _sent(chunk)
            elif told:
                yield _sent(heading.delta({"reasoning_content": f"{event.text}\n"}))
        yield ServerSentEvent(data="[DONE]", sep=LINE)
    except WellreadError as error:
        yield _sent(openai_error(problem_of(error)))
    except Exception:
        # The status has gone out already, so the client is told in the stream.
        logger.exception("answering failed in the middle of a stream")
        yield _sent(openai_error(INTERNAL))


def _sent(chunk: Mapping[str, Any]) -> ServerSentEvent:
    # Letters outside of ASCII are escaped: some clients break lines at U+2028.
    return ServerSentEvent(data=json.dumps(chunk), sep=LINE)
