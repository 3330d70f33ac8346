"""Asking: the question box, a question on its way, and the stream of what happens to it."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, cast
from urllib.parse import urlencode

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import check_rights
from wellread.serve.api.middleware import may_ask
from wellread.serve.api.queries import FAR, DatedQuery, event_after
from wellread.serve.error_shapes import INTERNAL, ProblemError, problem_of
from wellread.serve.features.asking.answer_bodies import event_body
from wellread.serve.features.asking.stored_answers import SessionBody
from wellread.serve.features.bodies import Body
from wellread.serve.features.home_reports import KindCountBody, holdings_body
from wellread.serve.features.learning.notice_bodies import NoticeBody, notices_body
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.guards.foreign_requests import is_foreign
from wellread.serve.web.answer_parts import earlier_turns, limit_choices, values_beside
from wellread.serve.web.rendering import PageFormat, drawn, fragment, shown, wants_json
from wellread.serve.web.runs import TOO_MANY, AskRun, AskRuns
from wellread.types import Mode
from wellread.values.answer_blocks import draft_html
from wellread.values.answers import Event, FinalEvent, Question, StepEvent, TokenEvent

logger = logging.getLogger(__name__)
router = APIRouter(include_in_schema=False)

LONGEST_QUESTION = 4_000
NEWEST = 5  # conversations that the empty page offers


class AskQuery(DatedQuery, PageFormat):
    """A question with its limits, as it stands in the address of a page."""

    q: str = ""
    speaker: list[str] = Field(default=[])
    mode: Mode = "auto"
    session: str = ""
    fresh: bool = False

    def question(self) -> Question:
        """What is asked.

        Raises:
            RequestError: it is too long, or a limit is none.
        """
        if len(self.q) > LONGEST_QUESTION:
            raise RequestError(
                f"the question has {len(self.q):,} characters", hint=f"ask in {LONGEST_QUESTION:,}"
            )
        return Question(
            text=self.q.strip(),
            filters=self.limits(self.from_, self.to, self.speaker),
            mode=self.mode,
            session_id=self.session,
            fresh=self.fresh,
        )

    def address(self, *, q: str | None = None) -> str:
        """The query string that asks the same again."""
        given = self.model_dump(by_alias=True, exclude_defaults=True, exclude={"format"})
        if q is not None:
            given["q"] = q
        return urlencode(given, doseq=True)


class HomeBody(Body):
    """What there is to ask, the conversations that were used last, and what is to be known."""

    documents: int
    passages: int
    waiting: int
    collections: tuple[KindCountBody, ...]
    sessions: tuple[SessionBody, ...]
    notices: tuple[NoticeBody, ...]


class RunBody(Body):
    """A question on its way; ``interrupted``: the server that answered it is gone."""

    id: str
    question: str
    state: str
    events: int
    answer_id: str | None


def _runs(request: Request) -> AskRuns:
    return cast(AskRuns, request.app.state.runs)


Runs = Annotated[AskRuns, Depends(_runs)]


@router.get("/")
async def home(
    kb: Kb,
    runs: Runs,
    request: Request,
    asked: Annotated[AskQuery, Query()],
) -> Response:
    """The question box; with ``q`` the question is asked."""
    if not asked.q.strip() or is_foreign(request.scope):
        return await to_thread.run_sync(_home, kb, request, asked)
    may_ask(kb)
    question = asked.question()
    await to_thread.run_sync(check_collections, kb, question.filters)
    run = runs.start(kb, question)
    if run is None:
        raise ProblemError(TOO_MANY)
    form = {"format": "json"} if wants_json(request) else {}
    query = "&".join(part for part in (asked.address(), urlencode(form)) if part)
    return RedirectResponse(f"/ask/{run.id}?{query}", status_code=303)


def _home(kb: KnowledgeBase, request: Request, asked: AskQuery) -> Response:
    held = holdings_body(kb)
    sessions = kb.catalogue.sessions.of(kb.asker.owner, NEWEST)
    body = HomeBody(
        documents=held.documents,
        passages=held.passages,
        waiting=held.waiting,
        collections=held.collections,
        sessions=tuple(SessionBody.of(one) for one in sessions),
        notices=notices_body(kb, limit=NEWEST).notices,
    )
    template = "home.html" if held.documents else "first_run.html"
    turns = earlier_turns(kb, asked.session)
    choices = limit_choices(kb)
    return shown(request, template, body, asked=asked, choices=choices, turns=turns)


@router.get("/ask/{run_id}")
async def run_page(
    kb: Kb, runs: Runs, request: Request, run_id: str, asked: Annotated[AskQuery, Query()]
) -> Response:
    """A question on its way: what has come so far, and the rest as it comes."""
    run = runs.get(kb, run_id)
    given = run.answer if run else None  # without an id it is kept nowhere
    if given is not None and given.id and not wants_json(request):
        return RedirectResponse(f"/answers/{given.id}", status_code=303)
    body = RunBody(
        id=run_id,
        question=run.question.text if run else asked.q,
        state=run.state if run else "interrupted",
        events=len(run.events) if run else 0,
        answer_id=given.id if given else None,
    )
    if wants_json(request):
        return JSONResponse(body.model_dump(mode="json"))
    turns = await to_thread.run_sync(earlier_turns, kb, asked.session)
    choices = await to_thread.run_sync(limit_choices, kb)
    values = {"body": body, "asked": asked, "turns": turns, "choices": choices}
    values |= {"said": given.text if given else ""}
    values |= {"problem": run.problem if run else None, "follow": AskQuery(session=asked.session)}
    return drawn(request, "run.html", values)


@router.get("/ask/{run_id}/wait")
async def wait(kb: Kb, runs: Runs, run_id: str, asked: Annotated[AskQuery, Query()]) -> Response:
    """The answer when there is one, for browsers without scripts."""
    run = runs.get(kb, run_id)
    if run is not None:
        async for _ in run.follow(len(run.events)):
            continue
    return RedirectResponse(f"/ask/{run_id}?{asked.address()}", status_code=303)


@router.post("/ask/{run_id}/cancel")
async def cancel(
    kb: Kb, runs: Runs, request: Request, run_id: str, asked: Annotated[AskQuery, Query()]
) -> Response:
    """Stop the work on a question."""
    run = runs.get(kb, run_id)
    if run is not None:
        await runs.cancel(run)
    if wants_json(request):
        return JSONResponse({"id": run_id, "state": run.state if run else "interrupted"})
    return RedirectResponse(f"/ask/{run_id}?{asked.address()}", status_code=303)


@router.get("/ask/{run_id}/events")
async def events(
    kb: Kb,
    runs: Runs,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=FAR)] = 0,
    format: Annotated[str, Query(pattern="^(html|json)$")] = "html",
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """The numbered events of a question from ``after`` (or ``Last-Event-ID``) on.

    404 when this server does not know it, so that a browser stops asking.
    """
    run = runs.get(kb, run_id)
    if run is None:
        raise UnknownNameError(f"this server does not answer {run_id!r}", hint="ask again")
    last = event_after(last_event_id)
    start = after if last is None else last + 1
    return EventSourceResponse(_stream(kb, run, start, raw=format == "json"))


async def _stream(
    kb: KnowledgeBase, run: AskRun, after: int, *, raw: bool
) -> AsyncIterator[ServerSentEvent]:
    ended = True
    try:
        async for number, event in run.follow(after):
            more = run.events[number + 1 : number + 2]
            if not raw and more and all(isinstance(one, TokenEvent) for one in (event, *more)):
                continue  # the next one draws all of the draft
            await to_thread.run_sync(check_rights, kb)
            now = await to_thread.run_sync(run.as_now, kb, event)
            if now is None:
                continue
            name, body = event_body(now)
            html = None if raw else await to_thread.run_sync(_html_of, kb, now, run.events[:number])
            data = body.model_dump_json() if html is None else json.dumps(html)
            yield ServerSentEvent(event=name, data=data, id=str(number))
        ended = run.state != "done"
        state, problem = run.state, run.problem
    except WellreadError as error:
        state, problem = "failed", problem_of(error)
    except Exception:
        # The status has gone out already, so the page is told in the stream.
        logger.exception("a stream of events broke off")
        state, problem = "failed", INTERNAL
    if ended:
        told = {"state": state, "problem": problem.body() if problem else None}
        yield ServerSentEvent(event="ended", data=json.dumps(told))


def _html_of(kb: KnowledgeBase, event: Event, before: Sequence[Event]) -> dict[str, object]:
    """What a page inserts for an event after those; nothing in it needs escaping any more."""
    match event:
        case StepEvent(step=step):
            return {"html": fragment("parts/step.html", step=step), "name": step.name}
        case TokenEvent():
            said = (one.text for one in [*before, event] if isinstance(one, TokenEvent))
            return {"html": draft_html("".join(said))}
        case FinalEvent(answer=answer):
            html = fragment("parts/answer.html", **values_beside(kb, answer, stale=False))
            return {"html": html, "id": answer.id, "session": answer.session_id}
    return {}  # a sentence: the whole answer follows at once, drawn with all of them
