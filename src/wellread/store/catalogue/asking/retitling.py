"""Names that were taken back: what was answered keeps its words, and no former title or address.

An answer that was given stays as it was when a source changes (docs/decisions/010-deletes.md), but
a title is no part of what was said: it names the document, and follows it. Answers, reports of
research and their events are looked through for the titles that went, wherever they stand beside
what was quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ahocorasick
from sqlalchemy import Connection, Text, cast, select, update

from wellread.store.catalogue.asking.redaction import (
    NO_ANSWER,
    Plain,
    blacked,
    changed_in,
    markers,
)
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.catalogue_values import REMOVED
from wellread.store.schema.database import rows_in
from wellread.store.schema.research_tables import research_events, research_reads, research_runs
from wellread.store.schema.tables import answers, documents
from wellread.values.answers import EXTRACTIVE

BESIDE = frozenset({"notes", "premises", "suggestions", "failures"})  # may name documents
Change = Callable[[str], str]
Edit = tuple[int, int, str]  # start and end in the text as it was, and what comes there


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a document is called, and where it opens."""

    title: str
    url: str


Renamed = Mapping[str, tuple[Named, Named]]
"""Document id to what it was called and is called now."""


def names_of(connection: Connection, document_ids: Collection[str]) -> dict[str, Named]:
    """What these documents are called; unknown ones are left out."""
    columns = (documents.c.id, documents.c.title, documents.c.url)
    statement = select(*columns).where(documents.c.id.in_(VALUES))
    found = rows_in(connection, statement, document_ids)
    return {row.id: Named(title=row.title, url=row.url) for row in found}


def renamed(before: Mapping[str, Named], after: Mapping[str, Named]) -> Renamed:
    """Those of the documents that are called otherwise, or open elsewhere."""
    return {known: (was, after[known]) for known, was in before.items() if after[known] != was}


def swapping(pairs: Iterable[tuple[str, str]]) -> Change:
    """Puts the second in the place of the first of each pair, the longest first.

    A title of one word may be anybody's word: it counts where it stands in quotation marks only.
    """
    known = {old: new for old, new in pairs if old.strip() and old != new}
    if not known:
        return str
    forms = sorted(known, key=len, reverse=True)
    several = [re.escape(one) for one in forms if len(one.split()) > 1]
    single = [re.escape(one) for one in forms if len(one.split()) == 1]
    parts = [rf"(?<!\w)(?:{'|'.join(several)})(?!\w)"] if several else []
    parts += [rf"(?<=“)(?:{'|'.join(single)})(?=”)"] if single else []
    named = re.compile("|".join(parts))
    return lambda text: named.sub(lambda found: known[found.group()], text)


def listing(pairs: Iterable[tuple[str, str]]) -> Change:
    """``swapping`` for words that list titles and say nothing else: any title counts."""
    exact = {old: new for old, new in pairs if old.strip()}

    def change(text: str) -> str:
        return _edited(text, list(_titles_in(text, 0, len(text), exact)))[0]

    return change


def naming(connection: Connection, words: Collection[str]) -> list[str]:
    """The answers in whose stored form one of these words stands, whatever they rest on."""
    wanted = {form for one in words if one.strip() for form in _as_stored(one)}
    if not wanted:
        return []
    automaton = ahocorasick.Automaton()
    for form in wanted:
        automaton.add_word(form, form)
    automaton.make_automaton()
    stored = select(answers.c.id, cast(answers.c.body, Text).label("body")).order_by(answers.c.id)
    return [
        row.id
        for row in connection.execute(stored)
        if next(automaton.iter(row.body), None) is not None
    ]


def _as_stored(words: str) -> set[str]:
    """How words may stand in a JSON column."""
    return {json.dumps(words)[1:-1], json.dumps(words, ensure_ascii=False)[1:-1]}


def retitled(body: Plain, changed: Renamed) -> tuple[Plain, list[Edit]]:
    """An answer's body with documents called as they are now, and what changed in its text.

    Quotations, sentences that were taken word for word, and what the asker wrote stay.
    """
    pairs = [(was.title, now.title) for was, now in changed.values()]
    swap = swapping(pairs)
    exact = {old: new for old, new in pairs if old.strip()}
    edits = sorted(set(_edits(body, changed, exact)))
    text, moved = _edited(body["text"], edits)
    new = {**_said_beside(body, swap), "text": text}
    new["citations"] = [_cited(one, changed, exact, moved) for one in new["citations"]]
    new["sentences"] = [_sentence(one, body["text"], text, moved) for one in new["sentences"]]
    if "related" in new:
        new["related"] = [_beside(one, changed, exact) for one in new["related"]]
    if body.get("table"):
        new["table"] = {**new["table"], "rows": _rows(body["table"], changed, swap, exact)}
    return new, edits


