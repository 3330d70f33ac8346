"""Rounds of looking with a language model: it says what to look for, this module looks.

Only passages that its calls find go into the run's pool; of what the model writes nothing is used
but the names of facets, and those only in words that the question, the plan or a shown passage has.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, create_task_group, to_thread

from wellread.codec import from_plain, to_plain
from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.models.base import Exchange, ToolCall
from wellread.reports import Limits, ProgressEvent, ResearchPlan, StopReason
from wellread.research.model.asking import Heard, ask_in_turn
from wellread.research.model.call_lines import calls_in
from wellread.research.model.context import RoundsEnd, RunContext
from wellread.research.model.planted_calls import Watch
from wellread.research.model.round_prompts import MOST_CALLS, Telling
from wellread.research.model.tool_arguments import Arguments, Asked, asked_by, read_arguments
from wellread.research.model.tools import Outcome, Toolbox
from wellread.text.words import harmless
from wellread.types import Filters, Hit

MOST_ROUNDS = 10
BARREN = 2  # rounds in a row without a new passage, after which there is nothing more
AT_A_TIME = 4
MOST_NEW_FACETS = 5
LONGEST_SHOWN = 120
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


@dataclass(slots=True, kw_only=True)
class _Look:
    """The state of the rounds of one run."""

    run: RunContext
    box: Toolbox
    watch: Watch
    telling: Telling
    titles: dict[str, str]
    made: set[str] = field(default_factory=set)
    opened: int = 0
    stopped: StopReason | None = None

    def digest(self) -> str:
        """What the pool holds now."""
        found: dict[str, Sequence[Hit]] = {one: self.run.found(one) for one in self.titles}
        return self.telling.digest(found, self.titles)

    def check(self, asked: Asked, place: int) -> _Call:
        """The call with its arguments, or with the reason why it is not run."""
        if place >= MOST_CALLS:
            return _Call(asked=asked, outcome=Outcome(wrong=_TOO_MANY))
        try:
            arguments = read_arguments(asked)
        except ValueError as error:
            return _Call(asked=asked, outcome=Outcome(wrong=str(error)))
        keys = self.telling.keys
        values = [value for value in _words_of(arguments) if not keys.known(value)]
        if self.watch.copied(asked.name, asked.line, values):
            return _Call(asked=asked, outcome=Outcome(wrong=_COPIED))
        ids = {"document": keys.document, "passage": keys.passage}
        known = {
            name: ids[name](getattr(arguments, name)) for name in ids if hasattr(arguments, name)
        }
        arguments = arguments.model_copy(update=known)
        same = f"{asked.name} {arguments.model_dump_json(exclude={'facet'})}"
        if same in self.made:
            return _Call(asked=asked, outcome=Outcome(wrong=_AGAIN))
        self.made.add(same)
        return _Call(asked=asked, arguments=arguments)

    async def run_all(self, calls: Sequence[_Call], round_number: int) -> None:
        """Run those that may be, several at a time; each has its outcome then.

        Raises:
            WellreadError: a part of the home cannot be used.
        """
        limiter = CapacityLimiter(AT_A_TIME)
        errors: list[WellreadError] = []

        async def one(place: int, call: _Call) -> None:
            arguments = call.arguments
            async with limiter:
                self.stopped = self.stopped or self.run.stop()
                if arguments is None or self.stopped or errors:
                    call.outcome = Outcome(wrong=_LIMIT)
                    return
                self.run.searched()  # no wait in between, so that no two take the last one

                async def look() -> Any:
                    return to_plain(await to_thread.run_sync(self.box.run, arguments))

                try:
                    plain = await self.run.once(f"call:{round_number}:{place}", look)
                    call.outcome = from_plain(Outcome, plain)
                except WellreadError as error:
                    errors.append(error)

        async with create_task_group() as group:
            for place, call in enumerate(calls):
                if call.outcome is None:
                    group.start_soon(one, place, call)
        if errors:
            raise errors[0]

    def take(self, call: _Call, round_number: int) -> ProgressEvent:
        """Put what a call found into the pool; the event counts what was new."""
        hits = call.outcome.hits if call.outcome else ()
        facet = self._facet(call, round_number) if hits else ""
        new = self.run.add(facet, hits) if hits else 0
        text = _outcome_in_words(call, new)
        return ProgressEvent(round=round_number, stage="search", text=text, facet=facet, found=new)

    def _facet(self, call: _Call, round_number: int) -> str:
        """The facet that a call is for; a new one where it names one that may be opened."""
        first = next(iter(self.titles))
        named = call.arguments.facet if call.arguments else ""
        known = {title.casefold(): one for one, title in self.titles.items()}
        if not named or named in self.titles or named.casefold() in known:
            return known.get(named.casefold(), named or first)
        title = " ".join(named.split())
        fit = _TITLE.fullmatch(title) and self.watch.knows(title)
        if not fit or self.opened >= MOST_NEW_FACETS:
            return first
        query = " ".join(_words_of(call.arguments)) or title
        opened = self.run.open_facet(title, query, round_number)
        if opened and opened not in self.titles:
            self.titles[opened] = title
            self.opened += 1
        return opened or first


async def investigate(
    kb: KnowledgeBase,
    plan: ResearchPlan,
    run: RunContext,
    filters: Filters,
    *,
    rounds: int = Limits().rounds,
    first: int = 1,
) -> AsyncIterator[ProgressEvent]:
    """Let the language model say what to look for, round by round, and look for it.

    Why it ended is told to ``run.end_rounds``, and in the last event.

    Args:
        filters: the limits of the question; no call reaches beyond them.
        rounds: at most, and never more than 10.
        first: the number of the first of them, in events and in the journal.

    Raises:
        SettingsError: a model's name or address cannot be used.
        StoreError, ModelError: a part of the home cannot be used.
    """
    watch = Watch([plan.question])
    telling = Telling(run.id, plan.question, watch)
    titles = {facet.id: facet.title for facet in plan.facets}
    look = _Look(run=run, box=Toolbox(kb, filters), watch=watch, telling=telling, titles=titles)
    last = min(rounds, MOST_ROUNDS)
    opening = telling.first(plan.facets, look.digest(), last)
    history: list[Exchange] = []
    barren = 0
    end: tuple[RoundsEnd, str] = ("round_limit", "")
    for place in range(last):
        number = first + place
        heard = await _hear(kb, look, opening, history, number)
        asked = _asked(heard)
        if not asked:
            end = _ended(heard)
            break
        calls = [look.check(one, at) for at, one in enumerate(asked)]
        for call in calls:
            if call.outcome is None:
                yield ProgressEvent(round=number, stage="search", text=call.doing)
        await look.run_all(calls, number)
        found = [look.take(call, number) for call in calls]
        for event in found:
            yield event
        if look.stopped:
            end = (look.stopped, "")
            break
        barren = 0 if any(event.found for event in found) else barren + 1
        if barren == BARREN:
            end = ("no_new_evidence", "")
            break
        if place + 1 < last:
            history.append(_exchange(look, heard, calls, place + 2, last))
    run.end_rounds(*end)
    text = f"{_ENDS[end[0]]}{': ' if end[1] else ''}{end[1]}"
    yield ProgressEvent(
        round=first + min(place, last - 1) if last else first, stage="model", text=text
    )


async def _hear(
    kb: KnowledgeBase, look: _Look, opening: str, history: Sequence[Exchange], number: int
) -> Heard:
    """The model's reply in this round."""
    session = f"research-{look.run.id}"
    return await ask_in_turn(
        kb,
        look.run,
        f"round:{number}",
        lambda tools: look.telling.prompt(opening, history, session, by_lines=not tools),
    )


