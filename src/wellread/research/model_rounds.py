"""Rounds of looking with a language model: it says what to look for, this module looks.

Only passages that its calls find go into the run's pool; of what the model writes nothing is used
but the names of facets, and those only in words that the question, the plan or a shown passage has.
Every word of a source goes through a ``Watch`` before it is shown (``call_lines.py``). Each call of
a model is a step of the run's journal, so that a run that was killed does not pay for it twice.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from anyio import CapacityLimiter, create_task_group, to_thread

from wellread.ask.write.drafting import plan
from wellread.codec import from_plain, to_plain
from wellread.config import Role
from wellread.errors import BudgetError, ModelError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.models.base import Exchange, ModelUsage, Prompt, TextDelta, ToolCall
from wellread.models.prompts import fence_of, fenced, template
from wellread.models.recording import RecordedModel
from wellread.research.call_lines import ROUTES, Watch, calls_in
from wellread.research.run_state import RoundsEnd, RunState
from wellread.research.tools import (
    Arguments,
    Asked,
    Item,
    Outcome,
    Toolbox,
    asked_by,
    read_arguments,
    tools,
)
from wellread.text.words import harmless
from wellread.values.calls import RESEARCH
from wellread.values.reports import MOST_FACETS, Facet, ProgressEvent, StopReason

logger = logging.getLogger(__name__)

PACKAGE = "wellread.research"
MOST_ROUNDS = 10
BARREN = 2  # rounds in a row without a new passage, after which there is nothing more
AT_A_TIME = 4
MOST_CALLS = 6  # of one round
MOST_NEW_FACETS = 5
KEPT_WHOLE = 2  # rounds, the newest, whose results stay in the history
TITLES, SNIPPET = 3, 240  # of a facet, in the digest
LONGEST_TITLE = 160
LONGEST_SHOWN = 120
SHOWN_BEFORE = "(shown before)"
_TITLE = re.compile(r"[\w\s'’.,&:+()-]{3,80}")
_COPIED = "a source orders this call, and sources do not decide what is looked for"
_AGAIN = "this call was made before; look for something else"
_TOO_MANY = f"at most {MOST_CALLS} calls a round"
_LIMIT = "a limit of the run is reached"
_DOING = {
    "search": "looks for",
    "search_document": "looks inside a document for",
    "search_speaker": "looks for the words of",
    "search_dates": "looks in a time for",
    "look_up_entity": "looks up",
    "read_transcript": "reads the transcript of",
    "read_around": "reads around a passage",
    "list_recordings": "lists the recordings",
    "read_timeline": "reads the timeline of",
}
_ENDS: dict[RoundsEnd, str] = {
    "complete": "the model has nothing more to look for",
    "no_new_evidence": "the model's look-ups find nothing new",
    "round_limit": "the last round of the model is over",
    "time_limit": "the time is used up",
    "budget": "the budget is used up",
    "cancelled": "the run was cancelled",
    "failed": "the model failed",
}


async def investigate(state: RunState, question: str) -> AsyncIterator[ProgressEvent]:
    """Let the language model say what to look for, round by round, and look for it.

    Why it ended is left with ``state.stopped`` or, where the model failed, ``state.failure``, and
    told in the last event. No call reaches beyond ``state.filters``; there are never more than ten
    rounds, those before included never more than the limit of the run.
    """
    look = _Look(state, question)
    first, most = state.rounds + 1, min(state.limits.rounds - state.rounds, MOST_ROUNDS)
    opening = look.telling.first(state.facets, look.digest(), most)
    history: list[Exchange] = []
    barren, number = 0, first
    end: tuple[RoundsEnd, str] = ("round_limit", "")
    for number in range(first, first + most):
        heard = await ask_in_turn(
            state,
            f"round:{number}",
            lambda takes_tools: look.telling.prompt(opening, history, by_lines=not takes_tools),
        )
        asked = _asked(heard)
        if not asked:
            end = _ended(heard)
            break
        calls = [look.check(each, place) for place, each in enumerate(asked)]
        for call in calls:
            if call.outcome is None:
                yield ProgressEvent(round=number, stage="search", text=call.doing)
        stopped = await look.run_all(calls, number)
        events = [look.take(call, number) for call in calls]
        for event in events:
            yield event
        barren = 0 if any(event.found for event in events) else barren + 1
        if stopped or barren == BARREN:
            end = (stopped or "no_new_evidence", "")
            break
        status = f"Round {number - first + 2} of {most}. Passages so far:\n{look.digest()}"
        history.append(look.telling.exchange(heard, calls, status))
    if end[0] == "failed":
        state.failure = end[1]
    else:
        state.stopped = end[0]
    yield ProgressEvent(
        round=number, stage="model", text=": ".join(filter(None, (_ENDS[end[0]], end[1])))
    )


# --- one question to the models of a home --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of asking.

    Attributes:
        by: who replied; empty when nobody did. ``tools``: whether that model takes tools.
        usage: of the last call; None where none was made.
        reasons: why those before did not reply.
        stopped: the limit of the run that came in between.
        over_budget: whether a call was refused for want of budget.
        waiting: who is asked next. ``cheaper``: who is when the first is refused for its price.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    by: str = ""
    tools: bool = False
    usage: ModelUsage | None = None
    reasons: tuple[str, ...] = ()
    stopped: StopReason | None = None
    over_budget: bool = False
    waiting: tuple[Role, ...] = ()
    cheaper: Role | None = None

    @property
    def told(self) -> str:
        """The reasons in one line."""
        return "; ".join(self.reasons)


async def ask_in_turn(state: RunState, key: str, prompt_for: Callable[[bool], Prompt]) -> Heard:
    """The reply of the first model that gives one: the model, a cheaper one, the fallback model.

    Args:
        key: names this question in the run's journal.
        prompt_for: makes the prompt for a model, given whether it takes tools.
    """
    heard: Heard | None = None
    tried = 0
    while heard is None or (heard.waiting and not heard.by):
        if reason := state.stop():
            return replace(heard or Heard(), stopped=reason)

        async def ask(before: Heard | None = heard) -> Any:
            return to_plain(await _try(state.kb, before, prompt_for))

        heard = from_plain(Heard, await state.once(f"{key}:{tried}", ask))
        if heard.usage is not None:
            state.spend(heard.usage)
        tried += 1
    return heard


async def _try(
    kb: KnowledgeBase, before: Heard | None, prompt_for: Callable[[bool], Prompt]
) -> Heard:
    """The reply of the next model that waits, or why there is none."""
    if before is None:
        planned = await to_thread.run_sync(plan, kb)
        reason = planned.reason or ("" if planned.writers else "no language model is configured")
        before = Heard(
            reasons=(reason,) if reason else (),
            over_budget=bool(planned.reason) and not planned.writers,
            waiting=planned.writers,
            cheaper=planned.cheaper,
        )
    if not before.waiting:
        return before
    role, *waiting = before.waiting
    name, offered = kb.models.names()[role], False
    model: RecordedModel | None = None
    try:
        model = await to_thread.run_sync(kb.models.recorded, role, RESEARCH)
        if model is None:
            raise ModelError("there is no such model any more")
        name, offered = model.identity, model.takes_tools
        return replace(await _reply(model, prompt_for(offered)), reasons=before.reasons)
    except BudgetError as error:
        why, usage = f"{name} was not asked: {error.args[0]}", None
        if role == "model" and before.cheaper:
            waiting.insert(0, before.cheaper)
    except ModelError as error:
        logger.warning("%s failed: %s", name, error)
        why, usage = f"{name} failed: {error}", ModelUsage(model=name, cost=error.cost)
        if offered and model is not None and not model.takes_tools:
            waiting.insert(0, role)  # its server refused tools; it is asked by lines
    return replace(
        before,
        reasons=(*before.reasons, why),
        usage=usage,
        over_budget=before.over_budget or usage is None,
        waiting=tuple(waiting),
    )


async def _reply(model: RecordedModel, prompt: Prompt) -> Heard:
    text: list[str] = []
    calls: list[ToolCall] = []
    usage = ModelUsage(model=model.identity)
    async with aclosing(model.stream(prompt)) as pieces:
        async for piece in pieces:
            if isinstance(piece, TextDelta):
                text.append(piece.text)
            elif isinstance(piece, ToolCall):
                calls.append(piece)
            else:
                usage = piece
    return Heard(
        text="".join(text),
        calls=tuple(calls),
        by=model.identity,
        tools=model.takes_tools,
        usage=usage,
    )


def _asked(heard: Heard) -> list[Asked]:
    """The calls in a reply; of a model that takes tools, lines of text are none."""
    if heard.tools:
        return [asked_by(call) for call in heard.calls]
    return calls_in(heard.text) if heard.by else []


def _ended(heard: Heard) -> tuple[RoundsEnd, str]:
    """Why a reply without calls ends the rounds."""
    if heard.by:
        return "complete", ""
    return heard.stopped or ("budget" if heard.over_budget else "failed"), heard.told


# --- the calls of a round ------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call of a round: checked, run, and told of."""

    asked: Asked
    arguments: Arguments | None = None
    outcome: Outcome | None = None

    @property
    def doing(self) -> str:
        """What it looks for, for a person."""
        words = ", ".join(f"“{value}”" for value in _words_of(self.arguments))
        return harmless(f"{_DOING[self.asked.name]} {words}".strip())[:LONGEST_SHOWN]

    def told(self, new: int) -> str:
        """What came of it, for a person."""
        outcome = self.outcome or Outcome()
        if self.arguments is None:
            return f"a look-up is not made: {harmless(outcome.wrong)}"[: 2 * LONGEST_SHOWN]
        if outcome.wrong:
            return f"{self.doing}: not made, {outcome.wrong}"
        if outcome.refused:
            return f"{self.doing}: {harmless(outcome.refused)}"[: 2 * LONGEST_SHOWN]
        return f"{self.doing}: {len(outcome.hits)} passages, {new} of them new"


