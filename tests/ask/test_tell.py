"""Exhaustive results as answers: a line with citations for each row, the table, and the record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from wellread.ask.aggregate.query import AggregateResult, Row
from wellread.ask.answer import answer, final
from wellread.ask.deliver.tell import MAX_ROWS, aggregate_reply
from wellread.ingest.integrity.verify import verify
from wellread.ingest.remove import remove_documents
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import DocumentFacts, Filters, Hit
from wellread.values.answers import Answer, Question
from wellread.values.question import Analysis

NO_QUESTION = Analysis(question="", type="factual", terms=(), names=(), filters=Filters())
TOWN = Filters(collections=("town",))


def item(number: int) -> dict[str, str]:
    return {
        "title": f"Bulletin {number}",
        "published_at": f"2025-01-{number:02}",
        "text": f"Ferry number {number} sails. It is number {number} of many.",
        "url": f"https://news.example/{number}",
    }


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    folder = tmp_path / "material"
    folder.mkdir()
    lines = [item(number) for number in range(1, MAX_ROWS + 4)]
    news = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "news.jsonl").write_text(news, encoding="utf-8")
    (folder / "osprey.md").write_text(
        "---\nid: osprey\ntype: ship\ntitle: Osprey\nsectors: [transport]\n---\n\nA ship.\n",
        encoding="utf-8",
    )
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder)], collection="town")
        yield opened


async def ask(kb: KnowledgeBase, text: str, filters: Filters = TOWN) -> Answer:
    return await final(answer(kb, Question(text=text, filters=filters)))


def by_title(kb: KnowledgeBase) -> dict[str, DocumentFacts]:
    return {facts.title: facts for facts in kb.catalogue.documents("town")}


def told(kb: KnowledgeBase, *rows: Row, hits: Sequence[Hit] = ()) -> Answer:
    tally = AggregateResult(
        kind="list", sentence="So many are there.", columns=("What",), rows=rows, hits=tuple(hits)
    )
    return aggregate_reply(kb, tally, NO_QUESTION)


def check_spans(kb: KnowledgeBase, given: Answer) -> None:
    for sentence in given.sentences:
        assert sentence.span.of(given.text) == sentence.text
    for number, citation in enumerate(given.citations, 1):
        assert citation.id == number
        assert citation.answer_span.of(given.text)
        (stored,) = kb.catalogue.texts([(citation.document_id, citation.source_span)])
        assert citation.quote == stored != ""
        assert f"[{number}]" in given.text


async def test_a_list_is_an_answer_with_citations_and_a_whole_table(kb: KnowledgeBase) -> None:
    given = await ask(kb, "List all articles")
    check_spans(kb, given)
    assert given.answered_by == "catalogue"
    assert given.table is not None
    assert len(given.table.rows) == len(given.table.documents) == MAX_ROWS + 3
    assert {row[0] for row in given.table.rows} == {
        f"Bulletin {number}" for number in range(1, MAX_ROWS + 4)
    }
    assert len(given.sentences) == 1 + MAX_ROWS
    assert given.text.endswith("3 more are in the table.")
    assert {one.verdict.method for one in given.sentences} == {"catalogue"}
    whole, *rows = [one.verdict for one in given.sentences]
    assert whole.name == "supported"
    # How a bulletin begins does not show that it is one.
    assert {one.name for one in rows} == {"not_checked"}
    assert all(one.reason.startswith("counted from metadata") for one in rows)
    assert whole.reason == given.table.method
    assert given.confidence.band == "high"
    line = next(one for one in given.sentences if one.text.startswith("Bulletin 7 "))
    (number,) = line.citations
    cited = given.citations[number - 1]
    assert cited.title == "Bulletin 7"
    assert cited.quote == "Ferry number 7 sails."
    assert cited.link.startswith("https://news.example/7")


def test_a_document_is_cited_once_and_one_that_is_not_there_never(kb: KnowledgeBase) -> None:
    known = by_title(kb)["Bulletin 1"].id
    reply = told(
        kb,
        Row(cells=("one", "", "first"), document_ids=(known, known, "doc_gone")),
        Row(cells=("two",), document_ids=(known,)),
        Row(cells=("three",)),
    )
    check_spans(kb, reply)
    assert [one.document_id for one in reply.citations] == [known]
    assert [one.citations for one in reply.sentences] == [(), (1,), (1,), ()]
    assert "- one (first) [1]\n- two [1]\n- three" in reply.text


def test_a_document_that_goes_while_it_is_told_is_left_out(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = by_title(kb)
    stays, goes = known["Bulletin 1"].id, known["Bulletin 2"].id
    facts_of = kb.catalogue.facts

    def facts(wanted: Any) -> dict[str, DocumentFacts]:
        found = facts_of(wanted)
        kb.catalogue.remove_documents([goes])
        return found

    monkeypatch.setattr(kb.catalogue, "facts", facts)
    reply = told(
        kb,
        Row(cells=("one",), document_ids=(stays,)),
        Row(cells=("two",), document_ids=(goes,)),
    )
    assert [one.document_id for one in reply.citations] == [stays]


async def test_a_removed_document_leaves_the_table_and_the_text(kb: KnowledgeBase) -> None:
    given = await ask(kb, "List all articles")
    assert given.table is not None
    shown, unshown = given.table.rows[2][0], given.table.rows[-1][0]
    ids = [given.table.documents[place][0] for place in (2, -1)]
    report = remove_documents(kb, ids)
    assert report.traces == ()
    kept = kb.catalogue.answer(given.id)
    assert kept is not None
    assert kept.table is not None
    said = f"{kept} "
    for title in (shown, unshown):
        assert f"{title} " not in said
        assert f"{title}'" not in said
    assert set(kept.table.rows[2]) == set(kept.table.rows[-1]) == {"(removed)"}
    assert kept.table.documents[2] == kept.table.documents[-1] == ()
    assert kept.table.rows[3] == given.table.rows[3]
    assert [one.span.of(kept.text) for one in kept.sentences] == [
        one.text for one in kept.sentences
    ]
    assert [stored.stale for stored in kb.catalogue.answers()] == [True]
    assert verify(kb).problems == ()


@pytest.mark.parametrize("place", [0, -1])
async def test_a_changed_document_makes_the_answer_stale(
    kb: KnowledgeBase, tmp_path: Path, place: int
) -> None:
    given = await ask(kb, "List all articles")
    assert given.table is not None
    title = given.table.rows[place][0]
    lines = [item(number) for number in range(1, MAX_ROWS + 4)]
    for line in lines:
        if line["title"] == title:
            line["text"] = "It has sunk."
    news = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "material" / "news.jsonl").write_text(news, encoding="utf-8")
    add(kb, [str(tmp_path / "material")], collection="town")
    assert [stored.stale for stored in kb.catalogue.answers()] == [True]
    kept = kb.catalogue.answer(given.id)
    assert kept is not None
    assert kept.table == given.table
