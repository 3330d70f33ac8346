"""Runs the tools that a model asks for: read-only, and never beyond the limits of the question.

Each tool is a function of ``library/`` or of the search. Whatever it finds passes one gate
(``_inside``): documents that do not meet the question's filters, and passages in which none of
their speakers speaks, are left out, so that no argument can widen them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values, named_document
from wellread.library.recordings import recordings, transcript
from wellread.library.searches import Result, around, find, newest
from wellread.library.timelines import Window, timeline
from wellread.research.model.tool_arguments import (
    Arguments,
    ListRecordings,
    LookUpEntity,
    ReadAround,
    ReadTimeline,
    ReadTranscript,
    Search,
    SearchDates,
    SearchDocument,
    SearchSpeaker,
    moments,
    seconds,
)
from wellread.types import DocumentFacts, Filters, Hit

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
        """Bind them to the material.

        Args:
            filters: the limits of the question; nothing outside is ever shown.
        """
        self._kb = kb
        self._filters = filters
        self._run: Mapping[type[Arguments], Callable[[Any], Outcome]] = {
            Search: self._search,
            SearchDocument: self._search_document,
            SearchSpeaker: self._search_speaker,
            SearchDates: self._search_dates,
            LookUpEntity: self._entity,
            ReadTranscript: self._transcript,
            ReadAround: self._around,
            ListRecordings: self._recordings,
            ReadTimeline: self._timeline,
        }

    def run(self, arguments: Arguments) -> Outcome:
        """What the tool that takes these ``arguments`` finds.

        A name that nothing has, or a limit that leaves nothing, is told in ``refused``.

        Raises:
            StoreError, ModelError: a part of the home cannot be used.
        """
        try:
            return self._within(self._run[type(arguments)](arguments))
        except RequestError as error:
            # A hint may name documents that the question's filters leave out.
            narrow = self._filters != Filters(collections=self._filters.collections)
            return Outcome(refused=str(error.args[0]) if narrow else str(error))

    # --- the tools ---

    def _search(self, asked: Search) -> Outcome:
        return _found(find(self._kb, asked.query, self._filters, limit=asked.limit).results)

    def _search_document(self, asked: SearchDocument) -> Outcome:
        document = self._document(asked.document)
        limits = replace(self._filters, document_ids=(document.id,))
        return _found(find(self._kb, asked.query, limits, limit=asked.limit).results)

    def _search_speaker(self, asked: SearchSpeaker) -> Outcome:
        called = Filters(collections=self._filters.collections, speakers=(asked.name,))
        names = known_values(self._kb, called).speakers
        limits = replace(self._filters, speakers=self._speakers(names, asked.name))
        return self._ranked(asked.query, limits, asked.limit)

    def _search_dates(self, asked: SearchDates) -> Outcome:
        since, until = moments(asked.start, asked.end)
        if since is None and until is None:
            raise RequestError("neither start nor end is given")
        own = self._filters
        since = max(filter(None, (since, own.published_from)), default=None)
        until = min(filter(None, (until, own.published_to)), default=None)
        if since and until and since > until:
            raise RequestError("these dates are outside the limits of the question")
        limits = replace(own, published_from=since, published_to=until)
        return self._ranked(asked.query, limits, asked.limit)

    def _entity(self, asked: LookUpEntity) -> Outcome:
        graph = self._kb.catalogue.graph
        nodes = graph.resolve(self._filters.collections, asked.name)
        known = self._inside(node.document_id for node in nodes)
        nodes = [node for node in nodes if node.document_id in known]
        if not nodes:
            raise RequestError(f"no entity is called {asked.name!r}", hint="search for the name")
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
        return replace(self._passages([*first, *filter(None, covering)]), notes=tuple(notes))

    def _transcript(self, asked: ReadTranscript) -> Outcome:
        document = self._document(asked.document, media=True)
        read = transcript(
            self._kb,
            document.id,
            collections=self._filters.collections,
            speaker=asked.speaker,
            since=seconds(asked.start),
            until=seconds(asked.end),
        )
        own = {name.casefold() for name in self._filters.speakers}
        turns = [one for one in read.turns if not own or one.speaker.casefold() in own]
        hits = {hit.passage.id: hit for hit in self._hits([one.passage_id for one in turns])}
        items = [
            Item(
                document=document,
                text=f"{one.speaker}: {one.text}" if one.speaker else one.text,
                place=one.locator.label,
                hit=hits[one.passage_id],
            )
            for one in turns
            if one.passage_id in hits
        ]
        return Outcome(items=tuple(items))

    def _around(self, asked: ReadAround) -> Outcome:
        near = around(self._kb, asked.passage, asked.before, asked.after, self._filters.collections)
        return _found(near.results)

    def _recordings(self, asked: ListRecordings) -> Outcome:
        page = recordings(self._kb, self._filters, limit=asked.limit, offset=asked.offset)
        listed = page.recordings[:MOST_ITEMS]
        items = [
            Item(document=one.document.facts, text=f"speakers: {', '.join(one.speakers[:12])}")
            for one in listed
        ]
        left = page.total - asked.offset - len(listed)
        return Outcome(items=tuple(items), more=max(0, left))

    def _timeline(self, asked: ReadTimeline) -> Outcome:
        since, until = moments(asked.start, asked.end)
        window = Window(since=since, until=until, limit=asked.limit)
        made = timeline(self._kb, asked.name, window, collections=self._filters.collections)
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

    def _passages(self, ids: Iterable[str]) -> Outcome:
        return Outcome(
            items=tuple(
                Item(document=hit.document, text=hit.passage.text, hit=hit)
                for hit in self._hits(ids)
            )
        )

    def _hits(self, ids: Iterable[str]) -> list[Hit]:
        """The live passages with these ids, in that order."""
        wanted = list(dict.fromkeys(filter(None, ids)))
        live = self._kb.catalogue.live_passages(wanted)
        facts = self._kb.catalogue.facts({one.document_id for one in live.values()})
        found = [live[known] for known in wanted if known in live]
        return [
            Hit(passage=one, document=facts[one.document_id], score=0.0)
            for one in found
            if one.document_id in facts
        ]

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
