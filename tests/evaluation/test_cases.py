from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from wellread.errors import RequestError
from wellread.evaluation.cases import Case, WantedDocument, WantedSpan, read_cases
from wellread.types import Filters


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


def test_short_forms_stand_for_lists_of_one(file: Path) -> None:
    (found,) = read(
        file,
        case(
            tags="ferry",
            expected={"documents": "a.md", "spans": {"document": "a.md", "page": 1}},
        ),
    )
    assert found.turns == ("Who?",)
    assert found.tags == ("ferry",)
    assert [each.document for each in found.expected.documents] == ["a.md"]
    assert len(found.expected.spans) == 1


def test_what_is_expected_decides_whether_it_is_answerable(file: Path) -> None:
    cases = read(
        file,
        case(id="a"),
        case(id="b", expected={"answerable": False}),
        case(id="c", expected={}, type="counting"),
    )
    assert [each.expected.answerable for each in cases] == [True, False, None]


def test_blank_lines_are_skipped_and_counted_and_a_byte_order_mark_is_no_harm(file: Path) -> None:
    separated = json.dumps(case(question="When\u2028?"), ensure_ascii=False)
    cases = read(file, "\ufeff" + json.dumps(case()), "", separated, "  ")
    assert [each.line for each in cases] == [1, 3]
    assert cases[1].turns == ("When\u2028?",)


def test_an_id_is_made_of_question_and_scope(file: Path) -> None:
    first = read(file, case(), case(scope={"kinds": "page"}))
    again = read(file, case(tags=["x"]), case(scope={"kinds": "page"}, expected={"answer": "B"}))
    assert [each.id for each in first] == [each.id for each in again]
    assert first[0].id != first[1].id


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{bad", "not JSON: .* character 2"),
        ("[1]", "valid dictionary"),
        (case(answr="x"), "unknown field answr"),
        (case(scope={"topic": "x"}), "unknown field scope.topic"),
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
        (case(scope={"from": "2025"}), "scope.from: '2025' is not a day"),
        (case(scope={"from": "2025-13-01"}), "is not a day"),
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


def test_files_that_cannot_be_read_or_hold_nothing(file: Path) -> None:
    with pytest.raises(RequestError, match="cannot be read: No such file"):
        read_cases(file)
    file.write_bytes(b'{"question": "\xff"}')
    with pytest.raises(RequestError, match="not UTF-8"):
        read_cases(file)
    with pytest.raises(RequestError, match="holds no case"):
        read(file, "", " ")
