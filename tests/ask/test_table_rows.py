"""Rows of a table are counted, filtered and added up, each cited, or left to the passages."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from wellread import Answer, Wellread

STALLS = (
    ("Stall", "Trader", "Aisle", "Rent", "Settled"),
    ("S1", "Quill & Co", "West", 310, "yes"),
    ("S2", "Tansy", "West", 290.5, "no"),
    ("S3", "Rook", "East", 150, "yes"),
    ("S4", None, "East", 140, None),
    ("S5", "Wren", "East gate", 400, "no"),
    ("Total", None, None, 1290.5, None),
)
LOANS = """Loan;Reader;Fine;Returned
7;Ada Voss;1.200,50;2023-05-01
8;Jon Hale;90,00;
9;Ada Voss;75,10;2023-06-02
"""
PRESS = "# Press\n\n| Thing | Number |\n|---|---|\n| Rollers | 14 |\n| Trays | 3 |\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rows")
    files = place / "files"
    files.mkdir()
    book = openpyxl.Workbook()
    book.active.title = "Stalls"
    for row in STALLS:
        book.active.append(row)
    book.save(files / "market.xlsx")
    (files / "loans.csv").write_text(LOANS, "utf-8")
    (files / "press.md").write_text(PRESS, "utf-8")
    with Wellread(place / "home") as wr:
        wr.add(files)
    return place / "home"


def asked(home: Path, question: str) -> Answer:
    with Wellread(home) as wr:
        return wr.ask(question)


@pytest.mark.parametrize(
    ("question", "said", "rows"),
    [
        ("How many stalls are in the west aisle?", "2 rows of “Market” (Aisle: West):", "S1 S2"),
        ("How many stalls are in the east aisle?", "2 rows of “Market” (Aisle: East):", "S3 S4"),
        ("How many stalls are in the east gate?", "1 row of “Market” (Aisle: East gate):", "S5"),
        ("Which stalls have not settled?", "3 rows of “Market” (without Settled):", "S2 S4 S5"),
        ("How many stalls have settled?", "2 rows of “Market” (with Settled):", "S1 S3"),
        ("How many stalls in the west aisle have not settled?",
         "1 row of “Market” (Aisle: West; without Settled):", "S2"),
        ("What is the total rent of the stalls?", "The total of Rent is 1,290.5: 5 rows",
         "S1 S2 S3 S4 S5"),
        ("What is the average rent in the east aisle?", "The average of Rent is 145: 2 rows",
         "S3 S4"),
        ("What is the total fine of the loans of Ada Voss?", "The total of Fine is 1,275.6: 2 rows",
         "7 9"),
        ("Which loans were not returned?", "1 row of “Loans” (without Returned):", "8"),
    ],
)  # fmt: skip
def test_rows_are_counted_and_added_up(home: Path, question: str, said: str, rows: str) -> None:
    answer = asked(home, question)
    assert answer.sentences[0].text.startswith(said)
    assert answer.table is not None
    assert [row[0] for row in answer.table.rows] == rows.split()
    for row, sentence in zip(answer.table.rows, answer.sentences[1:], strict=True):
        (cited,) = sentence.citations
        quote = next(one.quote for one in answer.citations if one.id == cited)
        assert quote.startswith(row[0])


@pytest.mark.parametrize(
    "question",
    [
        "How many stalls have more rent than 300?",  # compares
        "How many stalls are usually settled?",  # "usually" is in no cell
        "Which stalls are not in the west aisle?",  # denies a value, not a column
        "How many rollers are there?",  # one row has the number
        "What is the total of the traders?",  # nothing to add up
        "What is the rent of S1?",
    ],
)
def test_what_is_not_wholly_understood_is_left_to_the_passages(home: Path, question: str) -> None:
    answer = asked(home, question)
    assert not any("rows of" in sentence.text for sentence in answer.sentences)
    assert answer.table is None or answer.table.method.find("the rows of a table") < 0
