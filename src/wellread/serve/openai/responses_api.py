"""``POST /v1/responses``, as a whole or as OpenAI's events.

The id of a response is that of its answer, which is kept: so ``previous_response_id`` goes on
where it was given, also after the server was started again. A stream begins when the answer is
there, since its id is not known before; until then comments keep the connection open.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.errors import WellreadError
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.serve.api.middleware import may_ask
from wellread.serve.error_shapes import INTERNAL, problem_of
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.openai.conversation_input import (
    ResponseRequest,
    refused,
    response_conversation,
)
from wellread.serve.openai.delivery import (
    ClientGoneError,
    Delivered,
    Progress,
    asked_of,
    delivering,
    last_delivered,
    resumed,
    while_connected,
    with_earlier,
)
from wellread.serve.openai.model_names import named_model
from wellread.serve.openai.response_bodies import (
    RESPONSE,
    Event,
    ResponseBody,
    begun_body,
    failed_events,
    response_body,
    response_events,
)
from wellread.types import EarlierTurn

logger = logging.getLogger(__name__)

HUNG_UP = 499  # nobody reads it; as nginx calls it
MOST_TURNS = 50  # of a session that is gone on with
LINE = "\n"  # as OpenAI ends the lines of a stream

router = APIRouter()


@router.post("/v1/responses", response_model=ResponseBody, dependencies=[Depends(may_ask)])
async def responses(kb: Kb, http: Request, request: ResponseRequest) -> Response | ResponseBody:
    """Answer the last message of the input, or go on after a response that is kept."""
    said = response_conversation(request)
    model = await to_thread.run_sync(named_model, kb, request.model)
    if request.previous_response_id:
        earlier = await to_thread.run_sync(_turns_until, kb, request.previous_response_id)
        said = with_earlier(said, earlier)
    asked = await asked_of(kb, http, model, said, store=request.store)
    created = int(time.time())
    events = delivering(kb, asked)
    if not request.stream:
        try:
            done = await while_connected(http, last_delivered(events))
        except ClientGoneError:
            return Response(status_code=HUNG_UP)
        begun = begun_body(request, RESPONSE + done.answer.id, created)
        return response_body(begun, done, int(time.time()))
    # The first event comes before the response starts: what is wrong with the question
    # itself still ends in an HTTP status.
    first = await anext(events)
    return EventSourceResponse(_stream(resumed(first, events), request, created), sep=LINE)


def _turns_until(kb: KnowledgeBase, response_id: str) -> tuple[EarlierTurn, ...]:
    """The turns of a session up to the answer that a response gave.

    Raises:
        ProblemError: no such response is kept.
        StoreError: the catalogue cannot be read.
    """
    answer_id = response_id.removeprefix(RESPONSE)
    found = kb.catalogue.sessions.answer(answer_id, kb.asker.owner)
    if answer_id == response_id or found is None:
        raise refused(
            "previous_response_id",
            f"Previous response with id {response_id!r} not found.",
            "It was not kept (store: false), was removed, or is of another server: send the "
            "conversation in input instead.",
            code="previous_response_not_found",
        )
    turns = kb.catalogue.sessions.turns(found[1].session_id, kb.asker.owner, MOST_TURNS)
    ids = [one.id for one in turns]
    until = turns[: ids.index(answer_id) + 1] if answer_id in ids else [found[1]]
    return tuple(
        EarlierTurn(question=one.question, answer=one.text, answer_id=one.id) for one in until
    )


async def _stream(
    events: AsyncIterator[Progress | Delivered], request: ResponseRequest, created: int
) -> AsyncIterator[ServerSentEvent]:
    """The events of a response as server-sent ones, numbered."""
    number = 0
    async for event in _events(events, request, created):
        data = json.dumps({**event, "sequence_number": number})
        yield ServerSentEvent(event=event["type"], data=data, sep=LINE)
        number += 1


async def _events(
    events: AsyncIterator[Progress | Delivered], request: ResponseRequest, created: int
) -> AsyncIterator[Event]:
    unanswered = tagged_hash("none", str(created), str(time.perf_counter_ns()))
    try:
        done = await last_delivered(events)
        begun = begun_body(request, RESPONSE + done.answer.id, created)
        whole = response_body(begun, done, int(time.time()))
        for event in response_events(begun, whole, done):
            yield event
    except WellreadError as error:
        problem = problem_of(error)
    except Exception:
        # The status has gone out already, so the client is told in the stream.
        logger.exception("answering failed in the middle of a stream")
        problem = INTERNAL
    else:
        return
    for event in failed_events(begun_body(request, RESPONSE + unanswered, created), problem):
        yield event
