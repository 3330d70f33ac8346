"""Defines the tools that a model may call in research: read-only, within the question's limits.

Arguments are untrusted JSON, so pydantic checks them as strictly as those of the API and refuses
unknown ones. No tool accepts a collection or another limit of the question. Results are filtered in
one place (``_within``): documents outside the question's filters and passages without the
requested speakers are removed, so that no argument can widen the search.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from wellread.codec import storable
from wellread.errors import RequestError, invalid_value
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values, named_document
from wellread.library.recordings import recordings, transcript
from wellread.library.searches import Result, around, find, newest
from wellread.library.timelines import Window, timeline
from wellread.models.base import Tool, ToolCall
from wellread.research.run_state import live_hits
from wellread.text.periods import seconds_of, window_of
from wellread.types import DocumentFacts, Filters, Hit

MAX_RESULTS = 12
MAX_REASON_CHARS = 300
_DAY_HINT = "write 2025, 2025-10 or 2025-10-14"
_FACET = "id of the facet that the call is for, or a short name for a new one"

Name = Annotated[str, Field(min_length=1, max_length=300)]
Query = Annotated[str, Field(min_length=1, max_length=400)]
Words = Annotated[str, Field(max_length=400)]
Day = Annotated[str, Field(max_length=40, description="2025, 2025-10 or 2025-10-14; inclusive")]
Moment = Annotated[str, Field(max_length=20, description="seconds, MM:SS or H:MM:SS")]
Count = Annotated[int, Field(ge=1, le=MAX_RESULTS)]
Speaker = Annotated[str, Field(max_length=300)]
Few = Annotated[int, Field(ge=0, le=5)]


class Arguments(BaseModel):
    """The arguments of all tools; further ones come from each method's signature (``Toolbox``)."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, str_strip_whitespace=True, validate_default=True
    )
    facet: str = Field(default="", max_length=120, description=_FACET)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """A model's tool call with its full text; ``wrong`` says why it could not be parsed."""

    name: str
    line: str
    arguments: Mapping[str, Any]
    wrong: str = ""


def tool_definitions() -> tuple[Tool, ...]:
    """Return the tools as they are described to the model."""
    return tuple(
        Tool(name=name, description=kind.__doc__ or "", parameters=kind.model_json_schema())
        for name, kind in ARGUMENT_TYPES.items()
    )


def parse_tool_call(call: ToolCall) -> RequestedCall:
    """Parse a native tool call; null arguments count as missing."""
    parsed_arguments: Any = None
    wrong = "the arguments are not a JSON object"
    try:
        parsed_arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        wrong = f"the arguments are not JSON: {error}"[:MAX_REASON_CHARS]
    line = f"{call.name} {call.arguments}"
    if not isinstance(parsed_arguments, dict):
        return RequestedCall(name=call.name, line=line, arguments={}, wrong=wrong)
    arguments = {str(key): value for key, value in parsed_arguments.items() if value is not None}
    return RequestedCall(name=call.name, line=line, arguments=arguments)


def read_arguments(requested: RequestedCall) -> Arguments:
    """Return the validated arguments of a call."""
    if requested.wrong:
        raise ValueError(requested.wrong)
    kind = ARGUMENT_TYPES.get(requested.name)
    if kind is None:
        raise ValueError(
            f"there is no tool {requested.name[:40]!r}; there are: {', '.join(ARGUMENT_TYPES)}"
        )
    try:
        return kind.model_validate(storable(dict(requested.arguments)))
    except ValidationError as error:
        # The arguments may contain anything, so they are not repeated.
        messages = [
            invalid_value(detail, ".".join(map(str, detail["loc"]))[:40])
            for detail in error.errors(include_url=False, include_input=False)
        ]
        raise ValueError("; ".join(messages)[:MAX_REASON_CHARS]) from error


# --- results of the tools ------------------------------------------------------------------------

