"""What a question may cost: no more because the base is larger.

The sample is asked with 50 and with 2,000 documents beside it that have nothing to do with it, of
all kinds, each with a title, an author, a site and a number of its own. What is not a list or a
count reads the same rows of the catalogue then. The tables of what is found are as long in both,
and may hold passages of more documents in one: a row for each is the slack.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from wellread import sample
from wellread.ask.answer import answer, final
from wellread.identity import document_id, passage_id, version_of
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.store.base import IndexRow
from wellread.store.index.lance import LanceIndex
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Document, EntityFacts, Filters, Passage, Relation, Span
from wellread.values.answers import Question

pytestmark = pytest.mark.sqlite_only  # the rows are counted where its driver gives them

FEW, MANY = 50, 2_000
SLACK = 60  # rows: those of one list of a search
LED_ON, HITS = 2, 20  # queries of a bridge to another document, which other hits may call for; rows
KINDS = ("article", "paper", "transcript", "page", "entity")
WORDS = "harbour lamp bolt ridge cedar flour canal brass anchor velvet maple quarry".split()
# Kind to the most rows of the catalogue, queries of the index and calls of the model of one
# question, with MANY documents beside the sample. May only fall.
CEILINGS = {
    "factual": (720, 15, 2),
    "fact": (820, 14, 1),
    "comparative": (900, 15, 2),
    "gap": (430, 6, 1),
    "counting": (1_450, 1, 1),
    "listing": (1_450, 2, 1),
    "meta": (4_400, 0, 2),
    "trend": (2_300, 1, 1),
    "relational": (280, 4, 1),
    "exploratory": (380, 8, 1),
    "persona": (560, 12, 1),
    "newest": (210, 1, 1),
    "follow-up": (450, 6, 2),
}
COUNTED = {"counting", "listing", "meta", "trend"}  # what goes through all that it counts
WALKED = {"relational", "gap"}  # through the network of a collection, its kinds and years
# A step of a plan that reads documents, or what belongs to them, to the end.
READ_WHOLE = re.compile(
    r"SCAN (?:documents|document_names|entities|relations|mentions|passages|texts|marks)\b"
    r"|SEARCH \w+ USING .*\(collection=\?\)"
)
QUESTIONS = [
    ("factual", "How large was the public grant towards buying the Kittiwake?"),
    ("factual", "What did the Harbour Herald report about the blackout?"),
    ("factual", "How large was the pubic grant towrds bying the Kittiwak?"),
    ("factual", "Who invented the flux capacitor?"),
    ("factual", "How many crates are in letter 7?"),
    ("fact", "Who wrote the paper on seagrass restoration?"),
    ("fact", "Who speaks in the repair workshop?"),
    ("fact", "What is the latest paper?"),
    ("fact", "What is a repair café?"),
    ("fact", "Summarise the ferry timetable notes."),
    ("comparative", "How does the Kittiwake compare with the Gannet Narrows array?"),
    ("trend", "What is missing about seagrass?"),
    ("gap", "Is there anything about lighthouzes?"),
    ("counting", "How many documents mention the Kittiwake?"),
    ("listing", "Which articles mention the blackout?"),
    ("meta", "What is in this knowledge base?"),
    ("trend", "How has the coverage of the ferry changed over time?"),
    ("relational", "What is related to the Kittiwake?"),
    ("relational", "How is the Merrow tide cooperative connected to the Gannet Narrows?"),
    ("exploratory", "Summarise everything about energy on the islands."),
    ("persona", "What did Ines Calder say about the microgrid?"),
    ("newest", "What is new?"),
    ("newest", "Any news about the ferry?"),
    ("follow-up", "Who wrote about it?"),
    ("follow-up", "And when was it bought?"),
]


def others(count: int) -> Iterator[tuple[SourceChange, IndexRow]]:
    """Documents that have nothing to do with the sample."""
    for number in range(count):
        kind: Any = KINDS[number % len(KINDS)]
        one, other = WORDS[number % 12], WORDS[number // 12 % 12]
        entity = EntityFacts(
            entity_id=f"works/{number}",
            entity_type="works",
            aliases=(f"Works of {one} {number}",),
            relations=(Relation(type="supplies", target=f"works/{max(number - 5, 0)}"),),
        )
        text = f"The {one} of lot {number} was set beside the {other}. Nobody counted the lot."
        document = Document(
            collection="beside",
            uri=f"https://{one}{number % 40}.example/{number}",
            url=f"https://{one}{number % 40}.example/{number}",
            kind=kind,
            title=f"{one.capitalize()} {other} letter {number}",
            text=text,
            authors=(f"Wim{number} Lot{number}",),
            taxonomy={"shelf": (f"shelf {number % 7}",)},
            published_at=datetime(2021, 1, 1, tzinfo=UTC) + timedelta(days=number % 700),
            entity=entity if kind == "entity" else None,
        )
        known, version = document_id("beside", document.uri), version_of(text, ())
        span = Span(start=0, end=len(text))
        shared: dict[str, Any] = {
            "document_id": known,
            "version": version,
            "span": span,
            "text": text,
            "context": document.title,
            "speakers": (f"Lou{number} Voice{number}",) if kind == "transcript" else (),
        }
        passage = Passage(id=passage_id(known, version, span), **shared)
        change = DocumentChange(document=document, passages=(passage,))
        record = SourceRecord(collection="beside", uri=document.uri)
        row = IndexRow(passage_id=passage.id, collection="beside", kind=kind, **shared)
        yield SourceChange(record=record, documents=(change,)), row


def filled(home: Path, count: int) -> Path:
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(Path(sample.__file__).parent)], collection="sample")
        changes, rows = zip(*others(count), strict=True)
        texts = [f"{row.context}\n{row.text}" for row in rows]
        kb.index.write(rows, ReadableEmbedder().embed(texts, "passage"))
        kb.catalogue.commit(changes)
        kb.index.optimize()
    return home


class Spent:
    """What was spent since ``clear``; statements with the values of their last run."""

    rows = 0
    queries = 0
    statements: ClassVar[dict[str, Any]] = {}

    @classmethod
    def clear(cls) -> None:
        cls.rows = cls.queries = 0
        cls.statements.clear()


class _Cursor(sqlite3.Cursor):
    """Counts the rows that it gives."""

    def execute(self, sql: str, *values: Any) -> Any:
        Spent.statements[sql] = values
        return super().execute(sql, *values)

    def fetchone(self) -> Any:
        row = super().fetchone()
        Spent.rows += row is not None
        return row

    def fetchmany(self, *size: Any) -> Any:
        rows = super().fetchmany(*size)
        Spent.rows += len(rows)
        return rows

    def fetchall(self) -> Any:
        rows = super().fetchall()
        Spent.rows += len(rows)
        return rows


class _Connection(sqlite3.Connection):
    def cursor(self, _: Any = None) -> Any:
        return super().cursor(_Cursor)


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = partial(sqlite3.connect, factory=_Connection)
    monkeypatch.setattr(sqlite3.dbapi2, "connect", connect)  # SQLAlchemy's
    for name in ("search_text", "search_vector"):
        search = getattr(LanceIndex, name)

        def counted(self: LanceIndex, *given: Any, _search: Any = search, **named: Any) -> Any:
            Spent.queries += 1
            return _search(self, *given, **named)

        monkeypatch.setattr(LanceIndex, name, counted)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    root = tmp_path_factory.mktemp("cost")
    return {count: filled(root / str(count), count) for count in (FEW, MANY)}


def asked(kb: KnowledgeBase, text: str, session: str = "") -> str:
    """Ask as a new process would, or one that sees that something was written; the session."""
    kb.catalogue.collection_settings.set_settings("beside", {})
    Spent.clear()
    question = Question(text=text, fresh=True, session_id=session)
    return asyncio.run(final(answer(kb, question))).session_id


class Cost(NamedTuple):
    """What one question took."""

    rows: int
    queries: int
    calls: int
    scans: tuple[str, ...]


def costs(
    home: Path, questions: Sequence[tuple[str, str]], model: ScriptedModel | None = None
) -> dict[str, Cost]:
    """Each question to what it takes."""
    words: dict[str, dict[str, object]] = {"reader": {"answers": "lexical"}}
    found: dict[str, Cost] = {}
    with open_kb(home, embedder=ReadableEmbedder(), overrides=words, model=model) as kb:
        first = asked(kb, QUESTIONS[0][1])
        for kind, text in questions:
            calls = called(model)
            asked(kb, text, first if kind == "follow-up" else "")
            more = called(model) - calls
            scans = tuple(scanned(home, Spent.statements))
            found[text] = Cost(Spent.rows, Spent.queries, more, scans)
    return found


def called(model: ScriptedModel | None) -> int:
    """How often the model was asked to read a question or to write."""
    return len(model.prompts) + len(model.planned) if model else 0


def scanned(home: Path, statements: Mapping[str, Any]) -> Iterator[str]:
    """The statements that read a table, or a collection, to its end."""
    with closing(sqlite3.connect(home / CATALOGUE_FILE)) as plain:
        for sql, values in statements.items():
            if sql.startswith(("SELECT", "WITH")) and "LIMIT" not in sql:
                plan = plain.execute(f"EXPLAIN QUERY PLAN {sql}", *values).fetchall()
                if any(READ_WHOLE.match(step[3]) for step in plan):
                    yield sql


def test_a_question_costs_no_more_because_the_base_is_larger(bases: dict[int, Path]) -> None:
    few, many = costs(bases[FEW], QUESTIONS), costs(bases[MANY], QUESTIONS)
    dear = {
        text: (few[text], many[text])
        for kind, text in QUESTIONS
        if any(spent > most for spent, most in zip(many[text][:3], CEILINGS[kind], strict=True))
        or (led := many[text].queries - few[text].queries) > LED_ON
        or (kind not in COUNTED and many[text].rows > few[text].rows + SLACK + HITS * max(0, led))
        or (kind not in COUNTED | WALKED and many[text].scans)
    }
    assert min(cost.rows for cost in few.values()) > 0  # they are counted
    assert dear == {}


def test_a_model_is_not_called_more_often(bases: dict[int, Path]) -> None:
    asked_of_one = list({kind: (kind, text) for kind, text in QUESTIONS}.values())
    few, many = (
        costs(bases[count], asked_of_one, ScriptedModel(["No."] * 100)) for count in (FEW, MANY)
    )
    dear = {
        text: (few[text].calls, many[text].calls)
        for kind, text in asked_of_one
        if not many[text].calls <= min(few[text].calls, CEILINGS[kind][2])
    }
    assert dear == {}


def test_lists_read_no_further_than_what_they_show(bases: dict[int, Path]) -> None:
    home = bases[MANY]
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        counted = kb.catalogue.listings.kinds()
        Spent.clear()
        assert kb.catalogue.listings.documents(Filters(), 20).total > MANY
        assert steps_of(home, "TEMP B-TREE FOR ORDER BY") == []
        for limit in (
            Filters(collections=("beside",), authors=("WIM7 Lot7",)),
            Filters(collections=("beside",), taxonomy=(("shelf", "shelf 3"),)),
        ):
            Spent.clear()
            assert kb.catalogue.listings.entries([limit])
            assert [*scanned(home, Spent.statements)] == []
        Spent.clear()
        assert kb.catalogue.listings.kinds() == counted
        assert kb.catalogue.listings.count([Filters(collections=("beside",), kinds=("article",))])
        assert steps_of(home, "GROUP BY") == []
        assert [*scanned(home, Spent.statements)] == []


def steps_of(home: Path, what: str) -> list[str]:
    """The steps of the plans of the last statements that say ``what``."""
    with closing(sqlite3.connect(home / CATALOGUE_FILE)) as plain:
        return [
            step[3]
            for sql, values in Spent.statements.items()
            if sql.startswith("SELECT")
            for step in plain.execute(f"EXPLAIN QUERY PLAN {sql}", *values)
            if what in step[3]
        ]
