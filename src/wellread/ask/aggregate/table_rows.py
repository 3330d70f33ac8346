"""Counts, filters and adds up the rows of a stored table, each row cited.

The question is only read if all of its words are accounted for: as the name of the table or of a
column, as the value of cells, or as a word of the question's form. A word that is none of these
("longer than", "usually") may change what is asked, so passages answer then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from wellread.ask.aggregate.query import AggregateResult, Place, Row, amount
from wellread.ask.retrieve.search import search
from wellread.kb import KnowledgeBase
from wellread.text.english import AVERAGES, HOW_MANY, IN_A_ROW_QUESTION, NEGATIONS, TOTALS
from wellread.text.parsed import stem
from wellread.text.sentences import cells_of, readable_row
from wellread.text.tokens import tokens_of
from wellread.types import Document, HeadingMark, Span, TableMark
from wellread.values.question import Analysis

STRATEGY = "rows of a table"
MAX_TABLES_SEARCHED = 8  # passages whose tables are tried
MAX_ROWS = 50_000  # of a table; a larger one is answered from passages
_NOTHING = frozenset({"", "no", "none", "false", "-", "–", "—"})  # cells that deny their column
_AMOUNT = re.compile(r"(?:\D*[^\w-])??(-?)(\d[\d.,'’\s]*)[^\d%]*")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table of a document: where its rows stand, and the cells of each."""

    document: Document
    id: str
    version: str
    names: frozenset[str]  # stems of the document's title and of the headings above the table
    columns: tuple[str, ...]
    places: tuple[Span, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, number: int) -> list[str]:
        """The cells of a column."""
        return [row[number] for row in self.rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a question asks of a table: the rows that have one of the values in each column.

    ``named`` are the columns that it names; ``where`` tells the values.
    """

    values: Mapping[int, frozenset[str]]
    named: tuple[int, ...]
    where: str


def table_rows(kb: KnowledgeBase, analysis: Analysis) -> AggregateResult | None:
    """The rows that the question counts, lists or adds up; None if it asks something else."""
    words = {token.plain: stem(token.plain) for token in tokens_of(analysis.question)}
    adds = not words.keys().isdisjoint(TOTALS | AVERAGES)
    denies = not words.keys().isdisjoint(NEGATIONS)
    if not (adds or denies or HOW_MANY.search(analysis.question)):
        return None
    content = {
        root for word, root in words.items()
        if word not in IN_A_ROW_QUESTION | NEGATIONS | TOTALS | AVERAGES
    }  # fmt: skip
    for table in _tables(kb, analysis):
        asked = _read(table, content, denies=denies)
        result = asked and _result(table, asked, words.keys(), adds=adds)
        if result:
            return result
    return None


def _tables(kb: KnowledgeBase, analysis: Analysis) -> Iterator[_Table]:
    """The tables of the documents found for the question, those of the best passages first."""
    hits = search(kb, analysis.question, analysis.filters, limit=MAX_TABLES_SEARCHED)
    for document_id, hit in {hit.document.id: hit for hit in reversed(hits)}.items():
        document = kb.catalogue.document(document_id)
        if document is not None:
            yield from _tables_of(document, document_id, hit.document.version)


def _tables_of(document: Document, document_id: str, version: str) -> Iterator[_Table]:
    headings = [mark for mark in document.marks if isinstance(mark, HeadingMark)]
    for mark in document.marks:
        if not isinstance(mark, TableMark):
            continue
        above = next((" ".join(at.path) for at in reversed(headings) if at.start <= mark.start), "")
        lines = re.finditer(r"[^\n]+", document.text[mark.start : mark.end])
        places = [Span(start=mark.start + line.start(), end=mark.start + line.end())
                  for line in lines]  # fmt: skip
        if len(places) > MAX_ROWS:
            continue
        rows = [tuple(cells_of(place.of(document.text), mark.columns)) for place in places]
        kept = [at for at, row in enumerate(rows) if not TOTALS & _words(row[0])]
        yield _Table(
            document=document,
            id=document_id,
            version=version,
            names=_stems(f"{document.title} {above}"),
            columns=mark.columns,
            places=tuple(places[at] for at in kept),
            rows=tuple(rows[at][: len(mark.columns)] for at in kept),
        )


# --- reading the question --------------------------------------------------------------------


def _read(table: _Table, content: Set[str], *, denies: bool) -> _Asked | None:
    """How the words ask for rows; None unless each is accounted for and no value has two places."""
    names = [_stems(name) for name in table.columns]
    named = tuple(at for at, name in enumerate(names) if name & content)
    values: dict[int, frozenset[str]] = {}
    told: list[frozenset[str]] = []
    for at in range(len(table.columns)):
        found = {cell: _stems(cell) for cell in {*table.column(at)} if cell.lower() not in _NOTHING}
        found = {cell: stems for cell, stems in found.items() if stems and stems <= content}
        largest = {cell for cell, stems in found.items()
                   if not any(stems < other for other in found.values())}  # fmt: skip
        if largest:
            values[at] = frozenset(largest)
            told.append(frozenset[str]().union(*(found[cell] for cell in largest)))
    explained = table.names.union(*(names[at] for at in named), *told)
    twice = any(one & other for at, one in enumerate(told) for other in told[:at])
    # A column that denies some rows ("Paid: no", or empty) says which rows are meant.
    flags = [at for at in named if at not in values and _denying(table.column(at))]
    if content - explained or twice or len(flags) > 1 or (denies and not flags):
        return None
    where = [f"{table.columns[at]}: {' or '.join(sorted(cells))}" for at, cells in values.items()]
    for at in flags:
        where.append(f"{'without' if denies else 'with'} {table.columns[at]}")
        values[at] = frozenset(
            cell for cell in table.column(at) if (cell.lower() in _NOTHING) == denies
        )
    labels = table.column(0)
    if 0 in values and len({*labels}) == len(labels):
        return None  # one row is asked for
    if not (values or table.names & content):
        return None  # a column of that name may be one of anything
    return _Asked(values=values, named=named, where=f" ({'; '.join(where)})" if where else "")


def _denying(cells: Sequence[str]) -> bool:
    denied = [cell for cell in cells if cell.lower() in _NOTHING]
    return 0 < len(denied) < len(cells) or {cell.lower() for cell in cells} <= {"no", "false"}


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, _words(text)))


def _words(text: str) -> frozenset[str]:
    return frozenset(token.plain for token in tokens_of(text))


# --- the answer ------------------------------------------------------------------------------


def _result(table: _Table, asked: _Asked, words: Set[str], *, adds: bool) -> AggregateResult | None:
    chosen = [
        at for at, row in enumerate(table.rows)
        if all(row[column] in cells for column, cells in asked.values.items())
    ]  # fmt: skip
    if not chosen:
        return None
    sentence = f"{amount(len(chosen), 'row', 'rows')} of “{table.document.title}”{asked.where}:"
    if adds:
        columns = [at for at in asked.named if at and at not in asked.values]
        numbers = {at: [_number(table.rows[row][at]) for row in chosen] for at in columns}
        told = {at: [n for n in held if n is not None] for at, held in numbers.items()
                if all(n is not None or not table.rows[row][at]
                       for row, n in zip(chosen, held, strict=True))}  # fmt: skip
        if len(told) != 1 or not next(iter(told.values())):
            return None
        ((column, held),) = told.items()
        is_mean = not words.isdisjoint(AVERAGES)
        value = sum(held) / (len(held) if is_mean else 1)
        empty = f", {len(chosen) - len(held)} empty" if len(held) < len(chosen) else ""
        sentence = (
            f"The {'average' if is_mean else 'total'} of {table.columns[column]} is {value:,.10g}: "
            f"{amount(len(chosen), 'row', 'rows')} of “{table.document.title}”{asked.where}{empty}."
        )
    return AggregateResult(
        strategy=STRATEGY,
        kind="list",
        sentence=sentence,
        number=None if adds else len(chosen),
        columns=table.columns,
        rows=tuple(_row(table, at) for at in chosen),
        method=f"the rows of a table in “{table.document.title}”{asked.where}",
    )


def _row(table: _Table, at: int) -> Row:
    span = table.places[at]
    return Row(
        cells=table.rows[at],
        document_ids=(table.id,),
        line=readable_row(span.of(table.document.text), table.columns),
        places=(Place(document_id=table.id, version=table.version, span=span),),
    )


def _number(cell: str) -> float | None:
    """The only number of a cell, with any currency or unit; None for percentages and others."""
    match = _AMOUNT.fullmatch(cell)
    if match is None:
        return None
    digits = re.sub(r"[\s'’]", "", match[2]).rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    if _GROUPED.fullmatch(digits) and len({*digits} - {*"0123456789"}) == 1:
        last = -1
    whole = re.sub(r"\D", "", digits[:last] if last >= 0 else digits)
    return float(f"{match[1]}{whole or 0}.{digits[last + 1 :] if last >= 0 else 0}")
