"""How an answer was found, as JSON and as people read it on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.text import Text

from wellread.ask.aggregate.queries.result import AggregateResult
from wellread.ask.deliver.reply import notes_of
from wellread.ask.retrieve.ranking import Found, Retrieval, SearchTrace
from wellread.kb import KnowledgeBase
from wellread.serve.features.asking.answer_bodies import AskResponse
from wellread.serve.features.bodies import Body, RankBody
from wellread.serve.terminal import fold, right, table
from wellread.store.catalogue.graph.relation_network import Path
from wellread.text.words import harmless
from wellread.types import Filters, Hit, Mode
from wellread.values.question import Analysis, ConstraintKind, QuestionType

LISTED = 5  # candidates of each list that the terminal shows
DROPPED = 10


class ConstraintBody(Body):
    """A limit that the question's words set: the words, and what they were read as."""

    kind: ConstraintKind
    words: str
    value: str


class NamedBody(Body):
    """An entity that the question names."""

    words: str
    title: str
    entity_id: str
    collection: str
    type: str


class AnalysisBody(Body):
    """What the question was read as."""

    type: QuestionType
    mode: Mode
    reasons: tuple[str, ...]
    subject: str
    terms: tuple[str, ...]
    entities: tuple[NamedBody, ...]
    constraints: tuple[ConstraintBody, ...]
    sides: tuple[str, ...]


class CandidateBody(Body):
    """A passage's place in one list of a search."""

    passage_id: str
    title: str
    rank: int
    score: float


class SearchBody(Body):
    """A search that was made: within which filters, what each list gave, and how it was joined."""

    purpose: str
    query: str
    filters: dict[str, str]
    lists: dict[str, tuple[CandidateBody, ...]]
    fused: str


class UsedBody(Body):
    """A passage that was used, with its place in every list.

    ``marked``: what experts said of its source, and what that does to the score.
    """

    passage_id: str
    title: str
    score: float
    ranks: tuple[RankBody, ...]
    marked: str


class DroppedBody(Body):
    """A passage that was found and not used, and why."""

    passage_id: str
    title: str
    why: str


class ExplanationBody(Body):
    """How an answer came to what it rests on."""

    analysis: AnalysisBody
    strategy: str
    method: str
    searches: tuple[SearchBody, ...]
    used: tuple[UsedBody, ...]
    dropped: tuple[DroppedBody, ...]
    paths: tuple[str, ...]
    notes: tuple[str, ...]


class ExplainedResponse(AskResponse):
    """The answer and its explanation, where the request asked for one."""

    explanation: ExplanationBody


def explanation(kb: KnowledgeBase, analysis: Analysis, found: Found) -> ExplanationBody:
    """The whole explanation; the titles of candidates are looked up."""
    titles = _titles(kb, found)
    dropped = found.dropped if isinstance(found, Retrieval) else ()
    return ExplanationBody.of(
        found,
        analysis=_analysis(analysis),
        method=found.method if isinstance(found, AggregateResult) else "",
        searches=[_search(look, titles) for look in found.traces],
        used=[UsedBody.of(hit, **_named(hit), score=round(hit.score, 4)) for hit in found.hits],
        dropped=[DroppedBody.of(each, **_named(each.hit)) for each in dropped],
        paths=[path_in_words(path) for path in found.paths],
        notes=notes_of(analysis, found),
    )


def path_in_words(path: Path) -> str:
    """``Seed library —requires→ Cool room``; an arrow the other way reads the inverse name."""
    line = path.start.title
    for step in path.steps:
        line += f" —{step.relation}→ {step.name}"
    return line


def print_explanation(console: Console, body: ExplanationBody) -> None:
    """Analysis, searches with their lists, what was used and dropped, and the paths."""
    _print_analysis(console, body.analysis)
    _heading(console, "Strategy", body.strategy)
    if body.method:
        _heading(console, "Worked out", body.method)
    for number, search in enumerate(body.searches, 1):
        _print_search(console, number, search)
    if body.used:
        _print_used(console, body)
    for dropped in body.dropped[:DROPPED]:
        _line(console, f"  dropped  {dropped.title}: {dropped.why}", "dim")
    if len(body.dropped) > DROPPED:
        _line(console, f"  and {len(body.dropped) - DROPPED:,} more dropped", "dim")
    for path in body.paths:
        _heading(console, "Path", path)
    for note in body.notes:
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


def _named(hit: Hit) -> dict[str, object]:
    return {"passage_id": hit.passage.id, "title": hit.document.title}


def _analysis(analysis: Analysis) -> AnalysisBody:
    text = analysis.question
    return AnalysisBody.of(
        analysis,
        subject=analysis.subject or text,
        entities=[NamedBody.of(each, words=each.span.of(text)) for each in analysis.entities],
        constraints=[
            ConstraintBody.of(each, words=each.span.of(text)) for each in analysis.constraints
        ],
    )


def _search(look: SearchTrace, titles: Mapping[str, str]) -> SearchBody:
    return SearchBody.of(
        look,
        filters=filters_in_words(look.filters),
        lists={
            name: [CandidateBody.of(each, title=titles.get(each.passage_id, "")) for each in listed]
            for name, listed in look.lists
        },
    )


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


def _print_analysis(console: Console, analysis: AnalysisBody) -> None:
    _heading(console, "Question", f"{analysis.type}, {analysis.mode}")
    for reason in analysis.reasons:
        _line(console, f"  {reason}", "dim")
    _heading(console, "Searched for", analysis.subject)
    for named in analysis.entities:
        kind = f" ({named.type})" if named.type else ""
        _heading(console, "Names", f"“{named.words}” is {named.title}{kind}")
    for limit in analysis.constraints:
        _heading(console, "Limit", f"“{limit.words}” is {limit.kind}: {limit.value}")
    if analysis.sides:
        _heading(console, "Sides", "; ".join(analysis.sides))


def _print_search(console: Console, number: int, search: SearchBody) -> None:
    within = "; ".join(f"{name}: {value}" for name, value in search.filters.items())
    _heading(console, f"Search {number}", f"{search.purpose}{f' [{within}]' if within else ''}")
    _line(console, f"  {search.query}", "dim")
    lists = (
        [f"{one.score:.3f} {one.title}" for one in listed[:LISTED]]
        for listed in search.lists.values()
    )
    rows = enumerate(zip_longest(*lists, fillvalue=""), 1)
    columns = (right("rank"), *map(fold, search.lists))
    told = table(columns, ((str(place), *cells) for place, cells in rows), padding=(0, 2, 0, 2))
    console.print(told)
    _line(console, f"  joined: {search.fused}", "dim")


def _print_used(console: Console, body: ExplanationBody) -> None:
    names = list(dict.fromkeys(place.name for used in body.used for place in used.ranks))
    rows = []
    for used in body.used:
        ranks = {place.name: str(place.rank) for place in used.ranks}
        title = f"{used.title}: {used.marked}" if used.marked else used.title
        rows.append((f"{used.score:.3f}", *(ranks.get(name, "–") for name in names), title))
    columns = (*map(right, ("score", *names)), fold("used"))
    console.print(table(columns, rows, padding=(0, 2, 0, 0)))


def _heading(console: Console, name: str, text: str) -> None:
    line = Text(f"{name}: ", style="bold")
    line.append(harmless(text), style="")
    console.print(line)


def _line(console: Console, text: str, style: str) -> None:
    console.print(Text(harmless(text), style=style))