def _asked(heard: Heard) -> list[Asked]:
    """The calls in a reply; of a model that takes tools, lines of text are none."""
    if heard.tools:
        return [asked_by(call) for call in heard.calls]
    return calls_in(heard.text) if heard.by else []


def _ended(heard: Heard) -> tuple[RoundsEnd, str]:
    """Why a reply without calls ends the rounds."""
    if heard.stopped:
        return heard.stopped, heard.told
    if not heard.by:
        return ("budget" if heard.over_budget else "failed"), heard.told
    return "complete", ""


def _exchange(
    look: _Look, heard: Heard, calls: Sequence[_Call], number: int, last: int
) -> Exchange:
    """What was said and found, for the next round."""
    status = (
        f"Round {number} of {last}. Passages so far:\n{look.digest()}\n"
        "What else is worth looking for? DONE when nothing is."
    )
    if heard.tools:
        results = tuple(look.telling.result("", call.outcome or Outcome()) for call in calls)
        made = tuple(
            ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in heard.calls
        )
        return Exchange(text=heard.text, calls=made, results=results, told=status)
    told = [
        look.telling.result(look.telling.asked(call.asked.line), call.outcome or Outcome())
        for call in calls
    ]
    return Exchange(text=heard.text, told="\n\n".join([*told, status]))


def _outcome_in_words(call: _Call, new: int) -> str:
    outcome = call.outcome or Outcome()
    if call.arguments is None:
        return f"a look-up is not made: {harmless(outcome.wrong)}"[: 2 * LONGEST_SHOWN]
    if outcome.wrong:
        return f"{call.doing}: not made, {outcome.wrong}"
    if outcome.refused:
        return f"{call.doing}: {harmless(outcome.refused)}"[: 2 * LONGEST_SHOWN]
    return f"{call.doing}: {len(outcome.hits)} passages, {new} of them new"


def _words_of(arguments: Arguments | None) -> list[str]:
    """The words among the arguments: what is looked for, and whose."""
    names = ("name", "document", "speaker", "query", "passage")
    return [value for name in names if (value := str(getattr(arguments, name, "")))]
