from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from wellread.errors import RequestError
from wellread.evaluation.cases import (
    Case,
    Expected,
    Resolver,
    Targets,
    WantedDocument,
    WantedSpan,
    read_cases,
)
from wellread.kb import KnowledgeBase
from wellread.types import DocumentFacts, Filters, PageMark, Span


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "set.jsonl"


def read(file: Path, *lines: object) -> list[Case]:
    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    file.write_text(text, encoding="utf-8")
    return read_cases(file)


def case(**fields: Any) -> dict[str, Any]:
    return {"question": "Who?", "expected": {"answer": "Ann"}, **fields}


def test_a_case_with_every_field(file: Path) -> None:
    (found,) = read(
        file,
        {
            "id": 7,
            "question": ["Who runs the ferry?", "And since when?"],
            "scope": {
                "collections": "town",
                "kinds": ["page", "paper"],
                "from": "2025-10-01",
                "to": "2025-10-31",
                "speaker": "Ann",
                "taxonomy": {"scale": ["local", "regional"], "sector": "energy"},
            },
            "mode": "deep",
            "type": "temporal",
            "tags": ["ferry"],
            "expected": {
                "documents": ["ferry.md", {"document": "notes", "grade": 2}],
                "spans": [
                    {"document": "ferry.md", "start": 3, "end": 9},
                    {"document": "paper.pdf", "page": 2, "grade": 0.5},
                    {"document": "talk.vtt", "minute": 12},
                    {"document": "talk.vtt", "minute": "1:02:14"},
                    {"document": "ferry.md", "quote": "since 2021"},
                ],
                "answer": ["2021", "two thousand"],
            },
        },
    )
    assert found.id == "7"
    assert found.turns == ("Who runs the ferry?", "And since when?")
    assert found.filters == Filters(
        collections=("town",),
        kinds=("page", "paper"),
        speakers=("Ann",),
        published_from=datetime(2025, 10, 1, tzinfo=UTC),
        published_to=datetime(2025, 10, 31, 23, 59, 59, 999999, tzinfo=UTC),
        taxonomy=(("scale", "local"), ("scale", "regional"), ("sector", "energy")),
    )
    assert (found.mode, found.type, found.tags) == ("deep", "temporal", ("ferry",))
    expected = found.expected
    assert expected.documents == (
        WantedDocument(document="ferry.md"),
        WantedDocument(document="notes", grade=2.0),
    )
    assert expected.spans == (
        WantedSpan(document="ferry.md", start=3, end=9),
        WantedSpan(document="paper.pdf", page=2, grade=0.5),
        WantedSpan(document="talk.vtt", seconds=(720.0, 780.0)),
        WantedSpan(document="talk.vtt", seconds=(3734.0, 3734.0)),
        WantedSpan(document="ferry.md", quote="since 2021"),
    )
    assert expected.answer == ("2021", "two thousand")
    assert expected.answerable is True


def test_what_is_expected_decides_whether_it_is_answerable(file: Path) -> None:
    cases = read(
        file,
        case(id="a"),
        case(id="b", expected={"answerable": False}),
        case(id="c", expected={}, type="counting"),
    )
    assert [each.expected.answerable for each in cases] == [True, False, None]


def test_an_id_is_made_of_question_and_scope(file: Path) -> None:
    first = read(file, case(), case(scope={"kinds": "page"}))
    again = read(file, case(tags=["x"]), case(scope={"kinds": "page"}, expected={"answer": "B"}))
    assert [each.id for each in first] == [each.id for each in again]
    assert first[0].id != first[1].id


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{bad", "not JSON: .* character 2"),
        ("[1]", "the line has to be an object"),
        (case(answr="x"), "answr is not known"),
        (case(scope={"topic": "x"}), "scope.topic is not known"),
        (case(expected={"documents": [{"document": "a", "grad": 1}]}), "documents.0.grad"),
        (case(expected={"documents": 7}), "expected.documents: .* list"),
        (case(expected={"documents": [{"document": "a", "grade": 0}]}), "documents.0.grade"),
        (case(expected={"documents": [""]}), "documents.0.document"),
        (case(expected={"answer": [" "]}), "accepted answer is empty"),
        (case(expected={"answerable": "no"}), "expected.answerable"),
        (case(expected={"answerable": False, "answer": "x"}), "not answerable expects no"),
        (case(expected={}), "nothing is expected"),
        ({"expected": {"answer": "x"}}, "question"),
        (case(question=[]), "question"),
        (case(question=["a", " "]), "a question is empty"),
        (case(type="why"), "type"),
        (case(mode="slow"), "mode"),
        (case(scope={"kinds": "book"}), "scope.kinds.0"),
        (case(scope={"from": "2025-13-01"}), "is not a date"),
        (case(scope={"from": 2025}), "write a day"),
        (case(scope={"from": "2025-02-01", "to": "2025-01-01"}), "'from' is after 'to'"),
        (case(expected={"spans": {"document": "a"}}), "give one of"),
        (case(expected={"spans": {"document": "a", "page": 1, "quote": "b"}}), "give one of"),
        (case(expected={"spans": {"document": "a", "start": 1}}), "start and end"),
        (case(expected={"spans": {"document": "a", "start": 5, "end": 5}}), "end is not after"),
        (case(expected={"spans": {"document": "a", "page": 0}}), "spans.0.page"),
        (case(expected={"spans": {"document": "a", "minute": "12"}}), "a minute is"),
        (case(expected={"spans": {"document": "a", "minute": True}}), "a minute is"),
    ],
)
def test_a_malformed_line_is_told_with_file_line_and_reason(
    file: Path, line: object, reason: str
) -> None:
    with pytest.raises(RequestError, match=f"set.jsonl, line 3: .*{reason}"):
        read(file, case(id="good"), "", line)


