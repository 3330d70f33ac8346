"""Routes of the ask pages: question form, running questions, answers, feedback, conversations."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote, urlencode

from anyio import to_thread
from fastapi import Form, Header, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.ask.deliver.related import small_talk_reply
from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.conversation import preferences_for
from wellread.asking import with_mode_read
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import check_rights
from wellread.learning.feedback_giving import feedback_of, give_feedback
from wellread.library.recheck import Rechecked, stored_answer, verify_again
from wellread.serve.error_shapes import ProblemError, problem_to_tell
from wellread.serve.features import kept_answers
from wellread.serve.features.answering import quote_contexts, scope_coverage
from wellread.serve.features.feature import (
    MAX_OFFSET,
    DatedQuery,
    Limit,
    Offset,
    check_may_ask,
    last_event_number,
)
from wellread.serve.features.home_and_jobs import holdings_body
from wellread.serve.features.kept_answers import session_named
from wellread.serve.guards.incoming import is_foreign
from wellread.serve.guards.route_rules import Kb, kept_in_state
from wellread.serve.views import template_view
from wellread.serve.web.answer_parts import answer_page_values, earlier_turns, limit_choices
from wellread.serve.web.rendering import fragment, page_response, page_router, render_page
from wellread.serve.web.runs import TOO_MANY, AskRun, AskRuns
from wellread.store.schema.stored_values import Feedback, Score, SentenceRating
from wellread.types import Filters, Mode
from wellread.values.answer_blocks import draft_html
from wellread.values.answers import (
    Answer,
    Event,
    FinalEvent,
    Question,
    SentenceEvent,
    StepEvent,
    TokenEvent,
)

router = page_router("read")
reads, asks, edits = router.requiring("read", "ask", "edit")

MAX_QUESTION_CHARS = 4_000


Shown = Literal["detailed", "sources-only", "coverage"]
COMMAND_OPTIONS = tuple(f"--{option}" for option in get_args(Shown))


class AskQuery(DatedQuery):
    """A question with its limits, as the query string of a page.

    Attributes:
        draft: a question to put into the box, to be edited.
        show: what to show besides the answer; ``sources-only``: passages instead of an answer.
    """

    q: str = ""
    speaker: list[str] = Field(default=[])
    mode: Mode = "quick"
    session: str = ""
    fresh: bool = False
    draft: str = ""
    show: list[Shown] = Field(default=[])

    def typed(self) -> AskQuery:
        """The query with the options of ``/ask QUESTION --detailed`` read from its words."""
        command, *words = self.q.split() or [""]
        if command != "/ask":
            return self
        options = [word.removeprefix("--") for word in words if word in COMMAND_OPTIONS]
        rest = " ".join(word for word in words if word not in COMMAND_OPTIONS)
        return self.model_copy(update={"q": rest, "show": options})

    def question(self) -> Question:
        """The question with its limits."""
        if len(self.q) > MAX_QUESTION_CHARS:
            raise RequestError(
                f"the question is too long: {len(self.q):,} characters",
                hint=f"use at most {MAX_QUESTION_CHARS:,} characters",
            )
        return Question(
            text=self.q.strip(),
            filters=self.filters(),
            mode=self.mode,
            session_id=self.session,
            fresh=self.fresh,
        )

    def address(self) -> str:
        """The query string that repeats this question."""
        return urlencode(self.model_dump(by_alias=True, exclude_defaults=True), doseq=True)


Runs = Annotated[AskRuns, kept_in_state("runs")]


@asks.get("/")
async def home(
    kb: Kb,
    runs: Runs,
    request: Request,
    query: Annotated[AskQuery, Query()],
) -> Response:
    """The home page with the question form; with ``q``, starts answering the question."""
    query = query.typed()
    if not query.q.strip() or is_foreign(request.scope):
        return await to_thread.run_sync(_home, kb, request, query)
    return await start(kb, runs, query)


async def start(kb: KnowledgeBase, runs: AskRuns, query: AskQuery) -> Response:
    """Start answering a question asked on a page, and lead to the page that shows it."""
    if "sources-only" in query.show:
        limits = query.model_dump(include={"collection", "kind", "speaker"}, exclude_defaults=True)
        found = urlencode({"query": query.q, **limits}, doseq=True)
        return RedirectResponse(f"/search?{found}", status_code=303)
    check_may_ask(kb)
    question = await to_thread.run_sync(_checked, kb, query.question())
    question = await with_mode_read(kb, question)
    if question.mode == "deep" and small_talk_reply(question) is None:
        return RedirectResponse(f"/research?{query.address()}", status_code=303)
    run = runs.start(kb, question)
    if run is None:
        raise ProblemError(TOO_MANY)
    return RedirectResponse(f"/ask/{run.id}?{query.address()}", status_code=303)


def _checked(kb: KnowledgeBase, question: Question) -> Question:
    """The question; naming every collection is no limit, unless the asker has a default one."""
    check_collections(kb, question.filters)
    chosen, default = question.filters.collections, preferences_for(kb, kb.asker.owner).collection
    every = {entry.collection for entry in kb.catalogue.vocabulary.of(())} if chosen else set()
    if default or len(every) < 2 or not every.issubset(chosen):
        return question
    return replace(question, filters=replace(question.filters, collections=()))


@asks.get("/app/ask")
def old_address(query: Annotated[AskQuery, Query()]) -> Response:
    """Lead from an address of earlier times to the home page."""
    return RedirectResponse(f"/?{query.address()}".rstrip("?"), status_code=303)


def _home(kb: KnowledgeBase, request: Request, query: AskQuery) -> Response:
    holdings = holdings_body(kb)
    return page_response(
        request,
        "home.html" if holdings.documents else "first_run.html",
        holdings,
        asked=query,
        choices=limit_choices(kb),
        turns=earlier_turns(kb, query.session),
    )


@reads.get("/ask/{run_id}")
def run_page(
    kb: Kb, runs: Runs, request: Request, run_id: str, query: Annotated[AskQuery, Query()]
) -> Response:
    """A running question: the events so far, with more to follow."""
    run = runs.get(kb, run_id)
    answer = run.answer if run else None  # an answer without an id is not stored
    if answer is not None and answer.id:
        shown = urlencode({"show": query.show}, doseq=True)
        return RedirectResponse(f"/answers/{answer.id}?{shown}".rstrip("?"), status_code=303)
    values = {
        "run_id": run_id,
        "elapsed": int(run.elapsed) if run else 0,
        "question": run.question.text if run else query.q,
        "state": run.state if run else "interrupted",
        "asked": query,
        "turns": earlier_turns(kb, query.session),
        "choices": limit_choices(kb),
        "said": answer.text if answer else "",
        "problem": run.problem if run else None,
        "follow": query.model_copy(update={"q": "", "draft": "", "show": [], "fresh": False}),
    }
    return render_page(request, "run.html", values)


@reads.get("/ask/{run_id}/wait")
async def wait(kb: Kb, runs: Runs, run_id: str, query: Annotated[AskQuery, Query()]) -> Response:
    """Wait for the answer, for browsers without scripts."""
    run = runs.get(kb, run_id)
    if run is not None:
        async for _ in run.follow(len(run.events)):
            continue
    return RedirectResponse(f"/ask/{run_id}?{query.address()}", status_code=303)


@asks.post("/ask/{run_id}/cancel")
async def cancel(kb: Kb, runs: Runs, run_id: str, query: Annotated[AskQuery, Query()]) -> Response:
    """Stop answering a question."""
    run = runs.get(kb, run_id)
    if run is not None:
        await runs.cancel(run)
    return RedirectResponse(f"/ask/{run_id}?{query.address()}", status_code=303)


@reads.get("/ask/{run_id}/events")
async def events(
    kb: Kb,
    runs: Runs,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """The numbered events of a question, starting at ``after`` or behind ``Last-Event-ID``.

    404 for an unknown run, so that the browser stops reconnecting.
    """
    run = runs.get(kb, run_id)
    if run is None:
        raise UnknownNameError(f"this server has no running question {run_id!r}", hint="ask again")
    last = last_event_number(last_event_id)
    start = after if last is None else last + 1
    return EventSourceResponse(_stream(kb, run, start))


async def _stream(kb: KnowledgeBase, run: AskRun, after: int) -> AsyncIterator[ServerSentEvent]:
    ended = True
    try:
        async for number, event in run.follow(after):
            more = run.events[number + 1 : number + 2]
            if more and all(isinstance(next_event, TokenEvent) for next_event in (event, *more)):
                continue  # the next token event renders the whole draft
            await to_thread.run_sync(check_rights, kb)
            event_now = await to_thread.run_sync(run.as_now, kb, event)
            if event_now is None or isinstance(event_now, SentenceEvent):
                continue  # the rendered answer follows at once
            name, data = await to_thread.run_sync(_event_html, kb, event_now, run.events[:number])
            yield ServerSentEvent(event=name, data=json.dumps(data), id=str(number))
        ended = run.state != "done"
        state, problem = run.state, run.problem
    except Exception as error:  # noqa: BLE001 - the status was already sent
        state, problem = "failed", problem_to_tell(error, "a stream of events broke off")
    if ended:
        ending = {"state": state, "problem": problem.body() if problem else None}
        yield ServerSentEvent(event="ended", data=json.dumps(ending))


def _event_html(
    kb: KnowledgeBase, event: StepEvent | TokenEvent | FinalEvent, before: Sequence[Event]
) -> tuple[str, dict[str, object]]:
    """The name of an event, and the escaped HTML that a page inserts for it."""
    match event:
        case StepEvent(step=step):
            html = fragment("parts/step.html", step=step)
            return "step", {"html": html, "name": step.name}
        case TokenEvent():
            tokens = (token for token in [*before, event] if isinstance(token, TokenEvent))
            return "token", {"html": draft_html("".join(token.text for token in tokens))}
    answer = event.answer
    html = fragment("parts/answer.html", **answer_page_values(kb, answer, stale=False))
    return "final", {"html": html, "id": answer.id, "session": answer.session_id}


@reads.get("/answers/{answer_id}")
def answer_page(
    kb: Kb, request: Request, answer_id: str, show: Annotated[list[Shown] | None, Query()] = None
) -> Response:
    """An answer with its citations and verdicts; ``show``: also contexts and coverage."""
    return _page(kb, request, answer_id, show=show or ())


@asks.post("/answers/{answer_id}/verify")
async def verify(kb: Kb, request: Request, answer_id: str) -> Response:
    """Check an answer against the current sources and show the result."""
    recheck = await to_thread.run_sync(verify_again, kb, answer_id, kb.asker.owner)
    return await to_thread.run_sync(_page, kb, request, answer_id, recheck)


def _page(
    kb: KnowledgeBase,
    request: Request,
    answer_id: str,
    recheck: Rechecked | None = None,
    show: Sequence[str] = (),
) -> Response:
    stored, answer = stored_answer(kb, answer_id, kb.asker.owner)
    limits = [limit.value for limit in answer.limits if limit.kind == "collection"]
    scope = Filters(collections=tuple(limits))
    contexts = quote_contexts(kb, answer) if "detailed" in show else ()
    values = {
        **answer_page_values(kb, answer, stale=stored.stale),
        "contexts": {context.number: context for context in contexts},
        "coverage": scope_coverage(kb, scope) if "coverage" in show else (),
        "recheck": template_view(recheck),
        "turns": earlier_turns(kb, answer.session_id, before=answer.id),
        "asked": _limits_asked(answer),
        "choices": limit_choices(kb),
    }
    return render_page(request, "answer_page.html", values)


def _limits_asked(answer: Answer) -> AskQuery:
    """The collections, documents and days that the asker chose, for the next question."""
    chosen: defaultdict[str, list[str]] = defaultdict(list)
    for limit in answer.limits:
        if limit.origin != "question":
            chosen[limit.kind].append(limit.value)
    first, _, last = "".join(chosen["time"]).replace("…", "").partition(" to ")
    return AskQuery(
        session=answer.session_id,
        collection=chosen["collection"],
        document=chosen["document"],
        **{"from": first.strip(), "to": last.strip()},
    )


def feedback_changes(
    form: Mapping[str, Any], answer: Answer, before: Feedback | None
) -> dict[str, Any]:
    """The form's feedback as a change of the stored feedback ``before``."""
    change: dict[str, Any] = {
        "score": _score(form.get("score", "")),
        "comment": str(form.get("comment", "")),
        "correction": str(form.get("correction", "")),
    }
    if cited := _citation_change(form, ""):
        change["citations"] = list(filter(None, cited.values()))
    ratings = {rating.sentence: rating for rating in before.sentences} if before else {}
    change["sentences"] = [
        _sentence_change(form, index, ratings.get(index)) for index in range(len(answer.sentences))
    ]
    return change


