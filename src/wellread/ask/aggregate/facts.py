"""Answers questions for catalogue facts of documents, each cited where the document states it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from wellread.ask.aggregate.document_parts import (
    Parts,
    bare,
    first_of,
    items_in,
    joined,
    lead_of_item,
    one_line,
)
from wellread.ask.aggregate.read.read_facts import OF_A_TEXT, Fact, FactAsked, read_fact
from wellread.ask.aggregate.read.result import (
    AggregateResult,
    Place,
    Row,
    amount,
    day,
    limits_of,
    scope_of,
)
from wellread.ask.understand.mentions import LIKELY
from wellread.ask.understand.question_parts import defines
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.listings import Entry
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans, shorten
from wellread.text.tokens import ARTICLES, key_of
from wellread.types import Document, Span
from wellread.values.locators import Marks
from wellread.values.question import Analysis

STRATEGY = "facts of the catalogue"
MOST_TOLD = 25  # documents, one line each
KEY_SENTENCES = 3  # of an abstract
DEFINED_WITHIN, DEFINING = 6, 2  # sentences of an entity that are looked at, and told
FEWEST_POINTS = 3  # numbered, of a text without headings that consists of them
MOST_HEARD, MOST_TURNS = 3, 5  # documents, and turns of each, of what somebody says
LONGEST_TURN = 600  # characters
MOST_ITEMS = 14  # that are told by a sentence each; of more only their names


def facts(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The answer to a question for a catalogue fact; None for any other question."""
    asked = read_fact(kb, analysis)
    if asked is None or (asked.fact == "definition" and kb.model is not None):
        return None  # a model defines from several passages
    entries = asked.meant.entries[:MOST_TOLD]
    tellers = _tellers(kb, entries)
    if asked.fact == "definition":
        return _defined(asked, tellers)
    if len(entries) > 1:
        return _of_several(analysis, asked, tellers)
    rows, listed = tellers[0].whole(asked.fact) if tellers else ([], False)
    return _rows_result(asked, rows, _heading(asked.meant.entries, 1) if listed else "")


