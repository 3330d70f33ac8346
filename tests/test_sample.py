"""The packaged sample with the real default model: what a new user sees, question by question.

The one test that runs the real embedder over real files of every kind. The questions were
written before the answerer was tuned; their gold quotes stand word for word in the sources.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from tests.serve.test_api_view import Parsed

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.features.home_and_jobs import SAMPLE
from wellread.serve.features.kept_answers import opened_body
from wellread.serve.http.app import create_app
from wellread.serve.web.document_layout import page_of
from wellread.types import Document, Locator, Span
from wellread.values.answers import Answer, Citation, Question
from wellread.values.locators import Marks, format_time

QUESTIONS = Path(__file__).with_name("sample_questions.jsonl").read_text(encoding="utf-8")
LINES = [line for line in map(json.loads, QUESTIONS.splitlines()) if line["kind"] != "near_miss"]
# Measured: 18 of 20 answered, and 9 with their gold quote; the questions are put in other words
# than the sources on purpose.
LEAST_ANSWERED, LEAST_WITH_GOLD = 17, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One line of the questions, and the answer to it."""

    line: dict[str, Any]
    answer: Answer

    @property
    def answered(self) -> bool:
        return self.answer.answered_by != "none"


@pytest.fixture(scope="module")
def sample(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The home that ``wellread demo`` made, with the model that is installed with the package."""
    home = shutil.copytree(demo / "home", tmp_path_factory.mktemp("sample") / "home")
    with open_kb(Path(home)) as kb:
        added = [job for job in kb.catalogue.jobs.newest() if job.action == "add"]
        assert [(job.state, job.collection, job.done) for job in added] == [("done", SAMPLE, 27)]
        sources = kb.catalogue.sources(SAMPLE)
        assert {source.status for source in sources.values()} == {"added"}
        kb.catalogue.answer_cache.clear()
        yield kb


@pytest.fixture(scope="module")
def asked(sample: KnowledgeBase) -> list[Asked]:
    """Every second question, answered."""

    async def ask_all() -> list[Asked]:
        return [
            Asked(line=line, answer=await final(answer(sample, Question(text=line["question"]))))
            for line in LINES[::2]
        ]

    return asyncio.run(ask_all())


def those(asked: list[Asked], *, answerable: bool) -> list[Asked]:
    return [each for each in asked if each.line["answerable"] == answerable]


def document_of(kb: KnowledgeBase, citation: Citation) -> Document:
    document = kb.catalogue.document(citation.document_id)
    assert document is not None
    return document


def gold_span(document: Document, line: dict[str, Any]) -> Span | None:
    """Where the quote stands in the document, whatever white space the source breaks lines with."""
    pattern = r"\s+".join(re.escape(word) for word in str(line["quote"]).split())
    at = re.search(pattern, document.text)
    suffix = str(line["uri_suffix"])
    if at is None or not (document.uri.endswith(suffix) or document.url.endswith(suffix)):
        return None
    return Span(start=at.start(), end=at.end())


def with_gold(kb: KnowledgeBase, each: Asked) -> list[tuple[Citation, Span]]:
    """The citations of the answer that share characters with the gold quote."""
    found = []
    for citation in each.answer.citations:
        gold = gold_span(document_of(kb, citation), each.line)
        if gold and gold.overlaps(citation.source_span):
            found.append((citation, gold))
    return found


def test_every_question_off_the_topic_is_declined(asked: list[Asked]) -> None:
    off_topic = those(asked, answerable=False)
    assert len(off_topic) == 10
    assert [each.line["question"] for each in off_topic if each.answered] == []
    for each in off_topic:
        assert each.answer.text.startswith("I don't have enough information")
        assert each.answer.data_gaps
        assert each.answer.confidence.band == "none"


def test_most_answerable_questions_are_answered(asked: list[Asked]) -> None:
    answerable = those(asked, answerable=True)
    assert len(answerable) == 20
    declined = [each.line["question"] for each in answerable if not each.answered]
    assert len(answerable) - len(declined) >= LEAST_ANSWERED, declined


def test_many_answers_hold_the_gold_quote(sample: KnowledgeBase, asked: list[Asked]) -> None:
    answerable = those(asked, answerable=True)
    without = [each.line["question"] for each in answerable if not with_gold(sample, each)]
    assert len(answerable) - len(without) >= LEAST_WITH_GOLD, without


def test_every_sentence_is_verbatim_and_cited(sample: KnowledgeBase, asked: list[Asked]) -> None:
    answered = [each.answer for each in asked if each.answered]
    assert answered
    for each in answered:
        cited = {citation.id: citation for citation in each.citations}
        assert each.sentences
        assert {number for sentence in each.sentences for number in sentence.citations} == set(
            cited
        )
        for sentence in each.sentences:
            assert sentence.span.of(each.text) == sentence.text
            told = sentence.verdict.method == "table"  # cells with the names of row and column
            assert sentence.verdict.name == ("supported" if told else "quoted")
            assert sentence.citations, sentence.text
            (source,) = (document_of(sample, cited[number]) for number in sentence.citations)
            assert sentence.verdict.source
            assert told or sentence.verdict.source.of(source.text) == sentence.text
        assert any(sentence.marked for sentence in each.sentences)
        for citation in each.citations:
            document = document_of(sample, citation)
            assert citation.source_span.of(document.text) == citation.quote
            assert citation.quote.strip()
            assert citation.answer_span.of(each.text)


async def test_every_citation_opens_at_its_quote(sample: KnowledgeBase, asked: list[Asked]) -> None:
    transport = httpx.ASGITransport(create_app(sample))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        seen: set[tuple[str, Span]] = set()
        for each in asked:
            for citation in each.answer.citations:
                opened = opened_body(sample, each.answer, citation.id)
                assert opened.quote == citation.quote
                key = (citation.document_id, citation.source_span)
                if key not in seen:
                    await check_view(client, document_of(sample, citation), citation)
                seen.add(key)
    assert len(seen) > LEAST_ANSWERED


async def check_view(client: httpx.AsyncClient, document: Document, citation: Citation) -> None:
    """The page, and the web's view of it, mark the quote and nothing else."""
    page = page_of(document, citation.source_span)
    pieces = [piece for block in page.blocks for piece in block.pieces]
    assert "".join(piece.text for piece in pieces if piece.cited) == citation.quote
    assert "".join(piece.text for piece in pieces) == document.text
    assert page.locator == citation.locator
    span = citation.source_span
    query = urlencode({"start": span.start, "end": span.end, "version": citation.version})
    response = await client.get(f"/view/{citation.document_id}?{query}&text=true")
    assert response.status_code == 200
    assert Parsed(response.text).marked == citation.quote


def test_every_gold_quote_stands_where_its_question_says(sample: KnowledgeBase) -> None:
    """All forty, whether or not the answer cites them: what each kind's loader marked."""
    documents = [sample.catalogue.document(known) for known in sample.catalogue.document_ids()]
    for line in (line for line in LINES if line["answerable"]):
        held = [
            (document, gold)
            for document in documents
            if document and (gold := gold_span(document, line))
        ]
        assert len(held) == 1, line
        ((document, gold),) = held
        locator = Marks(document.marks).locate(gold)
        assert_place(locator, document.published_at, line["place"])


def assert_place(locator: Locator, published: datetime | None, place: dict[str, Any]) -> None:
    """``place`` names a page, a heading, a line, a moment and speaker, or a date."""
    known: dict[str, object] = {
        "page": locator.page,
        "speaker": locator.speaker,
        "time": format_time(locator.begin) if locator.begin is not None else None,
        "heading": locator.heading[-1] if locator.heading else None,
        "line": locator.line,
        "published": published.date().isoformat() if published else None,
    }
    assert place
    assert {name: known[name] for name in place} == place