def _sentence_change(
    form: Mapping[str, Any], index: int, before: SentenceRating | None
) -> dict[str, Any]:
    name = f"s{index + 1}_"
    change: dict[str, Any] = {
        "sentence": index,
        "score": _score(form.get(f"{name}score", "")),
        "explanation": str(form.get(f"{name}explanation", "")),
        "correction": str(form.get(f"{name}correction", "")),
    }
    for flag in ("harmful", "content_issue"):
        if f"{name}{flag}" in form:
            change[flag] = True
        elif before and getattr(before, flag):
            change[flag] = None  # the box was unticked: the flag is removed
    return change | _citation_change(form, name)


def _citation_change(form: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The citation in the form, None if it was removed; nothing if it is unchanged."""
    document = str(form.get(f"{name}document", ""))
    words = str(form.get(f"{name}words", "")).strip()
    if [document, *words.split()] == str(form.get(f"{name}words_before", "")).split():
        return {}
    if not document and not words:
        return {"citation": None}
    if not document or not words:
        raise RequestError(
            "a better citation needs both a source and a quotation", hint="give both or neither"
        )
    return {"citation": {"document_id": document, "words": words}}


def _score(value: Any) -> Score | None:
    """The typed number; an empty field means “not rated”."""
    text = str(value).strip()
    if not text:
        return None
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise RequestError(f"{text!r} is not a score", hint="give a number from 0 to 100") from None


@edits.post("/answers/{answer_id}/feedback")
async def give(kb: Kb, request: Request, answer_id: str) -> Response:
    """Store the feedback from the form and return to the answer."""
    form = dict(await request.form())
    stored_id = await to_thread.run_sync(_give, kb, answer_id, form)
    return RedirectResponse(f"/answers/{stored_id}#feedback", status_code=303)


@edits.post("/answers/{answer_id}/rate")
def rate(kb: Kb, answer_id: str, score: Annotated[str, Form()] = "") -> Response:
    """Store a score alone, and keep the rest of the feedback as it is."""
    given = give_feedback(kb, answer_id, {"score": _score(score)}, author=kb.asker.owner)
    return RedirectResponse(f"/answers/{given.answer_id}#feedback", status_code=303)


@edits.post("/answers/{answer_id}/feedback/remove")
def remove_feedback(kb: Kb, answer_id: str) -> Response:
    """Remove all feedback on the answer."""
    removed = kept_answers.delete_feedback(kb, answer_id)
    return RedirectResponse(f"/answers/{removed.answer_id}#feedback", status_code=303)


def _give(kb: KnowledgeBase, answer_id: str, form: Mapping[str, object]) -> str:
    _, answer = stored_answer(kb, answer_id, kb.asker.owner)
    change = feedback_changes(form, answer, feedback_of(kb, answer.id, kb.asker.owner))
    return give_feedback(kb, answer.id, change, author=kb.asker.owner).answer_id


@reads.get("/conversations")
def conversations(
    kb: Kb, request: Request, query: str = "", limit: Limit = 50, offset: Offset = 0
) -> Response:
    """Conversations, most recently used first; with ``query``, those that contain all its words."""
    sessions = kb.catalogue.sessions.of(kb.asker.owner, limit + 1, offset, query)
    values = {
        "sessions": sessions[:limit],
        "asked": {"query": query, "limit": limit, "offset": offset},
        "more": len(sessions) > limit,
    }
    return render_page(request, "conversations.html", values)


@reads.get("/conversations/{session_id}")
def conversation(kb: Kb, session_id: str) -> Response:
    """Lead to the newest answer of a conversation, whose page shows the earlier ones above it."""
    facts = session_named(kb, session_id)
    turns = kb.catalogue.sessions.turns(facts.id, kb.asker.owner, 2)  # the first and the newest
    address = f"/answers/{turns[-1].id}" if turns else f"/?{urlencode({'session': facts.id})}"
    return RedirectResponse(address, status_code=303)


@asks.post("/conversations/{session_id}/rename")
def rename(
    kb: Kb,
    session_id: str,
    title: Annotated[str, Form()] = "",
    listed: Annotated[str, Form()] = "",
) -> Response:
    """Give a conversation another title."""
    if not title.strip():
        raise RequestError("a conversation needs a title", hint="type one")
    facts = session_named(kb, session_id)
    kb.catalogue.sessions.rename(facts.id, kb.asker.owner, title.strip())
    address = "/conversations" if listed else f"/conversations/{quote(facts.id)}"
    return RedirectResponse(address, status_code=303)


@asks.post("/conversations/{session_id}/remove")
def remove(kb: Kb, session_id: str) -> Response:
    """Remove a conversation with all its answers."""
    kept_answers.remove(kb, session_id)
    return RedirectResponse("/conversations", status_code=303)