def test_the_same_id_twice_names_both_lines(file: Path) -> None:
    with pytest.raises(RequestError, match=r"line 2: the same id as line 1"):
        read(file, case(), case())


def case_of(expected: Expected, *collections: str) -> Case:
    return Case(
        id="c",
        line=1,
        turns=("?",),
        expected=expected,
        filters=Filters(collections=collections),
    )


def document(town: KnowledgeBase, *names: str, collection: str = "town") -> Targets:
    wanted = tuple(WantedDocument(document=name) for name in names)
    return Resolver(town).targets(case_of(Expected(documents=wanted), collection))


def place(town: KnowledgeBase, span: WantedSpan, collection: str = "town") -> Targets:
    return Resolver(town).targets(case_of(Expected(spans=(span,)), collection))


def facts(town: KnowledgeBase, title: str, collection: str = "town") -> DocumentFacts:
    (found,) = [each for each in town.catalogue.documents(collection) if each.title == title]
    return found


def texts(town: KnowledgeBase, targets: Targets) -> list[str]:
    (places,) = targets.spans.values()
    return town.catalogue.texts(list(places))


def test_a_document_is_known_by_id_address_end_of_address_or_title(town: KnowledgeBase) -> None:
    ferry = facts(town, "The ferry")
    lamp = facts(town, "Lighthouse lamp replaced")
    for name in (ferry.id, ferry.uri, "ferry.md", "my material/ferry.md", "the  FERRY"):
        assert document(town, name).met_by(ferry.id) == {name}, name
        assert document(town, name).missing == ()
    for name in (lamp.url, "https://news.example/2025/lighthouse", "2025/lighthouse/"):
        assert document(town, name).met_by(lamp.id) == {name}, name


def test_the_end_of_an_address_begins_at_a_separator(town: KnowledgeBase) -> None:
    lamp = facts(town, "Lighthouse lamp replaced")
    bakery = facts(town, "Bakery opens")
    found = document(town, "lighthouse")
    assert found.met_by(lamp.id) == {"lighthouse"}
    assert found.met_by(bakery.id) == frozenset()
    for name in ("erry.md", "material/ferry.md", "/", "ferry"):
        assert document(town, name).missing == (f"document {name}",), name
        assert document(town, name).grades == {name: 1.0}


def test_a_quote_is_found_wherever_it_stands(town: KnowledgeBase) -> None:
    once = place(town, WantedSpan(document="ferry.md", quote="bought   for\n2.6 million"))
    assert texts(town, once) == ["bought for 2.6 million"]
    twice = place(town, WantedSpan(document="ferry.md", quote="the ferry LEAVES"))
    assert texts(town, twice) == ["The ferry leaves", "the ferry leaves"]
    assert list(twice.grades) == ["ferry.md"]


def test_minutes_and_moments_are_looked_up_in_the_marks(town: KnowledgeBase) -> None:
    def said(begin: float, finish: float) -> str:
        (text,) = texts(town, place(town, WantedSpan(document="roof.vtt", seconds=(begin, finish))))
        return text

    assert "repaired in March" in said(70, 70)
    assert "repaired in March" in said(75, 75)
    assert "Welcome" not in said(75, 75)
    assert "tool library" in said(120, 180)
    whole = said(0, 120)
    assert "Welcome" in whole
    assert "repaired" in whole
    assert "tool library" not in whole


def test_a_page_is_everything_on_it(town: KnowledgeBase) -> None:
    targets = place(town, WantedSpan(document="seagrass.pdf", page=2), "archive")
    ((known, span),) = next(iter(targets.spans.values()))
    stored = town.catalogue.document(known)
    assert stored is not None
    pages = [mark for mark in stored.marks if isinstance(mark, PageMark)]
    for mark in pages:
        inside = Span(start=mark.start, end=mark.end)
        assert span.overlaps(inside) == (mark.page == 2)


@pytest.mark.parametrize(
    ("span", "missing"),
    [
        (WantedSpan(document="ferry.md", quote="a submarine"), "quote “a submarine” of ferry.md"),
        (WantedSpan(document="ferry.md", page=3), "page 3 of ferry.md"),
        (WantedSpan(document="roof.vtt", seconds=(900, 960)), "second 900 of roof.vtt"),
        (WantedSpan(document="ferry.md", start=0, end=99_999), "characters 0 to 99999 of ferry.md"),
        (WantedSpan(document="gone.md", quote="x"), "document gone.md"),
    ],
)
def test_what_is_not_there_is_told_and_cannot_be_met(
    town: KnowledgeBase, span: WantedSpan, missing: str
) -> None:
    targets = place(town, span)
    assert targets.missing == (missing,)
    assert targets.span_grades == {f"0:{span.document}": 1.0}
    assert targets.spans_met_by(facts(town, "The ferry").id, Span(start=0, end=500)) == frozenset()
