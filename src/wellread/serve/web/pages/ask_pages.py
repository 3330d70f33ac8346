"""Asking: the question box, a question on its way, and the stream of what happens to it."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast
from urllib.parse import urlencode

from anyio import to_thread
from fastapi import Depends, Header, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, UnknownNameError, WellreadError
from wellread.identity import sentence_hash, words_hash
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import check_rights
from wellread.learning.feedback_giving import feedback_of, give_feedback, known_feedback
from wellread.library.recheck import Rechecked, stored_answer, verify_again
from wellread.serve.error_shapes import INTERNAL, ProblemError, problem_of
from wellread.serve.features.answering import event_body
from wellread.serve.features.feature import (
    FAR,
    DatedQuery,
    Many,
    Offset,
    event_after,
    may_ask,
)
from wellread.serve.features.home_and_jobs import holdings_body
from wellread.serve.features.kept_answers import (
    SessionsBody,
    known_session,
    session_detail_body,
    whole_body,
)
from wellread.serve.features.people import notices_body
from wellread.serve.guards.incoming import is_foreign
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import Shape, json_of, look_at
from wellread.serve.web.answer_parts import (
    MOST_TURNS,
    answer_values,
    earlier_turns,
    limit_choices,
    values_beside,
)
from wellread.serve.web.rendering import drawn, fragment, page_router, shown, wants_json
from wellread.serve.web.runs import TOO_MANY, AskRun, AskRuns
from wellread.store.catalogue.asking.answer_records import SessionFacts
from wellread.store.catalogue.preference_records import Notice
from wellread.store.schema.stored_values import (
    BetterCitation,
    Feedback,
    KindCount,
    Score,
    SentenceRating,
)
from wellread.types import Mode
from wellread.values.answer_blocks import draft_html
from wellread.values.answers import (
    Answer,
    Event,
    FinalEvent,
    Question,
    Sentence,
    StepEvent,
    TokenEvent,
)

logger = logging.getLogger(__name__)
router = page_router()

LONGEST_QUESTION = 4_000
NEWEST = 5  # conversations that the empty page offers


class AskQuery(DatedQuery):
    """A question with its limits, as it stands in the address of a page."""

    q: str = ""
    speaker: list[str] = Field(default=[])
    mode: Mode = "auto"
    session: str = ""
    fresh: bool = False

    def question(self) -> Question:
        """What is asked."""
        if len(self.q) > LONGEST_QUESTION:
            raise RequestError(
                f"the question has {len(self.q):,} characters", hint=f"ask in {LONGEST_QUESTION:,}"
            )
        return Question(
            text=self.q.strip(),
            filters=self.filters(),
            mode=self.mode,
            session_id=self.session,
            fresh=self.fresh,
        )

    def address(self, *, q: str | None = None) -> str:
        """The query string that asks the same again."""
        given = self.model_dump(by_alias=True, exclude_defaults=True)
        if q is not None:
            given["q"] = q
        return urlencode(given, doseq=True)


class HomeBody(Shape):
    """What there is to ask, the conversations that were used last, and what is to be known."""

    documents: int
    passages: int
    waiting: int
    collections: tuple[KindCount, ...]
    sessions: tuple[SessionFacts, ...]
    notices: tuple[Notice, ...]


class RunBody(Shape):
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
        sessions=tuple(sessions),
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
        return JSONResponse(json_of(body))
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
    request: Request,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=FAR)] = 0,
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
    return EventSourceResponse(_stream(kb, run, start, raw=wants_json(request)))


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
            data = json.dumps(json_of(body) if html is None else html)
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


@router.get("/answers/{answer_id}")
def answer_page(kb: Kb, request: Request, answer_id: str) -> Response:
    """An answer with its proof."""
    return _page(kb, request, answer_id)


@router.post("/answers/{answer_id}/verify")
async def verify(kb: Kb, request: Request, answer_id: str) -> Response:
    """Check an answer against its sources as they are now, and show what became of it."""
    found = await to_thread.run_sync(verify_again, kb, answer_id, kb.asker.owner)
    return await to_thread.run_sync(_page, kb, request, answer_id, found)


def _page(
    kb: KnowledgeBase, request: Request, answer_id: str, recheck: Rechecked | None = None
) -> Response:
    stored, answer = stored_answer(kb, answer_id, kb.asker.owner)
    values = values_beside(kb, answer, stale=stored.stale)
    return shown(
        request,
        "answer_page.html",
        whole_body(stored, answer),
        **values,
        **feedback_values(kb, answer),
        recheck=look_at(recheck),
        stored=stored,
        turns=earlier_turns(kb, answer.session_id, before=answer.id),
        asked=AskQuery(session=answer.session_id),
        choices=limit_choices(kb),
    )


FAULT = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedSentence:
    """A sentence with what was said of it; ``words``: of the better citation."""

    number: int
    sentence: Sentence
    rating: SentenceRating
    words: str


def feedback_values(kb: KnowledgeBase, answer: Answer) -> dict[str, Any]:
    """What ``parts/feedback.html`` shows."""
    given = feedback_of(kb, answer.id, kb.asker.owner)
    ratings = {one.sentence: one for one in given.sentences} if given else {}
    sentences = []
    for place, sentence in enumerate(answer.sentences):
        rating = ratings.get(place) or SentenceRating(
            sentence=place, content=sentence_hash(sentence.text)
        )
        words = _words(kb, rating.citation)
        sentences.append(
            RatedSentence(number=place + 1, sentence=sentence, rating=rating, words=words)
        )
    cited = given.citations[0] if given and given.citations else None
    better = [one.citation for one in ratings.values() if one.citation]
    ids = dict.fromkeys(
        [one.document_id for one in answer.citations]
        + [one.document_id for one in ([cited] if cited else []) + better]
    )
    titles = {known: facts.title for known, facts in kb.catalogue.facts(ids).items()}
    return {
        "given": given,
        "rated": sentences,
        "documents": {known: titles[known] for known in ids if known in titles},
        "whole_citation": cited,
        "whole_words": _words(kb, cited),
    }


def filled_in(form: Mapping[str, Any], answer: Answer, before: Feedback | None) -> dict[str, Any]:
    """What the form says beside ``before``, to be given as a change of it."""
    given: dict[str, Any] = {
        "score": _score(form.get("score", "")),
        "comment": str(form.get("comment", "")),
        "correction": str(form.get("correction", "")),
    }
    cited = _citation(form, "", str(form.get("words_before", "")))
    if cited is not _SAME:
        given["citations"] = [cited] if cited else []
    known = {one.sentence: one for one in before.sentences} if before else {}
    given["sentences"] = [
        _sentence(form, place, known.get(place)) for place in range(len(answer.sentences))
    ]
    return given


def _sentence(form: Mapping[str, Any], place: int, before: SentenceRating | None) -> dict[str, Any]:
    name = f"s{place + 1}_"
    told: dict[str, Any] = {
        "sentence": place,
        "score": _score(form.get(f"{name}score", "")),
        "explanation": str(form.get(f"{name}explanation", "")),
        "correction": str(form.get(f"{name}correction", "")),
        "source_fault": FAULT.get(str(form.get(f"{name}source_fault", ""))),
    }
    for flag in ("harmful", "content_issue"):
        if f"{name}{flag}" in form:
            told[flag] = True
        elif before and getattr(before, flag):
            told[flag] = None  # the tick was taken away: it is not said any more
    cited = _citation(form, name, str(form.get(f"{name}words_before", "")))
    if cited is not _SAME:
        told["citation"] = cited
    return told


_SAME: Any = object()


def _citation(form: Mapping[str, Any], name: str, before: str) -> Any:
    """What is cited; None: nothing; ``_SAME``: what was cited before."""
    document = str(form.get(f"{name}document", ""))
    words = str(form.get(f"{name}words", "")).strip()
    if [document, *words.split()] == before.split():
        return _SAME
    if not document and not words:
        return None
    if not document or not words:
        raise RequestError(
            "a better citation needs its source and its words", hint="give both, or neither"
        )
    return {"document_id": document, "words": words}


def _score(given: Any) -> Score | None:
    """The number as it was typed; an empty field is “not rated”."""
    text = str(given).strip()
    if not text:
        return None
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise RequestError(f"{text!r} is no score", hint="give a number of 0 to 100") from None


def _words(kb: KnowledgeBase, cited: BetterCitation | None) -> str:
    """The words at the place, as long as they are the ones that were cited."""
    document = kb.catalogue.document(cited.document_id) if cited else None
    if cited is None or document is None:
        return ""
    words = cited.span.of(document.text)
    return words if words_hash(words) == cited.content else ""


@router.post("/answers/{answer_id}/feedback")
async def give(kb: Kb, request: Request, answer_id: str) -> Response:
    """Keep what the form says, and show the answer with it."""
    form = dict(await request.form())
    known = await to_thread.run_sync(_give, kb, answer_id, form)
    return RedirectResponse(f"/answers/{known}#feedback", status_code=303)


@router.post("/answers/{answer_id}/feedback/remove")
def remove_feedback(kb: Kb, answer_id: str) -> Response:
    """Take back all that was said of the answer."""
    found = known_feedback(kb, answer_id, kb.asker.owner)
    kb.catalogue.feedback.remove(found.id)
    return RedirectResponse(f"/answers/{found.answer_id}#feedback", status_code=303)


def _give(kb: KnowledgeBase, answer_id: str, form: Mapping[str, object]) -> str:
    _, answer = stored_answer(kb, answer_id, kb.asker.owner)
    given = filled_in(form, answer, feedback_of(kb, answer.id, kb.asker.owner))
    return give_feedback(kb, answer.id, given, author=kb.asker.owner).answer_id


@router.get("/conversations")
def conversations(
    kb: Kb, request: Request, query: str = "", limit: Many = 50, offset: Offset = 0
) -> Response:
    """Conversations, the one used last first; with ``query`` those that have all of its words."""
    found = kb.catalogue.sessions.search(kb.asker.owner, query, limit + 1, offset)
    body = SessionsBody(sessions=tuple(found[:limit]))
    asked = {"query": query, "limit": limit, "offset": offset}
    return shown(request, "conversations.html", body, asked=asked, more=len(found) > limit)


@router.get("/conversations/{session_id}")
def conversation(kb: Kb, request: Request, session_id: str) -> Response:
    """A conversation with its answers, oldest first, and the box that goes on with it."""
    facts = known_session(kb, session_id)
    turns = kb.catalogue.sessions.turns(facts.id, kb.asker.owner, MOST_TURNS)
    return shown(
        request,
        "conversation.html",
        session_detail_body(facts, turns),
        facts=facts,
        shown_turns=[answer_values(kb, one, stale=False) for one in turns],
        asked=AskQuery(session=facts.id),
        choices=limit_choices(kb),
    )


@router.post("/conversations/{session_id}/remove")
def remove(kb: Kb, session_id: str) -> Response:
    """Remove a conversation with all its answers."""
    facts = known_session(kb, session_id)
    remove_conversation(kb, facts.id, kb.asker.owner)
    return RedirectResponse("/conversations", status_code=303)