def unnamed(body: Plain, titles: Iterable[str]) -> Plain:
    """An answer's body that names none of these titles beside what it says.

    For answers that rest on other documents: those that went are taken out by ``redaction``.
    """
    blank = swapping((title, blacked(title)) for title in titles)
    kept = [one for one in body.get("suggestions", ()) if blank(one) == one]
    return {**_said_beside(body, blank), **({"suggestions": kept} if "suggestions" in body else {})}


def _said_beside(body: Plain, change: Change) -> Plain:
    """A body with what is said beside its text changed, but for what the asker wrote."""
    new = dict(body)
    for name in BESIDE & body.keys():
        new[name] = changed_in(body[name], change)
    for name in {"conflicts", "related"} & body.keys():
        told = {"about", "reason"}
        new[name] = [
            {key: change(item) if key in told else item for key, item in one.items()}
            for one in body[name]
        ]
    if change(body["question"]) == body["question"]:
        for name in {"data_gaps", "standalone"} & body.keys():
            new[name] = changed_in(body[name], change)
    sure = body["confidence"]
    new["confidence"] = {**sure, "reasoning": change(sure["reasoning"])}
    new["citations"] = [{**one, "why": change(one.get("why", ""))} for one in body["citations"]]
    new["sentences"] = [
        {**one, "verdict": {**one["verdict"], "reason": change(one["verdict"]["reason"])}}
        for one in body["sentences"]
    ]
    if body.get("table"):
        new["table"] = {**body["table"], "method": change(body["table"]["method"])}
    return new


def _edits(body: Plain, changed: Renamed, exact: Mapping[str, str]) -> Iterator[Edit]:
    """The places of the text that only name a document: markers, lines of a list, what is near."""
    text = body["text"]
    names = {one["id"]: one["document_id"] for one in body["citations"]}
    for known, start, end in markers(body, text):
        if names.get(known) in changed:
            was, now = changed[names[known]]
            place = text.find(was.title, start, end) if was.title else -1
            if place >= 0 and was.title != now.title:
                yield place, place + len(was.title), now.title
    spans = [one["span"] for one in body["sentences"]]
    if table := body.get("table"):
        rows = zip(spans[1:], table["documents"], strict=False)
        lines = [span for span, ids in rows if not changed.keys().isdisjoint(ids)]
        for span in [*spans[:1], *lines] if lines else ():
            yield from _titles_in(text, span["start"], span["end"], exact)
    if body["answered_by"] in (NO_ANSWER, EXTRACTIVE) or body.get("mode") == "deep":
        # Between sentences stand labels, which begin with titles, and what is near.
        starts = [0, *(span["end"] for span in spans)]
        ends = [*(span["start"] for span in spans), len(text)]
        for start, end in zip(starts, ends, strict=True):
            yield from _titles_in(text, start, end, exact)


def _titles_in(text: str, start: int, end: int, exact: Mapping[str, str]) -> Iterator[Edit]:
    """Titles in a stretch that lists documents, each as an edit."""
    titles = sorted((old for old, new in exact.items() if old != new), key=len, reverse=True)
    if not titles:
        return
    named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, titles))})(?!\w)")
    for found in named.finditer(text, start, end):
        yield found.start(), found.end(), exact[found.group()]


def _edited(text: str, edits: Sequence[Edit]) -> tuple[str, Callable[[int], int]]:
    """The text with all edits, and where a place of it stands then."""
    pieces, at = [], 0
    for start, end, new in edits:
        pieces += [text[at:start], new]
        at = end
    pieces.append(text[at:])

    def moved(place: int) -> int:
        return place + sum(
            len(new) - (end - start) for start, end, new in edits if end <= place and end > start
        )

    return "".join(pieces), moved


def shifted(span: Plain, moved: Callable[[int], int]) -> Plain:
    """A span of the text in the text as it is now."""
    return {**span, "start": moved(span["start"]), "end": moved(span["end"])}


def _sentence(one: Plain, before: str, after: str, moved: Callable[[int], int]) -> Plain:
    span = shifted(one["span"], moved)
    same = one["text"] == before[one["span"]["start"] : one["span"]["end"]]
    text = after[span["start"] : span["end"]] if same else one["text"]
    return {**one, "span": span, "text": text}