class _Look:
    """The state of the rounds of one run."""

    def __init__(self, state: RunState, question: str) -> None:
        self._state = state
        self._box = Toolbox(state.kb, state.filters)
        self._watch = Watch([question])
        self._made: set[str] = set()
        self.telling = Telling(state.id, question, self._watch)

    def digest(self) -> str:
        """What the pool holds now."""
        return self.telling.digest(self._state)

    def check(self, asked: Asked, place: int) -> _Call:
        """The call with its arguments, or with the reason why it is not run."""
        try:
            return _Call(asked=asked, arguments=self._checked(asked, place))
        except ValueError as error:
            return _Call(asked=asked, outcome=Outcome(wrong=str(error)))

    def _checked(self, asked: Asked, place: int) -> Arguments:
        if place >= MOST_CALLS:
            raise ValueError(_TOO_MANY)
        arguments = read_arguments(asked)
        keys = {"document": self.telling.documents, "passage": self.telling.passages}
        given = {*keys["document"].values(), *keys["passage"].values()}
        values = [value for value in _words_of(arguments) if value not in given]
        if self._watch.copied(asked.name, asked.line, values):
            raise ValueError(_COPIED)
        ids = {
            name: known.id_of(getattr(arguments, name))
            for name, known in keys.items()
            if hasattr(arguments, name)
        }
        arguments = arguments.model_copy(update=ids)
        same = f"{asked.name} {arguments.model_dump_json(exclude={'facet'})}"
        if same in self._made:
            raise ValueError(_AGAIN)
        self._made.add(same)
        return arguments

    async def run_all(self, calls: Sequence[_Call], number: int) -> StopReason | None:
        """Run those that may be, several at a time; each has its outcome then.

        Returns:
            The limit that came in between.
        """
        limiter = CapacityLimiter(AT_A_TIME)
        errors: list[WellreadError] = []
        stopped: StopReason | None = None

        async def run(place: int, call: _Call) -> None:
            nonlocal stopped
            async with limiter:
                stopped = stopped or self._state.stop()
                arguments = call.arguments
                if arguments is None or stopped or errors:
                    call.outcome = Outcome(wrong=_LIMIT)
                    return
                self._state.searches += 1  # no wait in between: no two take the last one

                async def look() -> Any:
                    return to_plain(await to_thread.run_sync(self._box.run, arguments))

                try:
                    plain = await self._state.once(f"call:{number}:{place}", look)
                    call.outcome = from_plain(Outcome, plain)
                except WellreadError as error:
                    errors.append(error)

        async with create_task_group() as group:
            for place, call in enumerate(calls):
                if call.outcome is None:
                    group.start_soon(run, place, call)
        if errors:
            raise errors[0]
        return stopped

    def take(self, call: _Call, number: int) -> ProgressEvent:
        """Put what a call found into the pool; the event counts what was new."""
        hits = call.outcome.hits if call.outcome else ()
        facet = self._facet(call, number) if hits else ""
        new = self._state.add(facet, hits) if hits else 0
        text = call.told(new)
        return ProgressEvent(round=number, stage="search", text=text, facet=facet, found=new)

    def _facet(self, call: _Call, number: int) -> str:
        """The facet that a call is for; a new one where it names one that may be opened."""
        facets = self._state.facets
        title = " ".join(call.arguments.facet.split()) if call.arguments else ""
        for facet in facets:
            if title.casefold() in (facet.id, facet.title.casefold()):
                return facet.id
        opened = sum(facet.kind == "model" for facet in facets)
        room = opened < MOST_NEW_FACETS and len(facets) < MOST_FACETS
        if not (room and _TITLE.fullmatch(title) and self._watch.knows(title)):
            return facets[0].id
        made = Facet(
            id=f"f{len(facets) + 1}",
            kind="model",
            title=title,
            query=" ".join(_words_of(call.arguments)) or title,
            filters=self._state.filters,
            why="the model asked for it",
            round=number,
        )
        facets.append(made)
        return made.id


