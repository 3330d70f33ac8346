"""Answers questions about facts of documents, each cited where the document states it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

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
from wellread.text.english import BACK_MATTER, PRESENTING, RESULTING
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans, shorten
from wellread.text.tokens import ARTICLES, key_of, tokens_of
from wellread.types import Document, DocumentFacts, HeadingMark, Span
from wellread.values.locators import Marks
from wellread.values.question import Analysis

STRATEGY = "facts of the catalogue"
MAX_DOCUMENTS = 25  # documents that a result lists, one line each
MAX_KEY_SENTENCES = 3  # sentences quoted from an abstract
MAX_FIRST_SENTENCES, MAX_DEFINING_SENTENCES = 6, 2  # searched for a definition; quoted
MIN_LIST_ITEMS = 3  # with fewer, a text without headings is no list
MAX_DOCUMENTS_WITH_TURNS, MAX_TURNS = 3, 5  # of one speaker; turns quoted from each document
MAX_TURN_CHARS = 600
FRONT_CHARS = 8_000  # the start of a text, searched for facts of the front page
MAX_LINE_CHARS = 260
MIN_SENTENCE_CHARS = 25  # a shorter one says little: "We release our code. 1", cut at its note
MIN_SENTENCE_WORDS = 5

_ITEM = re.compile(r"^(?:[-*•] |\d{1,2}[.)] )(?P<text>\S.*)", re.MULTILINE)
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z])[.)]?\s+(?=\w)")


class Parts:
    """Finds the parts of a document: headings, abstract, first and key sentences."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def headings(self) -> list[HeadingMark]:
        """The headings on the content: without back matter and the title."""
        return [
            mark
            for mark in self._document.marks
            if isinstance(mark, HeadingMark)
            and not BACK_MATTER.issuperset(
                token.plain for token in tokens_of(_without_number(mark.path[-1]))
            )
            and _without_number(mark.path[-1]) != self._document.title
        ]

    def leaves(self) -> Iterator[HeadingMark]:
        """Yield the headings without subheadings."""
        marks = self.headings()
        for mark in marks:
            if not any(other.path[:-1] == mark.path for other in marks):
                yield mark

    def end(self, mark: HeadingMark) -> int:
        """The position at which the part under a heading ends."""
        next_starts = [
            other.start
            for other in self._document.marks
            if isinstance(other, HeadingMark)
            and other.start > mark.start
            and len(other.path) <= len(mark.path)
        ]
        return min(next_starts, default=len(self._document.text))

    def first_sentence(self, mark: HeadingMark) -> Span | None:
        """The first sentence under a heading, of prose if there is any."""
        text, end = self._document.text, self.end(mark)
        line = text.find("\n", mark.start)
        start = line if 0 <= line < end else mark.start
        part = text[start : min(end, start + FRONT_CHARS)]
        spans = sentence_spans(part)
        first = next((span for span in spans if _is_prose(span.of(part))), next(iter(spans), None))
        return Span(start=start + first.start, end=start + first.end) if first else None

    def opening(self, limit: int) -> list[Span]:
        """The first sentences of prose."""
        text = self._document.text
        spans = sentence_spans(text[:FRONT_CHARS])
        return [span for span in spans if _is_prose(span.of(text))][:limit]

    def key_sentences(self, limit: int) -> list[Span]:
        """The sentences of the abstract that state the contribution, else results, in order."""
        abstract = self.abstract()
        if abstract is None:
            return []
        text = self._document.text
        sentences = [
            Span(start=abstract.start + span.start, end=abstract.start + span.end)
            for span in sentence_spans(abstract.of(text))
            if len(span) >= MIN_SENTENCE_CHARS
        ]
        chosen = [span for span in sentences if PRESENTING.search(span.of(text))][:limit]
        results = [span for span in sentences if RESULTING.search(span.of(text))]
        for others in (results if chosen else (), sentences[1:] if not chosen else ()):
            chosen += [span for span in others if span not in chosen][: limit - len(chosen)]
        return sorted(chosen or sentences[:limit], key=lambda span: span.start)

    def abstract(self) -> Span | None:
        """The span of the abstract; None if the text has none."""
        summary, text = self._document.summary.strip(), self._document.text
        start = text.find(summary) if summary else -1
        return Span(start=start, end=start + len(summary)) if start >= 0 else None

    def front(self, needle: str) -> Span | None:
        """The sentence or paragraph near the start of the text that contains ``needle``."""
        front = self._document.text[:FRONT_CHARS]
        position = front.find(needle) if needle else -1
        if position < 0:
            return None
        start = front.rfind("\n\n", 0, position) + 2 if "\n\n" in front[:position] else 0
        end = front.find("\n\n", position)
        part = front[start : end if end >= 0 else len(front)]
        spans = [span for span in sentence_spans(part) if needle in span.of(part)]
        span = spans[0] if spans else Span(start=0, end=len(part))
        return Span(start=start + span.start, end=start + span.end)