def said_by(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """What somebody says, where nothing else is asked for: their longest turns, in order.

    Who speaks stands beside the text and not in it, so that no search for words would find it.
    """
    limits = {stem for one in analysis.constraints for stem in parse(one.value).stems}
    voices = {name.casefold() for name in analysis.voices}
    if not voices or set(parse(analysis.question).topic_stems) - limits:
        return None
    scope = scope_of(kb, limits_of(analysis))
    tellers = _tellers(kb, (scope.dated(MOST_HEARD) or scope.first_entries(MOST_HEARD))[::-1])
    rows = [row for one in tellers for row in one.turns(voices)]
    if not rows:
        return None
    names, count = " and ".join(analysis.voices), amount(len(rows), "turn", "turns")
    return AggregateResult(
        strategy=STRATEGY,
        kind="list",
        sentence=f"The longest {count} of {names}:" if len(rows) > 1 else f"{names} said:",
        number=len(rows),
        columns=("Title", "Said"),
        rows=tuple(rows),
        method=f"the longest turns of {names} in the newest documents in which they speak",
    )


def _defined(asked: FactAsked, tellers: Sequence[_FactReader]) -> AggregateResult | None:
    """What a thing is, as the first of its namesakes has it that says "X is a ..."."""
    question = f"What is {asked.name}?"
    entities = [one for one in tellers if one.document.kind == "entity"]
    told = [rows for one in entities or tellers if (rows := one.defining(asked.name))]
    told.sort(
        key=lambda rows: (
            not defines(question, rows[0].line),
            not _starts_with_description(rows[0].line),
        )
    )
    if len(tellers) > 1:
        asked = replace(asked, meant=replace(asked.meant, certainty=LIKELY))
    return _rows_result(asked, told[0] if told else [])


def _of_several(
    analysis: Analysis, asked: FactAsked, tellers: Sequence[_FactReader]
) -> AggregateResult | None:
    """A line of each document."""
    rows = [row for one in tellers for row in one.brief(asked.fact)]
    entries = asked.meant.entries
    heading = _heading(entries, len(rows)) if asked.several else "The question can mean:"
    doubt = f"“{analysis.question}” fits {len(entries)} documents"
    return _rows_result(asked, rows, heading, () if asked.several else (doubt,))


def _rows_result(
    asked: FactAsked, rows: Sequence[Row], heading: str = "", notes: tuple[str, ...] = ()
) -> AggregateResult | None:
    """The rows as a result: a list under its heading, or sentences; None without rows."""
    if not rows:
        return None
    entries = asked.meant.entries
    return AggregateResult(
        strategy=STRATEGY,
        kind="list" if heading else "text",
        sentence=heading,
        columns=("Fact",),
        rows=tuple(rows),
        method=f"{asked.fact} of {'each' if len(entries) > 1 else f'“{entries[0].title}”'}",
        certainty=asked.meant.certainty,
        notes=notes,
    )


def _heading(entries: Sequence[Entry], shown: int) -> str:
    """What stands above the rows: how many there are, or what the one is called."""
    if len(entries) == 1:
        when = entries[0].published_at
        return f"“{entries[0].title}”{f', {day(when)}' if when else ''}:"
    kinds = {entry.kind for entry in entries}
    one = kinds.pop() if len(kinds) == 1 else "document"
    of = f"{shown} of " if shown < len(entries) else ""
    return f"{of}{amount(len(entries), one, f'{one}s')}:"


@dataclass(frozen=True, slots=True)
class _FactReader:
    """Reads the facts of one document."""

    kb: KnowledgeBase
    document: Document
    entry: Entry
    version: str
    parts: Parts

    def whole(self, fact: Fact) -> tuple[list[Row], bool]:
        """The rows that answer a question for one document, and whether they are a list."""
        if fact == "abstract":
            return self._summary_text(), False
        if fact == "contribution" and (key := self._key(2)):
            return key, False
        return self._summary() if fact in OF_A_TEXT else (self._plainly(fact), False)

    def brief(self, fact: Fact) -> list[Row]:
        """One row for one document of several; none where nothing is known."""
        title = self.document.title
        if fact not in OF_A_TEXT:
            return self._plainly(fact)
        spans = self.parts.key(1) or self.parts.opening(1)
        parts = [bare(mark.path[-1]) for mark in self.parts.headings()][:6]
        if parts and not self.parts.abstract():
            return [self._row(f"{title}: {'; '.join(parts)}", None)]
        if not spans:
            return []
        return [self._row(f"{title}: {one_line(spans[0].of(self.document.text))}", spans[0])]

    def turns(self, voices: Set[str]) -> list[Row]:
        """The longest turns of ``voices``, in order."""
        text = self.document.text
        said = Marks(self.document.marks).turns(Span(start=0, end=len(text)))
        own = [turn.span for turn in said if turn.speaker.casefold() in voices]
        longest = sorted(sorted(own, key=len, reverse=True)[:MOST_TURNS], key=lambda one: one.start)
        return [self._row(shorten(one_line(span.of(text)), LONGEST_TURN), span) for span in longest]

    # --- facts in few words ---

    def _plainly(self, fact: Fact) -> list[Row]:
        """The fact in one sentence, with the place where the document says it."""
        document, said, shown = self.document, "", None
        if fact == "authors" and document.authors:
            names = document.authors
            many = f" ({len(names)} authors)" if len(names) > 3 else ""
            said, shown = f"is by {joined(names)}{many}", self.parts.front(names[0])
        elif fact == "speakers" and (names := self._speakers()):
            said, shown = f"has {joined(names)} speaking", self.parts.front(names[0])
        elif fact == "date" and document.published_at:
            when = document.published_at
            said = f"is dated {when.day} {when:%B %Y}"
            month = f"{when:%B}"
            forms = (
                f"{when.day} {month} {when.year}",
                f"{month} {when.day}, {when.year}",
                day(when),
            )
            shown = next((place for one in forms if (place := self.parts.front(one))), None)
        if not said:
            return []
        line = f"“{document.title}” {said}."
        return [replace(self._row(line, shown), shown=shown is not None)]

    def _speakers(self) -> tuple[str, ...]:
        """The speakers, by full name where the file gives it."""
        heard = self.kb.catalogue.listings.speakers_of([self.entry.id]).get(self.entry.id, ())
        authors = self.document.authors if self.document.kind == "transcript" else ()

        def whole(name: str) -> str:
            words = set(name.casefold().split())
            longer = [one for one in authors if words < set(one.casefold().split())]
            return longer[0] if len(longer) == 1 else name

        return tuple(dict.fromkeys(map(whole, heard))) or authors

    # --- what it is about ---

    def _summary(self) -> tuple[list[Row], bool]:
        """What it is about, and whether that is a list: of its items, or of its parts."""
        kind = self.document.kind
        key = self._key(KEY_SENTENCES) if kind == "paper" else []
        opening = key or self._sentences(self.parts.opening(KEY_SENTENCES))
        if key or kind == "entity":
            return opening, False
        lead = self._summary_text(2)
        if kind == "transcript":
            parts = [
                self._row(bare(mark.path[-1]), self.parts.after(mark))
                for mark in self.parts.leaves()
            ]
            return [*lead, *parts], bool(parts)
        items = self._items()
        told = [
            *lead,
            *(row for row in opening if row.line not in " ".join(one.line for one in lead)),
        ]
        return items or told[:KEY_SENTENCES], bool(items)

    def defining(self, name: str) -> list[Row]:
        """The sentences that say what the thing is that the document is called after.

        Of an entity those with which it begins, where none says "X is a ..."; of a paper one of
        its abstract that names the thing.
        """
        asked, text = f"What is {name}?", self.document.text
        paper, entity = (self.document.kind == kind for kind in ("paper", "entity"))
        spans = self.parts.key(KEY_SENTENCES) if paper else self.parts.opening(DEFINED_WITHIN)
        said = [one for one in spans if defines(asked, one.of(text))][:1]
        if entity:
            return self._sentences(said or spans[:DEFINING])
        named = [one for one in spans if key_of(name) in key_of(one.of(text))]
        return self._sentences(said or (named[:1] if paper else []))

    def _key(self, most: int) -> list[Row]:
        """The sentences of the abstract that say what the paper brings."""
        return self._sentences(self.parts.key(most))

    def _sentences(self, spans: Sequence[Span]) -> list[Row]:
        text = self.document.text
        return [self._row(" ".join(span.of(text).split()), span) for span in spans]

    def _summary_text(self, most: int = 0) -> list[Row]:
        """The abstract, or what its source says that it is about; ``most`` sentences of it."""
        summary = self.document.summary.strip()
        if not summary:
            return []
        span = self.parts.abstract()
        if most:
            summary = summary[: sentence_spans(summary)[:most][-1].end]
        return [replace(self._row(" ".join(summary.split()), span), shown=span is not None)]

    def _items(self) -> list[Row]:
        """The items of each section, where it is made of items; else its first sentence."""
        marks, text = self.parts.sections(), self.document.text
        if not self.parts.headings() and len(points := items_in(text)) >= FEWEST_POINTS:
            return [self._row(one_line(span.of(text)), span) for span in points]
        if len(marks) < 2:
            return []
        found: list[tuple[str, Span]] = []
        for mark in marks:
            after = self.parts.after(mark)
            items = self.parts.items(mark) or ([after] if after else [])
            found += [(bare(mark.path[-1]), one) for one in items]
        tell = lead_of_item if len(found) > MOST_ITEMS else first_of
        return [self._row(f"{section}: {tell(span.of(text))}", span) for section, span in found]

    def _row(self, line: str, span: Span | None) -> Row:
        place = Place(document_id=self.entry.id, version=self.version, span=span) if span else None
        return Row(
            cells=(line,),
            document_ids=(self.entry.id,),
            line=line,
            places=(place,) if place else (),
        )


def _starts_with_description(line: str) -> bool:
    """Whether the text begins with a description ("A team of ..."), not an instruction."""
    return line.split(maxsplit=1)[0].casefold() in ARTICLES


def _tellers(kb: KnowledgeBase, entries: Sequence[Entry]) -> list[_FactReader]:
    live = kb.catalogue.facts([entry.id for entry in entries])
    documents = [kb.catalogue.document(entry.id) for entry in entries]
    return [
        _FactReader(kb, document, entry, live[entry.id].version, Parts(document))
        for entry, document in zip(entries, documents, strict=True)
        if document is not None and entry.id in live
    ]
