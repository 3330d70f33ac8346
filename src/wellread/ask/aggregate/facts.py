"""Answers questions for catalogue facts of documents, each cited where the document states it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache

from wellread.ask.aggregate.query import (
    AggregateResult,
    Place,
    Row,
    amount,
    day,
    limits_of,
    scope_of,
)
from wellread.ask.aggregate.read_facts import OF_A_TEXT, Fact, FactAsked, read_fact
from wellread.ask.understand.mentions import LIKELY
from wellread.ask.understand.question_parts import defines
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.listings import Entry
from wellread.text.english import BACK_MATTER, PRESENTING, RESULTING
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans, shorten
from wellread.text.tokens import ARTICLES, key_of, tokens_of
from wellread.types import Document, HeadingMark, Span
from wellread.values.locators import Marks
from wellread.values.question import Analysis

FRONT = 8_000  # characters in which a fact of the front page stands
LONGEST = 260  # characters of a line from a text
SHORTEST = 25  # characters of a sentence; "We release our code. 1" is cut at its note
PROSE = 5  # words of a sentence, at least

_ITEM = re.compile(r"^(?:[-*•] |\d{1,2}[.)] )(?P<text>\S.*)", re.MULTILINE)
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z])[.)]?\s+(?=\w)")


class Parts:
    """The positions of the parts of ``document``."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def headings(self) -> list[HeadingMark]:
        """The headings that say what the text is about."""
        return [
            mark
            for mark in self._document.marks
            if isinstance(mark, HeadingMark)
            and not BACK_MATTER.issuperset(one.plain for one in tokens_of(bare(mark.path[-1])))
            and bare(mark.path[-1]) != self._document.title
        ]

    def leaves(self) -> Iterator[HeadingMark]:
        """The headings under which no other stands."""
        marks = self.headings()
        for mark in marks:
            if not any(other.path[:-1] == mark.path for other in marks):
                yield mark

    def end(self, mark: HeadingMark) -> int:
        """Where the part under a heading ends."""
        later = [
            one.start
            for one in self._document.marks
            if isinstance(one, HeadingMark)
            and one.start > mark.start
            and len(one.path) <= len(mark.path)
        ]
        return min(later, default=len(self._document.text))

    def after(self, mark: HeadingMark) -> Span | None:
        """The first sentence under a heading."""
        text, end = self._document.text, self.end(mark)
        line = text.find("\n", mark.start)
        start = line if 0 <= line < end else mark.start
        part = text[start : min(end, start + FRONT)]
        spans = sentence_spans(part)
        first = next((one for one in spans if prose(one.of(part))), next(iter(spans), None))
        return Span(start=start + first.start, end=start + first.end) if first else None

    def opening(self, most: int) -> list[Span]:
        """The first sentences of prose."""
        text = self._document.text
        return [one for one in sentence_spans(text[:FRONT]) if prose(one.of(text))][:most]

    def key(self, most: int) -> list[Span]:
        """The sentences of the abstract that say what the paper brings."""
        span = self.abstract()
        if span is None:
            return []
        text = self._document.text
        sentences = [
            Span(start=span.start + one.start, end=span.start + one.end)
            for one in sentence_spans(span.of(text))
            if len(one) >= SHORTEST
        ]
        chosen = [one for one in sentences if _presenting().search(one.of(text))][:most]
        results = [one for one in sentences if _resulting().search(one.of(text))]
        for others in (results if chosen else (), sentences[1:] if not chosen else ()):
            chosen += [one for one in others if one not in chosen][: most - len(chosen)]
        return sorted(chosen or sentences[:most], key=lambda one: one.start)

    def abstract(self) -> Span | None:
        """The span of the abstract; None when the text has no such part."""
        summary, text = self._document.summary.strip(), self._document.text
        start = text.find(summary) if summary else -1
        return Span(start=start, end=start + len(summary)) if start >= 0 else None

    def front(self, needle: str) -> Span | None:
        """The sentence or line of the front in which ``needle`` stands."""
        front = self._document.text[:FRONT]
        at = front.find(needle) if needle else -1
        if at < 0:
            return None
        start = front.rfind("\n\n", 0, at) + 2 if "\n\n" in front[:at] else 0
        end = front.find("\n\n", at)
        part = front[start : end if end >= 0 else len(front)]
        spans = [one for one in sentence_spans(part) if needle in one.of(part)]
        found = spans[0] if spans else Span(start=0, end=len(part))
        return Span(start=start + found.start, end=start + found.end)


def prose(text: str) -> bool:
    """Whether the text is a sentence rather than a heading or label."""
    return len(text.split()) >= PROSE and text.rstrip("\"'”’)").endswith((".", "!", "…"))


def bare(heading: str) -> str:
    """A heading without its number."""
    return _NUMBERED.sub("", heading)


def one_line(text: str) -> str:
    """The text on one line, cut at the end of a word."""
    return shorten(" ".join(text.split()), LONGEST)


def joined(names: Sequence[str]) -> str:
    """The names as a list in a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


@cache
def _resulting() -> re.Pattern[str]:
    return re.compile(RESULTING, re.IGNORECASE)


@cache
def _presenting() -> re.Pattern[str]:
    return re.compile(PRESENTING, re.IGNORECASE)


STRATEGY = "facts of the catalogue"
MOST_TOLD = 25  # documents, one line each
KEY_SENTENCES = 3  # of an abstract
DEFINED_WITHIN, DEFINING = 6, 2  # sentences of an entity that are looked at, and told
FEWEST_POINTS = 3  # of a text without headings that consists of them
MOST_HEARD, MOST_TURNS = 3, 5  # documents, and turns of each, of what somebody says
LONGEST_TURN = 600  # characters


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
        """What it is about, and whether that is a list of its parts."""
        kind = self.document.kind
        key = self._key(KEY_SENTENCES) if kind == "paper" else []
        opening = key or self._sentences(self.parts.opening(KEY_SENTENCES))
        if key or kind == "entity":
            return opening, False
        lead, leaves = self._summary_text(2), list(self.parts.leaves())
        text = self.document.text
        if kind == "transcript" or len(leaves) > 1:
            parts = []
            for mark in leaves:
                line, first = bare(mark.path[-1]), self.parts.after(mark)
                if first and kind != "transcript":
                    line = f"{line}: {one_line(first.of(text))}"
                parts.append(self._row(line, first))
            return [*lead, *parts], bool(parts)
        points = (
            []
            if leaves
            else [
                Span(start=one.start("text"), end=one.end("text")) for one in _ITEM.finditer(text)
            ]
        )
        if len(points) >= FEWEST_POINTS:
            return [self._row(one_line(span.of(text)), span) for span in points], True
        known = " ".join(row.line for row in lead)
        return [*lead, *(row for row in opening if row.line not in known)][:KEY_SENTENCES], False

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