def _is_prose(text: str) -> bool:
    """Whether the text is a sentence rather than a heading or label."""
    is_ended = text.rstrip("\"'”’)").endswith((".", "!", "…"))
    return is_ended and len(text.split()) >= MIN_SENTENCE_WORDS


def _without_number(heading: str) -> str:
    return _NUMBERED.sub("", heading)


def _one_line(text: str, limit: int = MAX_LINE_CHARS) -> str:
    """Return the text on one line, cut at the end of a word."""
    return shorten(" ".join(text.split()), limit)


def _join_names(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def facts(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """Return the answer to a question about facts of documents; None for any other question."""
    question = read_fact(kb, analysis)
    if question is None or (question.fact == "definition" and kb.model is not None):
        return None  # a language model writes a better definition, from several passages
    entries = question.meant.entries[:MAX_DOCUMENTS]
    readers = _fact_readers(kb, entries)
    if question.fact == "definition":
        return _definition(question, readers)
    if len(entries) > 1:
        return _brief_answers(analysis, question, readers)
    rows, listed = readers[0].full_answer(question.fact) if readers else ([], False)
    return _rows_result(question, rows, _heading(question.meant.entries, 1) if listed else "")


def turns_of_speaker(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """Return the longest turns of a speaker, in order, if the question asks for nothing else.

    A search would not find them: the speaker's name is in the marks and not in the text.
    """
    limit_stems = {stem for limit in analysis.constraints for stem in parse(limit.value).stems}
    voices = {name.casefold() for name in analysis.voices}
    if not voices or set(parse(analysis.question).topic_stems) - limit_stems:
        return None
    scope = scope_of(kb, limits_of(analysis))
    entries = scope.dated(MAX_DOCUMENTS_WITH_TURNS) or scope.first_entries(MAX_DOCUMENTS_WITH_TURNS)
    readers = _fact_readers(kb, entries[::-1])
    rows = [row for reader in readers for row in reader.longest_turns(voices)]
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


def _definition(question: FactAsked, readers: Sequence[_FactReader]) -> AggregateResult | None:
    """Return the definition of a thing, best a sentence "X is a ..." of one of its namesakes."""
    text = f"What is {question.name}?"
    namesakes = [reader for reader in readers if reader.document.kind == "entity"] or readers
    definitions = [rows for reader in namesakes if (rows := reader.definition(question.name))]
    definitions.sort(
        key=lambda rows: (
            not defines(text, rows[0].line),
            rows[0].line.split(maxsplit=1)[0].casefold() not in ARTICLES,
        )
    )
    if len(readers) > 1:
        question = replace(question, meant=replace(question.meant, certainty=LIKELY))
    return _rows_result(question, definitions[0] if definitions else [])


def _brief_answers(
    analysis: Analysis, question: FactAsked, readers: Sequence[_FactReader]
) -> AggregateResult | None:
    rows = [row for reader in readers for row in reader.brief_answer(question.fact)]
    entries = question.meant.entries
    heading = _heading(entries, len(rows)) if question.several else "The question can mean:"
    doubt = f"“{analysis.question}” fits {len(entries)} documents"
    return _rows_result(question, rows, heading, () if question.several else (doubt,))


def _rows_result(
    question: FactAsked, rows: Sequence[Row], heading: str = "", notes: tuple[str, ...] = ()
) -> AggregateResult | None:
    """Return the rows as a list under a heading, or as sentences; None if there are none."""
    if not rows:
        return None
    entries = question.meant.entries
    return AggregateResult(
        strategy=STRATEGY,
        kind="list" if heading else "text",
        sentence=heading,
        columns=("Fact",),
        rows=tuple(rows),
        method=f"{question.fact} of {'each' if len(entries) > 1 else f'“{entries[0].title}”'}",
        certainty=question.meant.certainty,
        notes=notes,
    )


def _heading(entries: Sequence[DocumentFacts], listed: int) -> str:
    """Return the line above the rows: the number of documents, or the title of the only one."""
    if len(entries) == 1:
        when = entries[0].published_at
        return f"“{entries[0].title}”{f', {day(when)}' if when else ''}:"
    kinds = {entry.kind for entry in entries}
    noun = kinds.pop() if len(kinds) == 1 else "document"
    prefix = f"{listed} of " if listed < len(entries) else ""
    return f"{prefix}{amount(len(entries), noun, f'{noun}s')}:"


@dataclass(frozen=True, slots=True)
class _FactReader:
    """Reads the facts of one document."""

    kb: KnowledgeBase
    document: Document
    entry: DocumentFacts
    version: str
    parts: Parts

    def full_answer(self, fact: Fact) -> tuple[list[Row], bool]:
        """Return the rows that answer a question about this document; whether they are a list."""
        if fact == "abstract":
            return self._summary_text(), False
        if fact == "contribution" and (sentences := self._key_sentences(2)):
            return sentences, False
        return self._summary() if fact in OF_A_TEXT else (self._one_sentence(fact), False)

    def brief_answer(self, fact: Fact) -> list[Row]:
        """Return the row of this document among several; none if nothing is known."""
        title = self.document.title
        if fact not in OF_A_TEXT:
            return self._one_sentence(fact)
        spans = self.parts.key_sentences(1) or self.parts.opening(1)
        parts = [_without_number(mark.path[-1]) for mark in self.parts.headings()][:6]
        if parts and not self.parts.abstract():
            return [self._row(f"{title}: {'; '.join(parts)}", None)]
        if not spans:
            return []
        return [self._row(f"{title}: {_one_line(spans[0].of(self.document.text))}", spans[0])]

    def longest_turns(self, voices: Set[str]) -> list[Row]:
        """Return the longest turns of the speakers in ``voices``, in order."""
        text = self.document.text
        turns = Marks(self.document.marks).turns(Span(start=0, end=len(text)))
        spans = [turn.span for turn in turns if turn.speaker.casefold() in voices]
        longest = sorted(spans, key=len, reverse=True)[:MAX_TURNS]
        longest.sort(key=lambda span: span.start)
        lines = [_one_line(span.of(text), MAX_TURN_CHARS) for span in longest]
        return [self._row(line, span) for line, span in zip(lines, longest, strict=True)]

    def _one_sentence(self, fact: Fact) -> list[Row]:
        """Return the fact in one sentence, cited where the document states it."""
        document, statement, span = self.document, "", None
        if fact == "authors" and document.authors:
            names = document.authors
            many = f" ({len(names)} authors)" if len(names) > 3 else ""
            statement, span = f"is by {_join_names(names)}{many}", self.parts.front(names[0])
        elif fact == "speakers" and (names := self._speakers()):
            statement, span = f"has {_join_names(names)} speaking", self.parts.front(names[0])
        elif fact == "date" and document.published_at:
            when = document.published_at
            statement = f"is dated {when.day} {when:%B %Y}"
            forms = (f"{when.day} {when:%B %Y}", f"{when:%B} {when.day}, {when.year}", day(when))
            span = next((place for form in forms if (place := self.parts.front(form))), None)
        if not statement:
            return []
        line = f"“{document.title}” {statement}."
        return [replace(self._row(line, span), shown=span is not None)]

    def _speakers(self) -> tuple[str, ...]:
        """The speakers, by full name if the document gives it."""
        speakers = self.kb.catalogue.listings.speakers_of([self.entry.id]).get(self.entry.id, ())
        authors = self.document.authors if self.document.kind == "transcript" else ()

        def full_name(name: str) -> str:
            words = set(name.casefold().split())
            longer = [author for author in authors if words < set(author.casefold().split())]
            return longer[0] if len(longer) == 1 else name

        return tuple(dict.fromkeys(map(full_name, speakers))) or authors

    def _summary(self) -> tuple[list[Row], bool]:
        """Return what the document is about, and whether that is a list of its parts."""
        kind = self.document.kind
        key = self._key_sentences(MAX_KEY_SENTENCES) if kind == "paper" else []
        opening = key or self._sentence_rows(self.parts.opening(MAX_KEY_SENTENCES))
        if key or kind == "entity":
            return opening, False
        lead, leaves = self._summary_text(2), list(self.parts.leaves())
        text = self.document.text
        if kind == "transcript" or len(leaves) > 1:
            parts = []
            for mark in leaves:
                line, first = _without_number(mark.path[-1]), self.parts.first_sentence(mark)
                if first and kind != "transcript":
                    line = f"{line}: {_one_line(first.of(text))}"
                parts.append(self._row(line, first))
            return [*lead, *parts], bool(parts)
        items = () if leaves else _ITEM.finditer(text)
        points = [Span(start=item.start("text"), end=item.end("text")) for item in items]
        if len(points) >= MIN_LIST_ITEMS:
            return [self._row(_one_line(span.of(text)), span) for span in points], True
        lead_text = " ".join(row.line for row in lead)
        rows = [*lead, *(row for row in opening if row.line not in lead_text)]
        return rows[:MAX_KEY_SENTENCES], False

    def definition(self, name: str) -> list[Row]:
        """Return the sentences that define the thing after which the document is named.

        If none says "X is a ...", those are the first sentences of an entity's document, or a
        sentence of a paper's abstract that names the thing.
        """
        question, text = f"What is {name}?", self.document.text
        paper, entity = (self.document.kind == kind for kind in ("paper", "entity"))
        spans = self.parts.opening(MAX_FIRST_SENTENCES)
        if paper:
            spans = self.parts.key_sentences(MAX_KEY_SENTENCES)
        defining = [span for span in spans if defines(question, span.of(text))][:1]
        if entity:
            return self._sentence_rows(defining or spans[:MAX_DEFINING_SENTENCES])
        naming = [span for span in spans if key_of(name) in key_of(span.of(text))]
        return self._sentence_rows(defining or (naming[:1] if paper else []))

    def _key_sentences(self, limit: int) -> list[Row]:
        return self._sentence_rows(self.parts.key_sentences(limit))

    def _sentence_rows(self, spans: Sequence[Span]) -> list[Row]:
        text = self.document.text
        return [self._row(" ".join(span.of(text).split()), span) for span in spans]

    def _summary_text(self, limit: int = 0) -> list[Row]:
        """Return the abstract or the source's description, up to ``limit`` sentences (0: all)."""
        summary = self.document.summary.strip()
        if not summary:
            return []
        span = self.parts.abstract()
        if limit:
            summary = summary[: sentence_spans(summary)[:limit][-1].end]
        return [replace(self._row(" ".join(summary.split()), span), shown=span is not None)]

    def _row(self, line: str, span: Span | None) -> Row:
        place = Place(document_id=self.entry.id, version=self.version, span=span) if span else None
        return Row(
            cells=(line,),
            document_ids=(self.entry.id,),
            line=line,
            places=(place,) if place else (),
        )


def _fact_readers(kb: KnowledgeBase, entries: Sequence[DocumentFacts]) -> list[_FactReader]:
    live = kb.catalogue.facts([entry.id for entry in entries])
    documents = [kb.catalogue.document(entry.id) for entry in entries]
    return [
        _FactReader(kb, document, entry, live[entry.id].version, Parts(document))
        for entry, document in zip(entries, documents, strict=True)
        if document is not None and entry.id in live
    ]
