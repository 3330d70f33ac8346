"""Counts documents, their passages, and places in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellread.ask.aggregate.count import Count, Result, entries_of
from wellread.ask.aggregate.countable_nouns import said
from wellread.ask.aggregate.rows import DOCUMENTS, NAMED, amount, document_rows, there_are
from wellread.ask.aggregate.topic_terms import documents_about
from wellread.ask.retrieve.retrieval import Row
from wellread.store.catalogue.documents.aggregates import FIELDS, Entry

MOST_ROWS = 20_000  # of a count; a list has all
UNDATED = "without a date"


def count_documents(count: Count) -> Result:
    """Documents within the limits, about the topic, related as asked."""
    plain = count.request.topic is None and count.request.relation is None
    if plain and not count.request.by and not count.request.listed:
        totals = count.scope.kb.catalogue.censuses.totals(count.scope.limits)
        if totals.documents > MOST_ROWS:
            return _very_many(count, totals.documents)
    entries, held = entries_of(count)
    if count.request.by:
        return _divided(count, entries)
    limits = ", ".join(count.conditions)
    method = f"all {count.noun.many} of the catalogue" + (f" {limits}" if limits else "")
    if held:
        method += f": {held.method}"
    return Result(
        columns=NAMED if held else DOCUMENTS,
        rows=document_rows(entries, held.counts if held else None),
        method=method,
        sentence=_by_kind(count, _kinds(entries)),
    )


def _very_many(count: Count, number: int) -> Result:
    """So many that a row for each would help nobody: a row for each kind, source type and year."""
    censuses = count.scope.kb.catalogue.censuses
    sizes = censuses.sizes(("kind", "source_type", "year"), count.scope.limits)
    kinds: dict[str, int] = {}
    for (kind, _, _), size in sizes.items():
        kinds[kind] = kinds.get(kind, 0) + size
    limits = "".join(f", {part}" for part in count.conditions)
    return Result(
        columns=("Kind", "Source type", "Year", "Documents"),
        rows=tuple(
            Row(
                cells=(*key, f"{size:,}"),
                line=f"{', '.join(filter(None, key))}: {amount(size, 'document', 'documents')}",
            )
            for key, size in sizes.items()
        ),
        method=f"all {count.noun.many} of the catalogue{limits}; more than {MOST_ROWS:,}, so the "
        "rows are groups (ask for a list to have each)",
        number=number,
        sentence=_by_kind(count, kinds),
    )


def _kinds(entries: Sequence[Entry]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        found[entry.kind] = found.get(entry.kind, 0) + 1
    return found


def _by_kind(count: Count, kinds: Mapping[str, int]) -> str:
    """The sentence for documents of several kinds, which says how many of each; else empty."""
    if len(kinds) < 2:
        return ""
    number = sum(kinds.values())
    whole = there_are(number, count.noun.one, count.noun.many, count.conditions)
    parts = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return f"{whole[:-1]}: {', '.join(f'{number:,} of the kind {kind}' for kind, number in parts)}."


def _divided(count: Count, entries: Sequence[Entry]) -> Result:
    """The count for each value of what it is divided by."""
    by = count.request.by
    scope = count.scope.only([entry.id for entry in entries])
    groups: dict[str, list[str]] = {}
    if by in ("year", "month"):
        for entry in entries:
            period = UNDATED
            if entry.published_at:
                period = f"{entry.published_at:{'%Y' if by == 'year' else '%Y-%m'}}"
            groups.setdefault(period, []).append(entry.id)
    elif by in FIELDS:
        groups = scope.kb.catalogue.censuses.values(FIELDS[FIELDS.index(by)], scope.limits)
    else:
        taxonomy = scope.kb.catalogue.censuses.taxonomy(scope.limits)
        groups = {value: ids for (name, value), ids in taxonomy.items() if name == by}
    noun = count.noun
    rows = tuple(
        Row(cells=(value, amount(len(ids), noun.one, noun.many)), document_ids=tuple(ids))
        for value, ids in groups.items()
    )
    limits = "".join(f", {part}" for part in count.conditions)
    sentence = there_are(len(entries), noun.one, noun.many, count.conditions)
    return Result(
        columns=(said(by).capitalize(), noun.many.capitalize()),
        rows=rows,
        method=f"all {noun.many} of the catalogue{limits}, divided by {said(by)}",
        number=len(entries),
        sentence=f"{sentence[:-1]}; divided by {said(by)} they are in "
        f"{amount(len(rows), 'group', 'groups')}.",
    )


def count_mentions(count: Count) -> Result | None:
    """Places that name the topic; None without one."""
    topic = count.request.topic
    if topic is None:
        return None
    topic = replace(topic, naming=True)
    held = documents_about(count.scope, topic)
    entries = [entry for entry in count.scope.entries() if entry.id in held.counts]
    number = sum(held.counts.values())
    names = topic.said.removeprefix("mentioning ")
    limits = "".join(f", {part}" for part in count.conditions[1:])
    often = amount(number, "time", "times")
    where = amount(len(entries), "document", "documents")
    return Result(
        columns=NAMED,
        rows=document_rows(entries, held.counts),
        method=f"places in {held.method}{limits}",
        number=number,
        sentence=f"{names} is mentioned {often} in {where}{limits}.",
    )


def count_passages(count: Count) -> Result | None:
    """Indexed passages; those about a topic cannot be told by the catalogue."""
    if count.request.topic or count.request.relation:
        return None
    totals = count.scope.kb.catalogue.censuses.totals(count.scope.limits)
    entries = count.scope.entries()
    return Result(
        columns=DOCUMENTS,
        rows=document_rows(entries),
        method=f"passages of the {amount(len(entries), 'document', 'documents')}",
        number=totals.passages,
    )
