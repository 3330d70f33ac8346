"""Other forms of an answer: how it was found, a text that is checked like one, the archive's form.

In the form of a video archive the text names its sources itself whatever ``citations.style`` says,
so that a program can read them: ``[Title @ MM:SS]`` for what is in a recording, ``[Title, p. 5]``,
``[Source: id]`` or ``[Title]`` else. Nothing else in the text looks like the first: every one that
stands there is among ``citations`` and ``sources``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from itertools import zip_longest
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.deliver.cite import flat, of_one_speaker, sources_of, styled
from wellread.ask.deliver.reply import notes_of
from wellread.ask.plan import find, reading
from wellread.ask.retrieve.ranking import Dropped, Found, Retrieval, SearchTrace, pack
from wellread.kb import KnowledgeBase
from wellread.serve.features.answering import AskResponse
from wellread.serve.terminal import fold, right, table
from wellread.serve.views import FACES, PlainShape, Shape
from wellread.store.catalogue.documents.relation_network import Path
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.words import harmless
from wellread.types import Filters, Hit, Span
from wellread.values.answer_text import markers_after, with_markers
from wellread.values.answers import Answer, Citation, Question, VerdictName
from wellread.values.locators import format_time
from wellread.values.question import Analysis
from wellread.values.reports import ProgressEvent, Report

# --- how an answer was found -----------------------------------------------------------------

LISTED = 5  # candidates of each list that the terminal shows
DROPPED = 10
Facts = tuple[dict[str, str], ...]

FACES.show(Dropped, "passage_id=hit.passage.id title=hit.document.title why")
FACES.show(
    Hit,
    "passage_id=passage.id title=document.title score ranks marked",
    score=(float, lambda hit: round(hit.score, 4)),
)
FACES.show(
    Analysis,
    "type mode reasons subject terms entities constraints sides",
    subject=(str, lambda read: read.subject or read.question),
    entities=(
        Facts,
        lambda read: [
            {
                "words": one.span.of(read.question),
                "title": one.title,
                "entityId": one.entity_id,
                "collection": one.collection,
                "type": one.type,
            }
            for one in read.entities
        ],
    ),
    constraints=(
        Facts,
        lambda read: [
            {"kind": one.kind, "words": one.span.of(read.question), "value": one.value}
            for one in read.constraints
        ],
    ),
)


def _searches(told: Any) -> list[dict[str, object]]:
    """Each search: within which filters, what each list gave, and how it was joined."""
    return [
        {
            "purpose": look.purpose,
            "query": look.query,
            "filters": filters_in_words(look.filters),
            "lists": {
                name: [
                    {
                        "passageId": one.passage_id,
                        "title": told.titles.get(one.passage_id, ""),
                        "rank": one.rank,
                        "score": one.score,
                    }
                    for one in listed
                ]
                for name, listed in look.lists
            },
            "fused": look.fused,
        }
        for look in told.found.traces
    ]


class Explanation(
    Shape,
    line="analysis strategy=found.strategy method searches used=found.hits dropped paths notes",
    searches=(tuple[dict[str, Any], ...], _searches),
):
    """How an answer came to what it rests on; ``titles``: of the passages that lists have."""

    analysis: Analysis
    found: Found
    titles: dict[str, str]

    @property
    def method(self) -> str:
        """How a result of the catalogue was worked out."""
        return self.found.method if isinstance(self.found, AggregateResult) else ""

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """What was found and not used."""
        return self.found.dropped if isinstance(self.found, Retrieval) else ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The ways through the graph, in words."""
        return tuple(map(path_in_words, self.found.paths))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of it."""
        return notes_of(self.analysis, self.found)


class ExplainedResponse(Shape, line="*reply explanation"):
    """The answer and its explanation, where the request asked for one."""

    reply: AskResponse
    explanation: Explanation


def explanation(kb: KnowledgeBase, analysis: Analysis, found: Found) -> Explanation:
    """The whole explanation; the titles of candidates are looked up."""
    return Explanation(analysis=analysis, found=found, titles=_titles(kb, found))


def path_in_words(path: Path) -> str:
    """``Seed library —requires→ Cool room``; an arrow the other way reads the inverse name."""
    line = path.start.title
    for step in path.steps:
        line += f" —{step.relation}→ {step.name}"
    return line


def print_explanation(console: Console, told: Explanation) -> None:
    """Analysis, searches with their lists, what was used and dropped, and the paths."""
    _print_analysis(console, told.analysis)
    _heading(console, "Strategy", told.found.strategy)
    if told.method:
        _heading(console, "Worked out", told.method)
    for number, search in enumerate(told.found.traces, 1):
        _print_search(console, number, search, told.titles)
    if told.found.hits:
        _print_used(console, told.found.hits)
    for dropped in told.dropped[:DROPPED]:
        _line(console, f"  dropped  {dropped.hit.document.title}: {dropped.why}", "dim")
    if len(told.dropped) > DROPPED:
        _line(console, f"  and {len(told.dropped) - DROPPED:,} more dropped", "dim")
    for path in told.paths:
        _heading(console, "Path", path)
    for note in told.notes:
        _heading(console, "Note", note)
    console.print()


def _titles(kb: KnowledgeBase, found: Found) -> dict[str, str]:
    """Passage id to the title of its document."""
    wanted = {
        each.passage_id for look in found.traces for _, listed in look.lists for each in listed
    }
    passages = kb.catalogue.live_passages(wanted)
    facts = kb.catalogue.facts({passage.document_id for passage in passages.values()})
    return {
        known: facts[passage.document_id].title
        for known, passage in passages.items()
        if passage.document_id in facts
    }


def filters_in_words(filters: Filters) -> dict[str, str]:
    """The filters that limit, by name."""
    told: dict[str, str] = {}
    for field in fields(Filters):
        value: Any = getattr(filters, field.name)
        if isinstance(value, datetime):
            told[field.name] = value.date().isoformat()
        elif field.name == "taxonomy" and value:
            told[field.name] = ", ".join(f"{dimension}={each}" for dimension, each in value)
        elif value:
            told[field.name] = ", ".join(value)
    return told


def _print_analysis(console: Console, analysis: Analysis) -> None:
    text = analysis.question
    _heading(console, "Question", f"{analysis.type}, {analysis.mode}")
    for reason in analysis.reasons:
        _line(console, f"  {reason}", "dim")
    _heading(console, "Searched for", analysis.subject or text)
    for named in analysis.entities:
        kind = f" ({named.type})" if named.type else ""
        _heading(console, "Names", f"“{named.span.of(text)}” is {named.title}{kind}")
    for limit in analysis.constraints:
        _heading(console, "Limit", f"“{limit.span.of(text)}” is {limit.kind}: {limit.value}")
    if analysis.sides:
        _heading(console, "Sides", "; ".join(analysis.sides))


def _print_search(
    console: Console, number: int, search: SearchTrace, titles: Mapping[str, str]
) -> None:
    within = "; ".join(
        f"{name}: {value}" for name, value in filters_in_words(search.filters).items()
    )
    _heading(console, f"Search {number}", f"{search.purpose}{f' [{within}]' if within else ''}")
    _line(console, f"  {search.query}", "dim")
    names = [name for name, _ in search.lists]
    lists = (
        [f"{one.score:.3f} {titles.get(one.passage_id, '')}" for one in listed[:LISTED]]
        for _, listed in search.lists
    )
    rows = enumerate(zip_longest(*lists, fillvalue=""), 1)
    columns = (right("rank"), *map(fold, names))
    told = table(columns, ((str(place), *cells) for place, cells in rows), padding=(0, 2, 0, 2))
    console.print(told)
    _line(console, f"  joined: {search.fused}", "dim")


def _print_used(console: Console, hits: Sequence[Hit]) -> None:
    names = list(dict.fromkeys(place.name for hit in hits for place in hit.ranks))
    rows = []
    for hit in hits:
        ranks = {place.name: str(place.rank) for place in hit.ranks}
        title = f"{hit.document.title}: {hit.marked}" if hit.marked else hit.document.title
        rows.append((f"{hit.score:.3f}", *(ranks.get(name, "–") for name in names), title))
    columns = (*map(right, ("score", *names)), fold("used"))
    console.print(table(columns, rows, padding=(0, 2, 0, 0)))


def _heading(console: Console, name: str, text: str) -> None:
    line = Text(f"{name}: ", style="bold")
    line.append(harmless(text), style="")
    console.print(line)


def _line(console: Console, text: str, style: str) -> None:
    console.print(Text(harmless(text), style=style))


# --- a text with a verdict for each sentence -------------------------------------------------

LONGEST_QUOTE = 240


# --- the form of a video archive -------------------------------------------------------------

LIMITED = "based on limited information"
MOST_PARTIAL = 5  # places that are named when the time is up
MOST_TOLD = 20  # steps of research that are told of then
# The markers at the end of a line or of a row: those of a report outside its sentences.
CLOSING = re.compile(r"(?: \[[^\[\]\n]*\])+(?=(?: \|)?$)", re.MULTILINE)
ONE_MARKER = re.compile(r"\[[^\[\]\n]*\]")
# A place in a recording, as the text of an answer names it; titles hold no square brackets.
PLACE = re.compile(r"\[(?P<title>[^\[\]\n]+) @ (?P<time>(?:\d+:)?\d\d:\d\d)\]")


class QuerySource(PlainShape):
    """A cited place. What is no recording has no time, and what nobody says has no speaker.

    Attributes:
        video_id: the document's id, as in `GET /api/videos`
        video_title: as in the text: square brackets are round ones there
        timestamp: seconds from the beginning
        timestamp_formatted: `MM:SS`, or `H:MM:SS` from an hour on
        excerpt: the quotation, verbatim
    """

    video_id: str
    video_title: str
    timestamp: float | None
    timestamp_formatted: str | None
    excerpt: str
    speaker: str | None


class QueryCitation(PlainShape):
    """A cited place, in short, as the text names it: `[video @ timestamp]`."""

    video: str
    timestamp: str | None


class QueryResponse(PlainShape, line="* ?iterations ?warning ?notes"):
    """The answer in the form of the archive; ``POST /api/ask`` gives the proof of it.

    ``iterations``, ``warning`` and ``notes`` are left out where there is nothing to say.

    Attributes:
        iterations: rounds of deep research
        warning: what makes the answer less than asked
        notes: how the question was read
    """

    answer: str
    session_id: str
    sources: tuple[QuerySource, ...]
    citations: tuple[QueryCitation, ...]
    mode: Literal["quick", "deep"]
    iterations: int | None = None
    warning: str | None = None
    notes: tuple[str, ...] | None = None


class QueryTimeoutResponse(PlainShape, line="*body error detail hint"):
    """What was found until the time was up, and the error."""

    body: QueryResponse
    error: str
    detail: str
    hint: str


def query_body(
    kb: KnowledgeBase, answer: Answer, *, report: Report | None = None, asked_in: str = ""
) -> QueryResponse:
    """The answer in the form of ``POST /api/query``.

    Args:
        report: of deep research, which ``answer`` is the text of.
        asked_in: the session that it was asked in.
    """
    return QueryResponse(
        answer=_text(kb, answer),
        session_id=answer.session_id,
        sources=tuple(map(_source, answer.citations)),
        citations=tuple(map(_citation, answer.citations)),
        mode="deep" if report is not None else "quick",
        iterations=report.rounds if report is not None else None,
        warning="; ".join(_warnings(answer, report, asked_in)) or None,
        notes=answer.notes or None,
    )


def timeout_body(body: QueryResponse, *, seconds: float, setting: str) -> QueryTimeoutResponse:
    """``body`` with the error that the time was up."""
    return QueryTimeoutResponse(
        body=body,
        error="timeout",
        detail=f"the answer took longer than {seconds:g} seconds; this was found until then",
        hint=f"ask a narrower question, or raise {setting}",
    )


def found_so_far(
    kb: KnowledgeBase,
    question: Question,
    mode: Literal["quick", "deep"],
    places: Sequence[Citation],
    progress: Sequence[ProgressEvent] = (),
) -> QueryResponse:
    """What can be told when the time is up and no sentence was checked: the places found."""
    lines = ["Not finished in time, so nothing was written and checked. What was found so far:", ""]
    lines += [f"- {_unmarked(one.quote)} {_marker(kb, one)}" for one in places]
    lines += ["- nothing yet"] if not places else []
    if progress:
        lines += ["", "What was done:", ""]
        lines += [f"- {_unmarked(one.text)}" for one in progress[-MOST_TOLD:]]
    known = kb.catalogue.sessions.known(question.session_id, question.owner)
    return QueryResponse(
        answer="\n".join(lines),
        session_id=question.session_id if known else "",
        sources=tuple(map(_source, places)),
        citations=tuple(map(_citation, places)),
        mode=mode,
        iterations=progress[-1].round if progress else None,
    )


def places_for(kb: KnowledgeBase, question: Question) -> list[Citation]:
    """The best places for the question, each the sentence of a passage that is nearest to it."""
    analysis = reading(kb, question)
    pieces = pack(kb, find(kb, analysis).hits)[:MOST_PARTIAL]
    sources = sources_of(kb.catalogue.marks_over, pieces)
    asked = frozenset(parse(analysis.wanted).topic_stems)
    found: list[Citation] = []
    for piece in pieces:
        shares = {
            span: len(asked & parse(span.of(piece.text)).stem_set)
            for span in sentence_spans(piece.text)
        }
        best = max(shares, key=lambda span: shares[span], default=None)
        if best is None or not shares[best]:
            continue
        start = piece.span.start
        span = Span(start=start + best.start, end=start + best.end)
        source = sources.of(piece, of_one_speaker(piece, span, question.text))
        cited = source.citation(len(found) + 1, Span(start=0, end=0), VerdictName.NOT_CHECKED)
        found.append(cited)
    return found


def _warnings(answer: Answer, report: Report | None, asked_in: str) -> list[str]:
    """What makes the answer less than what was asked for, in words."""
    told = []
    if answer.confidence.band == "low":
        told.append(LIMITED)
    if answer.fallback:
        told.append(f"answered by {answer.answered_by}: {answer.fallback}")
    if report is not None and report.warning:
        told.append(report.warning)
    if asked_in and asked_in != answer.session_id:
        told.append(f"“{asked_in}” cannot name a session; another one was begun")
    return told


def _source(citation: Citation) -> QuerySource:
    begin = citation.locator.begin
    return QuerySource(
        video_id=citation.document_id,
        video_title=flat(citation.title),
        timestamp=None if begin is None else round(begin, 3),
        timestamp_formatted=_time(begin),
        excerpt=citation.quote,
        speaker=citation.locator.speaker,
    )


def _citation(citation: Citation) -> QueryCitation:
    return QueryCitation(video=flat(citation.title), timestamp=_time(citation.locator.begin))


def _time(begin: float | None) -> str | None:
    return None if begin is None else format_time(begin)


def _marker(kb: KnowledgeBase, citation: Citation) -> str:
    return styled(kb, citation, "auto" if citation.locator.begin is None else "time")


def _text(kb: KnowledgeBase, answer: Answer) -> str:
    """The text with each marker in the form of the archive, those of a report's tables too."""
    ends = [markers_after(answer.text, one).end for one in answer.sentences]
    end = max(ends, default=len(answer.text))
    sentences = replace(answer, text=answer.text[:end])
    told = with_markers(sentences, lambda one: _marker(kb, one), said=_unmarked)
    return told + _tables(kb, answer, answer.text[end:])


def _tables(kb: KnowledgeBase, answer: Answer, text: str) -> str:
    """What follows the last sentence: timeline, table and disagreements of a report."""
    style = kb.settings.citations.style
    known = {styled(kb, one, style): _marker(kb, one) for one in reversed(answer.citations)}
    pieces: list[str] = []
    place = 0
    for run in CLOSING.finditer(text):
        pieces.append(_unmarked(text[place : run.start()]))
        pieces.append(ONE_MARKER.sub(lambda one: known.get(one[0], _unmarked(one[0])), run[0]))
        place = run.end()
    return "".join([*pieces, _unmarked(text[place:])])


def _unmarked(text: str) -> str:
    """``text`` without anything that looks like the marker of a place in a recording."""
    return PLACE.sub(lambda found: f"({found.group()[1:-1]})", text)