def _cited(
    one: Plain, changed: Renamed, exact: Mapping[str, str], moved: Callable[[int], int]
) -> Plain:
    new = {**one, "answer_span": shifted(one["answer_span"], moved)}
    # What was removed stays nameless here, also when its file is there again.
    if one["document_id"] not in changed or one["title"] == REMOVED:
        return new
    was, now = changed[one["document_id"]]
    place = one["locator"]
    heading = [exact.get(step, step) for step in place["heading"] or ()]
    parts = [exact.get(step, step) for step in place["label"].removeprefix("§ ").split(" › ")]
    mark = "§ " if place["label"].startswith("§ ") else ""
    new["locator"] = {**place, "heading": heading, "label": mark + " › ".join(parts)}
    new["title"] = now.title
    if was.url and was.url != now.url and one["url"] == was.url:
        new["url"] = now.url
        new["link"] = one["link"].replace(was.url, now.url, 1)
    return new


def _beside(one: Plain, changed: Renamed, exact: Mapping[str, str]) -> Plain:
    """Related material: a document by its id, an entity or a story by the title that it bore."""
    if one["kind"] != "document":
        return {**one, "title": exact.get(one["title"], one["title"])}
    if one["id"] not in changed:
        return one
    was, now = changed[one["id"]]
    return {**one, "title": now.title, "url": now.url if one["url"] == was.url else one["url"]}


def _rows(
    table: Plain, changed: Renamed, swap: Change, exact: Mapping[str, str]
) -> list[list[str]]:
    """The rows; those that rest on what is called otherwise call it so."""
    concerned = [not changed.keys().isdisjoint(ids) for ids in table["documents"]]
    concerned += [False] * (len(table["rows"]) - len(concerned))
    return [
        [exact.get(cell, swap(cell)) for cell in row] if mine else row
        for row, mine in zip(table["rows"], concerned, strict=True)
    ]


# --- reports of research -------------------------------------------------------------------------


def retitle_research(connection: Connection, changed: Renamed) -> None:
    """Call documents by their names of now in plans, events and reports of runs that read them."""
    swap = swapping((was.title, now.title) for was, now in changed.values())
    reads = select(research_reads.c.run_id).where(research_reads.c.document_id.in_(VALUES))
    runs = {row.run_id for row in rows_in(connection, reads.distinct(), changed)}
    kept = select(research_runs.c.id, research_runs.c.plan, research_runs.c.report).where(
        research_runs.c.id.in_(VALUES)
    )
    for row in list(rows_in(connection, kept, runs)):
        plan, report = _told(row.plan, changed, swap), _told(row.report, changed, swap)
        if (plan, report) != (row.plan, row.report):
            mine = research_runs.c.id == row.id
            connection.execute(update(research_runs).where(mine).values(plan=plan, report=report))
    events = select(research_events).where(research_events.c.run_id.in_(VALUES))
    for row in list(rows_in(connection, events, runs)):
        body = _told(row.body, changed, swap)
        if body != row.body:
            mine = (research_events.c.run_id == row.run_id, research_events.c.number == row.number)
            connection.execute(update(research_events).where(*mine).values(body=body))


def _told(plain: Any, changed: Renamed, swap: Change) -> Any:
    """A plan, report or event with documents called as they are now; the question stays."""
    if isinstance(plain, list):
        return [_told(one, changed, swap) for one in plain]
    if isinstance(plain, dict):
        told = {
            name: item if name in ("question", "filters") else _told(item, changed, swap)
            for name, item in plain.items()
        }
        if "title" in plain and plain.get("id") in changed:
            told["title"] = changed[plain["id"]][1].title
        return told
    return swap(plain) if isinstance(plain, str) else plain


def move_sections(connection: Connection, answer_id: str, edits: Sequence[Edit]) -> None:
    """The report of this answer points to the same stretches of its text as before."""
    if not edits:
        return
    _, moved = _edited("", edits)
    mine = research_runs.c.answer_id == answer_id
    columns = (research_runs.c.id, research_runs.c.report)
    for row in connection.execute(select(*columns).where(mine)).all():
        if row.report is None:
            continue
        sections = [{**one, "span": shifted(one["span"], moved)} for one in row.report["sections"]]
        report = {**row.report, "sections": sections}
        report["summary"] = shifted(row.report["summary"], moved)
        statement = update(research_runs).where(research_runs.c.id == row.id)
        connection.execute(statement.values(report=report))