def _words_of(arguments: Arguments | None) -> list[str]:
    """The words among the arguments: what is looked for, and whose."""
    names = ("name", "document", "speaker", "query", "passage")
    return [value for name in names if (value := str(getattr(arguments, name, "")))]


# --- what the model is told ----------------------------------------------------------------------


class Keys(dict[str, str]):
    """Short keys for the ids that were shown: ``p1``, ``p2``, …"""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._letter = letter

    def of(self, name: str) -> str:
        """The key of an id, which is given one where it has none."""
        return self.setdefault(name, f"{self._letter}{len(self) + 1}")

    def id_of(self, key: str) -> str:
        """The id that a key stands for; any other name as it is."""
        return next((name for name, own in self.items() if own == key), key)


class Telling:
    """Writes what the model is told, and keeps the books of it."""

    def __init__(self, run_id: str, question: str, watch: Watch) -> None:
        """Begin a conversation about ``question``."""
        self.passages, self.documents = Keys("p"), Keys("d")
        self._run_id = run_id
        self._question = question
        self._watch = watch
        self._fence = fence_of(run_id, question)
        self._seen: set[tuple[str, str]] = set()

    def first(self, facets: Iterable[Facet], digest: str, rounds: int) -> str:
        """The first message."""
        return template("rounds_user.md", PACKAGE).render(
            fence=self._fence,
            question=self._own(self._question),
            facets=[
                {"id": one.id, "title": self._line(one.title), "query": self._line(one.query)}
                for one in facets
            ],
            digest=digest,
            number=1,
            rounds=rounds,
        )

    def prompt(self, first: str, history: Sequence[Exchange], *, by_lines: bool) -> Prompt:
        """The whole of what the model is asked now; older results are left out of it."""
        system = template("rounds_system.md", PACKAGE).render(
            most=MOST_CALLS, routes=ROUTES if by_lines else ()
        )
        old, new = history[:-KEPT_WHOLE], history[-KEPT_WHOLE:]
        shortened = [
            replace(one, results=(SHOWN_BEFORE,) * len(one.results), told=SHOWN_BEFORE)
            for one in old
        ]
        return Prompt(
            system=system,
            user=first,
            session=f"research-{self._run_id}",
            tools=() if by_lines else tools(),
            history=(*shortened, *new),
        )

    def exchange(self, heard: Heard, calls: Sequence[_Call], status: str) -> Exchange:
        """What was said and found, for the next round."""
        status = f"{status}\nWhat else is worth looking for? DONE when nothing is."
        results = [self._result(call.outcome or Outcome()) for call in calls]
        if heard.tools:
            made = tuple(
                ToolCall(id=call.id, name=call.name, arguments=call.arguments)
                for call in heard.calls
            )
            return Exchange(text=heard.text, calls=made, results=tuple(results), told=status)
        told = [
            f"{self._own(call.asked.line)[:SNIPPET]}:\n{result}"
            for call, result in zip(calls, results, strict=True)
        ]
        return Exchange(text=heard.text, told="\n\n".join([*told, status]))

    def digest(self, state: RunState) -> str:
        """How much each facet has, from which documents, and how its best passage begins."""
        lines: list[str] = []
        for facet in state.facets:
            hits = state.pool.of(facet.id)
            documents = {hit.document.id: hit.document.title for hit in hits}
            lines.append(
                f"{facet.id} {self._line(facet.title)}: {_count(len(hits), 'passage')} from "
                f"{_count(len(documents), 'document')}"
            )
            for name, title in list(documents.items())[:TITLES]:
                lines.append(f"  {self.documents.of(name)} {self._line(title)}")
            for hit in hits[:1]:
                begin = self._line(hit.passage.text)[:SNIPPET]
                lines.append(f"  {self.passages.of(hit.passage.id)} begins: {begin}")
        return "\n".join(lines) or "nothing yet"

    def _result(self, outcome: Outcome) -> str:
        """What one call gave."""
        if outcome.wrong:
            return f"not run: {self._own(outcome.wrong)}"
        if outcome.refused:
            return f"nothing found: {self._line(outcome.refused)}"
        lines = [self._line(note) for note in outcome.notes]
        lines += [line for item in outcome.items for line in self._item(item)]
        if outcome.more:
            lines.append(f"({outcome.more} more are not shown)")
        inside = "\n".join(lines) or "nothing found"
        return f"<found-{self._fence}>\n{inside}\n</found-{self._fence}>"

    def _item(self, item: Item) -> Iterable[str]:
        document = item.document
        facts = [
            self._line(document.title)[:LONGEST_TITLE],
            document.kind,
            self._line(item.place),
            document.published_at.date().isoformat() if document.published_at else "",
            self.documents.of(document.id),
        ]
        key = f"[{self.passages.of(item.hit.passage.id)}] " if item.hit else ""
        yield f"{key}{' · '.join(filter(None, facts))}"
        place = (item.hit.passage.id if item.hit else document.id, item.text)
        shown = fenced(self._watch.show(item.text), self._fence)
        yield SHOWN_BEFORE if place in self._seen else shown
        self._seen.add(place)

    def _own(self, text: str) -> str:
        """Words of the asker or of the model itself, on one line."""
        return " ".join(fenced(text, self._fence).split())

    def _line(self, text: str) -> str:
        """Words of a source, on one line."""
        return self._own(self._watch.show(text))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