MAX_ITEMS = 12  # items per call
MAX_CALL_CHARS = 6_000  # characters of all items of a call
MAX_ITEM_CHARS = 700
MAX_MENTIONS = 6
MAX_RELATIONS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One result of a call: a document, with a passage and its place if there is one."""

    document: DocumentFacts
    text: str
    place: str = ""
    hit: Hit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a call.

    Attributes:
        items: results in order; ``more`` counts those that did not fit.
        notes: lines without a passage, such as relations.
        refused: the library's reason why nothing was found, possibly with similar names.
        wrong: why the call was not run.
    """

    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    more: int = 0
    refused: str = ""
    wrong: str = ""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The passages shown, without duplicates."""
        by_id = {item.hit.passage.id: item.hit for item in self.items if item.hit}
        return tuple(by_id.values())


class Toolbox:
    """The tools of one run. Safe to call from several threads."""

    def __init__(self, kb: KnowledgeBase, filters: Filters) -> None:
        """Create the tools; results outside ``filters`` are never shown."""
        self._kb = kb
        self._filters = filters

    def run(self, arguments: Arguments) -> Outcome:
        """Run the tool that these ``arguments`` belong to.

        An unknown name or a filter without matches is reported in ``refused``.
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
        return self._search(query, self._filters, limit)

    def search_document(self, document: Name, query: Query, limit: Count = 6) -> Outcome:
        """Search inside one document, named by its key (d3), id or title."""
        limits = replace(self._filters, document_ids=(self._document(document).id,))
        return self._search(query, limits, limit)

    def search_speaker(self, name: Name, query: Words = "", limit: Count = 6) -> Outcome:
        """What one person says in transcripts: about the query, or the newest without a query."""
        called = Filters(collections=self._filters.collections, speakers=(name,))
        names = known_values(self._kb, called).speakers
        limits = replace(self._filters, speakers=self._speakers(names, name))
        return self._search(query, limits, limit)

    def search_dates(
        self, start: Day = "", end: Day = "", query: Words = "", limit: Count = 6
    ) -> Outcome:
        """What was published from one day to another: about the query, or the newest."""
        since, until = window_of(start, end, hint=_DAY_HINT)
        if since is None and until is None:
            raise RequestError("give a start or an end")
        filters = self._filters
        since = max(filter(None, (since, filters.published_from)), default=None)
        until = min(filter(None, (until, filters.published_to)), default=None)
        if since and until and since > until:
            raise RequestError("these dates are outside the limits of the question")
        limits = replace(filters, published_from=since, published_to=until)
        return self._search(query, limits, limit)

    def look_up_entity(self, name: Name) -> Outcome:
        """Facts about a person, organisation, place or thing: relations and mentions."""
        graph = self._kb.catalogue.graph
        nodes = graph.resolve(self._filters.collections, name)
        allowed = self._allowed_ids(node.document_id for node in nodes)
        nodes = [node for node in nodes if node.document_id in allowed]
        if not nodes:
            raise RequestError(f"there is no entity named {name!r}", hint="search for the name")
        node, scope = nodes[0], (nodes[0].collection,)
        neighbours = graph.neighbours(scope, node.id)
        described = self._allowed_ids(other.node.document_id for other in neighbours if other.node)
        related = [
            f"{other.relation}: {other.name}"
            for other in neighbours
            # Entities described outside the limits are not shown.
            if other.node is None or other.node.document_id in described
        ]
        notes = [f"entity: {node.title} ({node.type or 'no type'})", *related[:MAX_RELATIONS]]
        if node.aliases:
            notes.insert(1, f"also called: {', '.join(node.aliases[:MAX_RELATIONS])}")
        mentioning = graph.documents_mentioning(scope, node.id, MAX_MENTIONS)
        openings = self._kb.catalogue.listings.openings([node.document_id])
        positions = [(mention.document.id, mention.first.start) for mention in mentioning]
        mention_ids = self._kb.catalogue.listings.covering(positions)
        opening_ids = [passage.id for passage in openings.values()]
        items = [
            Item(document=hit.document, text=hit.passage.text, hit=hit)
            for hit in live_hits(self._kb, [*opening_ids, *mention_ids])
        ]
        return Outcome(items=tuple(items), notes=tuple(notes))

    def read_transcript(
        self, document: Name, speaker: Speaker = "", start: Moment = "", end: Moment = ""
    ) -> Outcome:
        """A transcript by its key (d3), id or title: whole, one speaker's turns, or a period."""
        document_facts = self._document(document, media=True)
        result = transcript(
            self._kb,
            document_facts.id,
            collections=self._filters.collections,
            speaker=speaker,
            since=seconds_of(start) if start else None,
            until=seconds_of(end) if end else None,
        )
        allowed = {name.casefold() for name in self._filters.speakers}
        turns = [turn for turn in result.turns if not allowed or turn.speaker.casefold() in allowed]
        turn_hits = live_hits(self._kb, [turn.passage_id for turn in turns])
        hits = {hit.passage.id: hit for hit in turn_hits}
        items = [
            Item(
                document=document_facts,
                text=f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text,
                place=turn.locator.label,
                hit=hits[turn.passage_id],
            )
            for turn in turns
            if turn.passage_id in hits
        ]
        return Outcome(items=tuple(items))

    def read_around(self, passage: Name, before: Few = 2, after: Few = 2) -> Outcome:
        """The passages before and after one that was shown, named by its key (p7)."""
        window = around(self._kb, passage, before, after, self._filters.collections)
        return _items_of(window.results)

    def list_recordings(
        self,
        limit: Annotated[int, Field(ge=1, le=40)] = 20,
        offset: Annotated[int, Field(ge=0, le=100_000)] = 0,
    ) -> Outcome:
        """The recordings and transcripts, newest first."""
        page = recordings(self._kb, self._filters, limit=limit, offset=offset)
        listed = page.recordings[:MAX_ITEMS]
        items = [
            Item(
                document=recording.document.facts,
                text=f"speakers: {', '.join(recording.speakers[:12])}",
            )
            for recording in listed
        ]
        left = page.total - offset - len(listed)
        return Outcome(items=tuple(items), more=max(0, left))

    def read_timeline(
        self, name: Name, start: Day = "", end: Day = "", limit: Count = MAX_RESULTS
    ) -> Outcome:
        """How a topic, an entity or a story developed over time."""
        since, until = window_of(start, end, hint=_DAY_HINT)
        window = Window(since=since, until=until, limit=limit)
        result = timeline(self._kb, name, window, collections=self._filters.collections)
        entry_hits = live_hits(self._kb, [entry.passage_id for entry in result.entries])
        hits = {hit.passage.id: hit for hit in entry_hits}
        items = [
            Item(
                document=entry.document,
                text=f"{entry.at.date().isoformat()} {entry.title}: {entry.text}",
                place=entry.locator.label if entry.locator else "",
                hit=hits.get(entry.passage_id),
            )
            for entry in result.entries
            if entry.document is not None
        ]
        return Outcome(items=tuple(items), notes=(f"timeline of the {result.taken}",))

    # --- what they share ---

    def _search(self, query: str, limits: Filters, limit: int) -> Outcome:
        if query:
            return _items_of(find(self._kb, query, limits, limit=limit).results)
        return _items_of(newest(self._kb, limits, limit=limit).results)

    def _document(self, name: str, *, media: bool = False) -> DocumentFacts:
        facts = named_document(self._kb, name, self._filters.collections, media=media).facts
        if not self._allowed_ids([facts.id]):
            raise RequestError("this document is outside the limits of the question")
        return facts

    def _speakers(self, names: Sequence[str], requested: str) -> tuple[str, ...]:
        limit = {name.casefold() for name in self._filters.speakers}
        allowed = tuple(name for name in names if not limit or name.casefold() in limit)
        if not allowed:
            raise RequestError(f"{requested!r} is outside the limits of the question")
        return allowed

    def _allowed_ids(self, document_ids: Iterable[str]) -> set[str]:
        ids = list(dict.fromkeys(document_ids))
        limit = set(self._filters.document_ids)
        ids = [document_id for document_id in ids if not limit or document_id in limit]
        if not ids:
            return set()
        limits = replace(self._filters, document_ids=tuple(ids))
        page = self._kb.catalogue.listings.documents(limits, len(ids))
        return {document.facts.id for document in page.documents}

    def _within(self, outcome: Outcome) -> Outcome:
        """Restrict the outcome to the question's limits and to the maximum length."""
        allowed = self._allowed_ids(item.document.id for item in outcome.items)
        speakers = {name.casefold() for name in self._filters.speakers}
        permitted = [
            item
            for item in outcome.items
            if item.document.id in allowed and (item.hit is None or _speaks(item.hit, speakers))
        ]
        items: list[Item] = []
        room = MAX_CALL_CHARS
        for item in permitted[:MAX_ITEMS]:
            text = item.text.strip()
            text = text if len(text) <= MAX_ITEM_CHARS else f"{text[: MAX_ITEM_CHARS - 1]}…"
            room -= len(text)
            if room < 0:
                break
            items.append(replace(item, text=text))
        return replace(outcome, items=tuple(items), more=outcome.more + len(permitted) - len(items))


def _items_of(results: Sequence[Result]) -> Outcome:
    return Outcome(
        items=tuple(
            Item(
                document=result.hit.document,
                text=result.text,
                place=result.locator.label,
                hit=result.hit,
            )
            for result in results
        )
    )


def _speaks(hit: Hit, names: set[str]) -> bool:
    return not names or any(name.casefold() in names for name in hit.passage.speakers)


def _arguments_of(name: str) -> type[Arguments]:
    tool = getattr(Toolbox, name)
    fields: dict[str, Any] = {
        key: (field.annotation, ... if field.default is Parameter.empty else field.default)
        for key, field in signature(tool, eval_str=True).parameters.items()
        if key != "self"
    }
    return create_model(name, __base__=Arguments, __doc__=tool.__doc__, **fields)


ARGUMENT_TYPES: Mapping[str, type[Arguments]] = {
    name: _arguments_of(name)
    for name, tool in vars(Toolbox).items()
    if callable(tool) and not name.startswith("_") and name != "run"
}
