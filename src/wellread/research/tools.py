"""The tools that a model may call in research: read-only, and never beyond the question's limits.

Arguments are JSON by a stranger, so they are checked as those of the API are: by pydantic, with
nothing that is not named here. No tool takes a collection or another limit of the question. What a
tool finds passes one gate (``_inside``): documents that do not meet the question's filters, and
passages in which none of their speakers speaks, are left out, so that no argument can widen them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from inspect import Parameter, signature
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from wellread.codec import storable
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values, named_document
from wellread.library.recordings import recordings, transcript
from wellread.library.searches import Result, around, find, newest
from wellread.library.timelines import Window, timeline
from wellread.models.base import Tool, ToolCall
from wellread.research.run_state import hits_from_plain
from wellread.text.periods import expressions_of
from wellread.types import DocumentFacts, Filters, Hit

MOST_RESULTS = 12
LONGEST_REASON = 300
_CLOCK = re.compile(r"(?:(?:(\d{1,2}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d+)?")
_FACET = "id of the facet that it is for, or a short name for a new one"


def _a_time(text: str) -> str:
    if text and _period_of(text) is None:
        raise ValueError("not a date; write 2025, 2025-10 or 2025-10-14")
    return text


def _a_place(text: str) -> str:
    if text and _CLOCK.fullmatch(text) is None:
        raise ValueError("not a time in a recording; write seconds, MM:SS or H:MM:SS")
    return text


_DAY = "2025, 2025-10 or 2025-10-14; inclusive"
_CLOCK_TIME = "seconds, MM:SS or H:MM:SS"
Name = Annotated[str, Field(min_length=1, max_length=300)]
Query = Annotated[str, Field(min_length=1, max_length=400)]
Words = Annotated[str, Field(max_length=400)]
Day = Annotated[str, Field(max_length=40, description=_DAY), AfterValidator(_a_time)]
Moment = Annotated[str, Field(max_length=20, description=_CLOCK_TIME), AfterValidator(_a_place)]
Count = Annotated[int, Field(ge=1, le=MOST_RESULTS)]
Speaker = Annotated[str, Field(max_length=300)]
Few = Annotated[int, Field(ge=0, le=5)]


class Arguments(BaseModel):
    """What every tool takes; the rest comes from the signature of its method (``Toolbox``)."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, str_strip_whitespace=True, validate_default=True
    )
    facet: str = Field(default="", max_length=120, description=_FACET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call as a model made it; ``line``: all of it as it was written.

    Attributes:
        wrong: why it cannot be read; empty when it can.
    """

    name: str
    line: str
    arguments: Mapping[str, Any]
    wrong: str = ""


def tools() -> tuple[Tool, ...]:
    """The tools as a model is offered them."""
    return tuple(
        Tool(name=name, description=kind.__doc__ or "", parameters=kind.model_json_schema())
        for name, kind in TAKEN.items()
    )


def asked_by(call: ToolCall) -> Asked:
    """A call of a model that takes tools; arguments that are null count as not given."""
    read: Any = None
    wrong = "the arguments are not a JSON object"
    try:
        read = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        wrong = f"the arguments are not JSON: {error}"[:LONGEST_REASON]
    line = f"{call.name} {call.arguments}"
    if not isinstance(read, dict):
        return Asked(name=call.name, line=line, arguments={}, wrong=wrong)
    given = {str(key): value for key, value in read.items() if value is not None}
    return Asked(name=call.name, line=line, arguments=given)


def read_arguments(asked: Asked) -> Arguments:
    """The arguments, checked."""
    if asked.wrong:
        raise ValueError(asked.wrong)
    kind = TAKEN.get(asked.name)
    if kind is None:
        raise ValueError(f"there is no tool {asked.name[:40]!r}; there are: {', '.join(TAKEN)}")
    try:
        return kind.model_validate(storable(dict(asked.arguments)))
    except ValidationError as error:
        # What was given may be anything, so it is not said again.
        told = [
            f"{'.'.join(map(str, each['loc']))[:40]}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False)
        ]
        raise ValueError("; ".join(told)[:LONGEST_REASON]) from error


def _moments(start: str, end: str) -> tuple[datetime | None, datetime | None]:
    """The first moment of ``start`` and the last of ``end``; None for what is not given."""
    first, last = _period_of(start), _period_of(end)
    return (
        datetime.combine(first[0], time.min, UTC) if first else None,
        datetime.combine(last[1], time.max, UTC) if last else None,
    )


def _seconds(place: str) -> float | None:
    """The seconds that a place in a recording stands for; None for none."""
    clock = _CLOCK.fullmatch(place)
    if clock is None:
        return None
    return int(clock[1] or 0) * 3600 + int(clock[2] or 0) * 60 + int(clock[3])


def _period_of(text: str) -> tuple[date, date] | None:
    for told in expressions_of(text, datetime.now(UTC).date()):
        if (told.start, told.end) == (0, len(text)):
            return told.period.first, told.period.last
    return None


# --- what they find ------------------------------------------------------------------------------

MOST_ITEMS = 12  # of one call
MOST_CHARACTERS = 6_000  # of one call
LONGEST_ITEM = 700
MENTIONS = 6
RELATIONS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a call found: a document, and the passage where there is one.

    Attributes:
        text: what is shown of it.
        place: its locator's label.
    """

    document: DocumentFacts
    text: str
    place: str = ""
    hit: Hit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call gave.

    Attributes:
        items: in order; what did not fit is counted in ``more``.
        notes: lines that belong to no passage, such as relations.
        refused: why nothing was found, by the library, which may name what looks like it.
        wrong: why it was not run, in this program's words.
    """

    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    more: int = 0
    refused: str = ""
    wrong: str = ""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The passages that are shown, each once."""
        found = {item.hit.passage.id: item.hit for item in self.items if item.hit}
        return tuple(found.values())


class Toolbox:
    """The tools of one run. Safe to call from several threads."""

    def __init__(self, kb: KnowledgeBase, filters: Filters) -> None:
        """Bind them to the material; nothing outside ``filters`` is ever shown."""
        self._kb = kb
        self._filters = filters

    def run(self, arguments: Arguments) -> Outcome:
        """What the tool that takes these ``arguments`` finds.

        A name that nothing has, or a limit that leaves nothing, is told in ``refused``.
        """
        try:
            tool: Callable[..., Outcome] = getattr(self, type(arguments).__name__)
            return self._within(tool(**arguments.model_dump(exclude={"facet"})))
        except RequestError as error:
            # A hint may name documents that the question's filters leave out.
            narrow = self._filters != Filters(collections=self._filters.collections)
            return Outcome(refused=str(error.args[0]) if narrow else str(error))

    # --- the tools ---

    def search(self, query: Query, limit: Count = 6) -> Outcome:
        """Search all of the material for passages about something."""
        return _found(find(self._kb, query, self._filters, limit=limit).results)

    def search_document(self, document: Name, query: Query, limit: Count = 6) -> Outcome:
        """Search inside one document, named by its key (d3), id or title."""
        limits = replace(self._filters, document_ids=(self._document(document).id,))
        return _found(find(self._kb, query, limits, limit=limit).results)

    def search_speaker(self, name: Name, query: Words = "", limit: Count = 6) -> Outcome:
        """What one person says in transcripts: about the query, or the newest without one."""
        called = Filters(collections=self._filters.collections, speakers=(name,))
        names = known_values(self._kb, called).speakers
        limits = replace(self._filters, speakers=self._speakers(names, name))
        return self._ranked(query, limits, limit)

    def search_dates(
        self, start: Day = "", end: Day = "", query: Words = "", limit: Count = 6
    ) -> Outcome:
        """What was published from one day to another: about the query, or the newest without."""
        since, until = _moments(start, end)
        if since is None and until is None:
            raise RequestError("neither start nor end is given")
        own = self._filters
        since = max(filter(None, (since, own.published_from)), default=None)
        until = min(filter(None, (until, own.published_to)), default=None)
        if since and until and since > until:
            raise RequestError("these dates are outside the limits of the question")
        limits = replace(own, published_from=since, published_to=until)
        return self._ranked(query, limits, limit)

    def look_up_entity(self, name: Name) -> Outcome:
        """What is known of a person, organisation, place or thing: relations, and who names it."""
        graph = self._kb.catalogue.graph
        nodes = graph.resolve(self._filters.collections, name)
        known = self._inside(node.document_id for node in nodes)
        nodes = [node for node in nodes if node.document_id in known]
        if not nodes:
            raise RequestError(f"no entity is called {name!r}", hint="search for the name")
        node, scope = nodes[0], (nodes[0].collection,)
        neighbours = graph.neighbours(scope, node.id)
        described = self._inside(one.node.document_id for one in neighbours if one.node)
        related = [
            f"{one.relation}: {one.name}"
            for one in neighbours
            # What is described outside the limits is not told of.
            if one.node is None or one.node.document_id in described
        ]
        notes = [f"entity: {node.title} ({node.type or 'no type'})", *related[:RELATIONS]]
        if node.aliases:
            notes.insert(1, f"also called: {', '.join(node.aliases[:RELATIONS])}")
        mentioning = graph.documents_mentioning(scope, node.id, MENTIONS)
        openings = self._kb.catalogue.listings.openings([node.document_id])
        places = [(one.document.id, one.first.start) for one in mentioning]
        covering = self._kb.catalogue.listings.covering(places)
        first = [passage.id for passage in openings.values()]
        items = [
            Item(document=hit.document, text=hit.passage.text, hit=hit)
            for hit in self._hits([*first, *covering])
        ]
        return Outcome(items=tuple(items), notes=tuple(notes))

    def read_transcript(
        self, document: Name, speaker: Speaker = "", start: Moment = "", end: Moment = ""
    ) -> Outcome:
        """A transcript by its key (d3), id or title: whole, one speaker's turns, or some time."""
        known = self._document(document, media=True)
        read = transcript(
            self._kb,
            known.id,
            collections=self._filters.collections,
            speaker=speaker,
            since=_seconds(start),
            until=_seconds(end),
        )
        own = {name.casefold() for name in self._filters.speakers}
        turns = [one for one in read.turns if not own or one.speaker.casefold() in own]
        hits = {hit.passage.id: hit for hit in self._hits([one.passage_id for one in turns])}
        items = [
            Item(
                document=known,
                text=f"{one.speaker}: {one.text}" if one.speaker else one.text,
                place=one.locator.label,
                hit=hits[one.passage_id],
            )
            for one in turns
            if one.passage_id in hits
        ]
        return Outcome(items=tuple(items))

    def read_around(self, passage: Name, before: Few = 2, after: Few = 2) -> Outcome:
        """The passages before and after one that was shown, named by its key (p7)."""
        near = around(self._kb, passage, before, after, self._filters.collections)
        return _found(near.results)

    def list_recordings(
        self,
        limit: Annotated[int, Field(ge=1, le=40)] = 20,
        offset: Annotated[int, Field(ge=0, le=100_000)] = 0,
    ) -> Outcome:
        """The recordings and transcripts that there are, the newest first."""
        page = recordings(self._kb, self._filters, limit=limit, offset=offset)
        listed = page.recordings[:MOST_ITEMS]
        items = [
            Item(document=one.document.facts, text=f"speakers: {', '.join(one.speakers[:12])}")
            for one in listed
        ]
        left = page.total - offset - len(listed)
        return Outcome(items=tuple(items), more=max(0, left))

    def read_timeline(
        self, name: Name, start: Day = "", end: Day = "", limit: Count = MOST_RESULTS
    ) -> Outcome:
        """How a topic, an entity or a story went on over time."""
        since, until = _moments(start, end)
        window = Window(since=since, until=until, limit=limit)
        made = timeline(self._kb, name, window, collections=self._filters.collections)
        hits = {hit.passage.id: hit for hit in self._hits(one.passage_id for one in made.entries)}
        items = [
            Item(
                document=one.document,
                text=f"{one.at.date().isoformat()} {one.title}: {one.text}",
                place=one.locator.label if one.locator else "",
                hit=hits.get(one.passage_id),
            )
            for one in made.entries
            if one.document is not None
        ]
        return Outcome(items=tuple(items), notes=(f"timeline of the {made.taken}",))

    # --- what they share ---

    def _ranked(self, query: str, limits: Filters, limit: int) -> Outcome:
        """A search, or the newest where there is no query."""
        if query:
            return _found(find(self._kb, query, limits, limit=limit).results)
        return _found(newest(self._kb, limits, limit=limit).results)

    def _document(self, name: str, *, media: bool = False) -> DocumentFacts:
        named = named_document(self._kb, name, self._filters.collections, media=media).facts
        if not self._inside([named.id]):
            raise RequestError("this document is outside the limits of the question")
        return named

    def _speakers(self, names: Sequence[str], asked: str) -> tuple[str, ...]:
        own = {name.casefold() for name in self._filters.speakers}
        kept = tuple(name for name in names if not own or name.casefold() in own)
        if not kept:
            raise RequestError(f"{asked!r} is outside the limits of the question")
        return kept

    def _hits(self, ids: Iterable[str]) -> list[Hit]:
        """The live passages with these ids, in that order."""
        wanted = dict.fromkeys(filter(None, ids))
        return hits_from_plain(self._kb, [(name, "", 0.0, None) for name in wanted])

    def _inside(self, document_ids: Iterable[str]) -> set[str]:
        """Those of the documents that meet the filters of the question."""
        ids = list(dict.fromkeys(document_ids))
        own = set(self._filters.document_ids)
        ids = [known for known in ids if not own or known in own]
        if not ids:
            return set()
        limits = replace(self._filters, document_ids=tuple(ids))
        page = self._kb.catalogue.listings.documents(limits, len(ids))
        return {one.facts.id for one in page.documents}

    def _within(self, outcome: Outcome) -> Outcome:
        """The outcome inside the limits of the question, and not too long."""
        known = self._inside(item.document.id for item in outcome.items)
        own = {name.casefold() for name in self._filters.speakers}
        inside = [
            item
            for item in outcome.items
            if item.document.id in known and (item.hit is None or _speaks(item.hit, own))
        ]
        kept: list[Item] = []
        room = MOST_CHARACTERS
        for item in inside[:MOST_ITEMS]:
            text = item.text.strip()
            shown = text if len(text) <= LONGEST_ITEM else f"{text[: LONGEST_ITEM - 1]}…"
            room -= len(shown)
            if room < 0:
                break
            kept.append(replace(item, text=shown))
        return replace(outcome, items=tuple(kept), more=outcome.more + len(inside) - len(kept))


def _found(results: Sequence[Result]) -> Outcome:
    return Outcome(
        items=tuple(
            Item(document=one.hit.document, text=one.text, place=one.locator.label, hit=one.hit)
            for one in results
        )
    )


def _speaks(hit: Hit, names: set[str]) -> bool:
    return not names or any(name.casefold() in names for name in hit.passage.speakers)


def _arguments_of(name: str) -> type[Arguments]:
    """What a tool takes, by the signature of its method."""
    tool = getattr(Toolbox, name)
    taken: dict[str, Any] = {
        given: (of.annotation, ... if of.default is Parameter.empty else of.default)
        for given, of in signature(tool, eval_str=True).parameters.items()
        if given != "self"
    }
    return create_model(name, __base__=Arguments, __doc__=tool.__doc__, **taken)


TAKEN: Mapping[str, type[Arguments]] = {
    name: _arguments_of(name)
    for name, tool in vars(Toolbox).items()
    if callable(tool) and not name.startswith("_") and name != "run"
}
