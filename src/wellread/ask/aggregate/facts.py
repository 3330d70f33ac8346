"""Tells what the catalogue knows of documents, each fact cited where it stands in the document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from wellread.ask.aggregate.queries.result import AggregateResult, Place, Row, amount, day
from wellread.ask.aggregate.read.read_facts import OF_A_TEXT, Fact, read_fact
from wellread.headlines import lead_of, shortened
from wellread.kb import KnowledgeBase
from wellread.locators import format_time
from wellread.questions import Analysis
from wellread.store.catalogue.documents.aggregates import Entry
from wellread.text.english_catalogue import BACK_MATTER, PRESENTING, RESULTING
from wellread.text.sentences import sentence_spans
from wellread.text.tokens import tokens_of
from wellread.types import Document, HeadingMark, PageMark, Span, TimeMark

STRATEGY = "facts of the catalogue"
MOST_TOLD = 25  # documents, one line each
FRONT = 8_000  # characters in which a fact of the front page stands
KEY_SENTENCES = 3  # of an abstract
SHORTEST = 25  # characters of a sentence; "We release our code. 1" is cut at its note
LONGEST = 260  # characters of a line from a text
MOST_ITEMS = 14  # that are told by a sentence each; of more only their names

_ITEM = re.compile(r"^(?:[-*•] |\d{1,2}[.)] )(?P<text>\S.*)", re.MULTILINE)
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z])[.)]?\s+(?=\w)")


def facts(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The answer to a question for a fact of the catalogue; None for any other question.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    asked = read_fact(kb, analysis)
    if asked is None:
        return None
    entries = asked.meant.entries
    live = kb.catalogue.facts([entry.id for entry in entries[:MOST_TOLD]])
    told: list[Row] = []
    listed = False
    for entry in entries[:MOST_TOLD]:
        document = kb.catalogue.document(entry.id)
        if document is None or entry.id not in live:
            continue
        teller = _Teller(kb, document, entry, live[entry.id].version)
        rows, listed = teller.whole(asked.fact)
        told += rows if len(entries) == 1 else teller.brief(asked.fact)
    if not told:
        return None
    many, first = len(entries) > 1, entries[0]
    listed = listed or many
    doubt = f"“{analysis.question}” fits {len(entries)} documents" if many else ""
    return AggregateResult(
        strategy=STRATEGY,
        kind="list" if listed else "text",
        sentence=_heading(entries, len(told), several=asked.several) if listed else "",
        columns=("Fact",),
        rows=tuple(told),
        method=f"{asked.fact} of “{first.title}”" if not many else f"{asked.fact} of each",
        certainty=asked.meant.certainty,
        notes=(doubt,) if many and not asked.several else (),
    )


def _heading(entries: Sequence[Entry], shown: int, *, several: bool) -> str:
    """What stands above the rows."""
    if len(entries) == 1:
        when = entries[0].published_at
        return f"“{entries[0].title}”{f', {day(when)}' if when else ''}:"
    if not several:
        return "The question can mean:"
    kinds = {entry.kind for entry in entries}
    one = kinds.pop() if len(kinds) == 1 else "document"
    of = f"{shown} of " if shown < len(entries) else ""
    return f"{of}{amount(len(entries), one, f'{one}s')}:"


@dataclass(frozen=True, slots=True)
class _Teller:
    """Tells the facts of one document."""

    kb: KnowledgeBase
    document: Document
    entry: Entry
    version: str

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
        spans = self._key_spans(1) or self._opening(1)
        parts = [_bare(mark.path[-1]) for mark in self._headings()][:6]
        if parts and not self._abstract():
            return [self._row(f"{title}: {'; '.join(parts)}", None)]
        if not spans:
            return []
        return [self._row(f"{title}: {_line(spans[0].of(self.document.text))}", spans[0])]

    # --- facts in few words ---

    def _plainly(self, fact: Fact) -> list[Row]:
        """The fact in one sentence, with the place where the document says it."""
        document, said, shown = self.document, "", None
        if fact == "authors" and document.authors:
            names = document.authors
            many = f" ({len(names)} authors)" if len(names) > 3 else ""
            said, shown = f"is by {_and(names)}{many}", self._front(names[0])
        elif fact == "speakers" and (names := self._speakers()):
            said, shown = f"has {_and(names)} speaking", self._front(names[0])
        elif fact == "date" and document.published_at:
            when = document.published_at
            said = f"is dated {when.day} {when:%B %Y}"
            shown = self._front(f"{when:%Y}")
        elif fact == "length":
            said, shown = self._length()
        elif fact == "source":
            said = f"is from {document.url or document.uri}"
        if not said:
            return []
        line = f"“{document.title}” {said}."
        return [replace(self._row(line, shown), shown=shown is not None)]

    def _speakers(self) -> tuple[str, ...]:
        """Who speaks, by the whole name where the file says it."""
        heard = self.kb.catalogue.listings.speakers_of([self.entry.id]).get(self.entry.id, ())
        authors = self.document.authors if self.document.kind == "transcript" else ()

        def whole(name: str) -> str:
            words = set(name.casefold().split())
            longer = [one for one in authors if words < set(one.casefold().split())]
            return longer[0] if len(longer) == 1 else name

        return tuple(dict.fromkeys(map(whole, heard))) or authors

    def _length(self) -> tuple[str, Span | None]:
        """How long it is, and where it ends."""
        marks = self.document.marks
        times = [mark for mark in marks if isinstance(mark, TimeMark)]
        if times:
            last = max(times, key=lambda mark: mark.finish or mark.begin)
            end = format_time(last.finish or last.begin)
            return f"is {end} long", Span(start=last.start, end=last.end)
        pages = [mark for mark in marks if isinstance(mark, PageMark)]
        if pages:
            last_page = max(pages, key=lambda mark: mark.page)
            span = Span(start=last_page.start, end=last_page.end)
            return f"has {amount(last_page.page, 'page', 'pages')}", span
        words = len(self.document.text.split())
        return (f"has {words:,} words" if words else ""), None

    # --- what it is about ---

    def _summary(self) -> tuple[list[Row], bool]:
        """What it is about, and whether that is a list: of its items, or of its parts."""
        kind = self.document.kind
        key = self._key(KEY_SENTENCES) if kind == "paper" else []
        opening = key or self._sentences(self._opening(KEY_SENTENCES))
        if key or kind == "entity":
            return opening, False
        lead = self._summary_text(2)
        if kind == "transcript":
            parts = [self._row(_bare(mark.path[-1]), self._after(mark)) for mark in self._leaves()]
            return [*lead, *parts], bool(parts)
        items = self._items()
        return items or lead or opening, bool(items)

    def _key(self, most: int) -> list[Row]:
        """The sentences of the abstract that say what the paper brings."""
        return self._sentences(self._key_spans(most))

    def _sentences(self, spans: Sequence[Span]) -> list[Row]:
        text = self.document.text
        return [self._row(" ".join(span.of(text).split()), span) for span in spans]

    def _key_spans(self, most: int) -> list[Span]:
        span = self._abstract()
        if span is None:
            return []
        text = self.document.text
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

    def _summary_text(self, most: int = 0) -> list[Row]:
        """The abstract, or what its source says that it is about; ``most`` sentences of it."""
        summary = self.document.summary.strip()
        if not summary:
            return []
        span = self._abstract()
        if most:
            summary = summary[: sentence_spans(summary)[:most][-1].end]
        return [replace(self._row(" ".join(summary.split()), span), shown=span is not None)]

    def _abstract(self) -> Span | None:
        """Where the summary stands in the text; None when it is not a part of it."""
        summary, text = self.document.summary.strip(), self.document.text
        start = text.find(summary) if summary else -1
        return Span(start=start, end=start + len(summary)) if start >= 0 else None

    def _items(self) -> list[Row]:
        """The items of each section, where it is made of items; else its first sentence."""
        marks = [mark for mark in self._headings() if len(mark.path) == 1]
        if len(marks) < 2:
            return []
        text = self.document.text
        found: list[tuple[str, Span]] = []
        for mark in marks:
            body = Span(start=mark.start, end=self._end(mark))
            items = [
                Span(start=body.start + one.start("text"), end=body.start + one.end("text"))
                for one in _ITEM.finditer(body.of(text))
            ]
            after = self._after(mark)
            found += [(_bare(mark.path[0]), one) for one in items or ([after] if after else [])]
        tell = _lead if len(found) > MOST_ITEMS else _first
        return [self._row(f"{section}: {tell(span.of(text))}", span) for section, span in found]

    # --- places ---

    def _headings(self) -> list[HeadingMark]:
        """The headings that say what the text is about."""
        return [
            mark
            for mark in self.document.marks
            if isinstance(mark, HeadingMark)
            and not BACK_MATTER.issuperset(one.plain for one in tokens_of(_bare(mark.path[-1])))
            and _bare(mark.path[-1]) != self.document.title
        ]

    def _leaves(self) -> Iterator[HeadingMark]:
        """The headings under which no other stands."""
        marks = self._headings()
        for mark in marks:
            if not any(other.path[:-1] == mark.path for other in marks):
                yield mark

    def _end(self, mark: HeadingMark) -> int:
        later = [
            one.start
            for one in self.document.marks
            if isinstance(one, HeadingMark)
            and one.start > mark.start
            and len(one.path) <= len(mark.path)
        ]
        return min(later, default=len(self.document.text))

    def _after(self, mark: HeadingMark) -> Span | None:
        """The first sentence under a heading."""
        text, end = self.document.text, self._end(mark)
        line = text.find("\n", mark.start)
        start = line if 0 <= line < end else mark.start
        part = text[start : min(end, start + FRONT)]
        spans = sentence_spans(part)
        first = next((one for one in spans if _prose(one.of(part))), next(iter(spans), None))
        return Span(start=start + first.start, end=start + first.end) if first else None

    def _opening(self, most: int) -> list[Span]:
        """The first sentences of prose."""
        text = self.document.text
        return [one for one in sentence_spans(text[:FRONT]) if _prose(one.of(text))][:most]

    def _front(self, needle: str) -> Span | None:
        """The line of the front in which ``needle`` stands."""
        front = self.document.text[:FRONT]
        at = front.find(needle) if needle else -1
        if at < 0:
            return None
        start = front.rfind("\n\n", 0, at)
        end = front.find("\n\n", at)
        return Span(start=start + 2 if start >= 0 else 0, end=end if end >= 0 else len(front))

    def _row(self, line: str, span: Span | None) -> Row:
        place = Place(document_id=self.entry.id, version=self.version, span=span) if span else None
        return Row(
            cells=(line,),
            document_ids=(self.entry.id,),
            line=line,
            places=(place,) if place else (),
        )


@cache
def _resulting() -> re.Pattern[str]:
    return re.compile(RESULTING, re.IGNORECASE)


@cache
def _presenting() -> re.Pattern[str]:
    return re.compile(PRESENTING, re.IGNORECASE)


def _prose(text: str) -> bool:
    return len(text.split()) >= 5 and text.rstrip("\"'”’)").endswith((".", "!", "…"))


def _bare(heading: str) -> str:
    return _NUMBERED.sub("", heading)


def _lead(item: str) -> str:
    """What an item is called."""
    lead = lead_of(item)
    return f"{lead}?" if item[len(lead) : len(lead) + 1] == "?" else lead


def _first(item: str) -> str:
    """The first sentence of an item."""
    spans = sentence_spans(item)
    return _line(spans[0].of(item) if spans else item)


def _line(text: str) -> str:
    return shortened(" ".join(text.split()), LONGEST)


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
