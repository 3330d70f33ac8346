"""A cell is told with its row and column, a named value by its name, a clause by its number."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from docx import Document as WordDocument

from wellread import Wellread
from wellread.ask.write.stated_values import named_numbers, told
from wellread.text.parsed import number_forms, numbers_as_in, parse
from wellread.text.sentences import (
    cells_of,
    enumerator_of,
    is_name_and_value,
    readable_row,
    sentence_spans,
)

LOCKS = """# Locks of the canal

| Lock width | Spring | Summer | Autumn |
|---|---|---|---|
| under 3 m | 11 | 12 | 13 |
| 3 to 6 m | 21 | 22 | 23 |
| above 6 m | 31 |  | 33 |
"""
KEEPER = """# Mill of Vale

Miller: Orla Quist
Flour per day: 90 kg
Тел: 777 1212

- Closed: in February
"""
PAGE = """<html><body><h1>Baths of the town</h1><p>The baths have spring water all year.</p>
<table><tr><th>Pool</th><th>Depth</th><th>Open</th></tr>
<tr><td rowspan=2>Great pool</td><td>2 m</td><td><ul><li>7 to 9</li></ul></td></tr>
<tr><td>3 m</td><td>never</td></tr>
<tr><td>Small pool</td><td>1 m</td><td>8 to 12<ul><li>and 15 to 19</li></ul></td></tr>
<tr><td>Spring basin</td><td colspan=2>for drinking</td></tr>
</table></body></html>"""


def lines(home: Path, question: str) -> list[str]:
    """The marked sentences of the answer to ``question``."""
    with Wellread(home) as wr:
        return [part.text for part in wr.ask(question).sentences if part.marked]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("values")
    files = place / "files"
    files.mkdir()
    (files / "locks.md").write_text(LOCKS, "utf-8")
    (files / "mill.md").write_text(KEEPER, "utf-8")
    (files / "baths.html").write_text(PAGE, "utf-8")
    (files / "barge.md").write_text("# Barge\n\nThe barge of the ferry costs 4,700 crowns.\n")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Seeds"
    sheet.append(["Seed", "Cost", "Sown", "Sum"])
    sheet.append(["Rye", 42, 3, "=B2*C2"])
    sheet.append(["Oats", 7.5, 2, 15])
    sheet.append(["Secret", 1, 1, 1])
    sheet["B2"].number_format = sheet["B3"].number_format = '#,##0.00 "kr"'
    sheet.row_dimensions[4].hidden = True
    book.save(files / "seeds.xlsx")
    second = openpyxl.Workbook()
    yields = second.active
    yields.title = "Yields"
    yields.append(["Yields of the island"])
    yields.append(["Crop", "2019", None, "2021"])
    yields.append([None, "Sown", "Cut", "Sown"])
    yields.append(["Barley", 4, 31, 5])
    yields.append(["Flax", 2, 9, None])
    for area in ("A1:D1", "A2:A3", "B2:C2"):
        yields.merge_cells(area)
    second.save(files / "yields.xlsx")
    (files / "rents.csv").write_text("Year,Rent,Pledge\n1998,700,\n1999,750,1500\n", "utf-8")
    (files / "jetties.csv").write_text("Jetty,Span\nUpper,40 m\n", "utf-8")
    (files / "moors.tsv").write_text("Mooring\tDraught\nHeron\t4 m\nTern\t\n", "utf-8")
    word = WordDocument()
    word.add_heading("Rules of the quarry", 0)
    for text in ("Helmets are worn.", "Blasting is at noon.", "Dogs stay outside."):
        word.add_paragraph(text, style="List Number")
    word.save(str(files / "quarry.docx"))
    word = WordDocument()
    word.add_heading("Shifts of the lime kiln", 0)
    table = word.add_table(4, 4)
    for at, texts in enumerate(
        (
            ("Shift", "Winter", "", "Summer"),
            ("", "Stoker", "Carter", "Stoker"),
            ("First", "Wim", "Odo", ""),
            ("Second", "Una", "", "Pia"),
        )
    ):
        for cell, text in zip(table.rows[at].cells, texts, strict=True):
            cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    word.save(str(files / "kiln.docx"))
    with Wellread(place / "home") as wr:
        report = wr.add(files)
    remark = next(row.reason for row in report.rows if row.uri.endswith("seeds.xlsx"))
    assert remark.startswith("1 formula without a stored value")
    assert remark.endswith("1 hidden row left out")
    return place / "home"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the toll for a lock of 3 to 6 m in summer?", "Summer · 3 to 6 m: 22"),
        ("What is the toll for locks above 6 m in summer?", "Summer · above 6 m: empty"),
        ("Who is the miller of Vale?", "Miller: Orla Quist"),
        ("What is the cost of oats?", "Cost · Oats: 7.50 kr"),
        ("What is the sum for rye?", "Sum · Rye: no stored value (=B2*C2)"),
        ("When is the small pool open?", "Open · Small pool: 8 to 12 and 15 to 19"),
        ("When is the spring basin open?", "Open · Spring basin: for drinking"),
        ("How much barley was cut in 2019?", "2019 › Cut · Barley: 31"),
        ("How much flax was sown in 2021?", "2021 › Sown · Flax: empty"),
        ("Who is the carter of the first shift in winter?", "Winter › Carter · First: Odo"),
        ("Who is the stoker of the first shift in summer?", "Summer › Stoker · First: empty"),
        ("What was the pledge in 1998?", "Pledge · 1998: empty"),
        ("What is the draught at the Tern mooring?", "Draught · Tern: empty"),
        ("What does rule 2 of the quarry say?", "2. Blasting is at noon."),
        ("What costs 4700 crowns?", "The barge of the ferry costs 4,700 crowns."),
    ],
)
def test_the_value_that_answers_comes_first(home: Path, question: str, said: str) -> None:
    assert lines(home, question)[:1] == [said]


def test_what_is_hidden_in_a_sheet_is_not_found(home: Path) -> None:
    assert not any("Secret" in line for line in lines(home, "What is the cost of the secret seed?"))


def test_the_names_of_the_columns_are_no_value(home: Path) -> None:
    said = lines(home, "What is the span of the lower jetty?")
    assert "Span · Upper: 40 m" in said
    assert "Jetty: Span" not in said


def test_cells_keep_their_places() -> None:
    assert cells_of("a |  | b", ("x", "y", "z", "w")) == ["a", "", "b", ""]
    assert cells_of("| b", ("x", "y")) == ["", "b"]
    assert readable_row("a |  | b", ("x", "y", "z")) == "x: a; y: empty; z: b"
    assert told("the depth of North", "North | 4 m | yes", ("Berth", "Depth", "Lit")) == (
        "Depth · North: 4 m"
    )
    assert told("tell me about North", "North | 4 m | ", ("Berth", "Depth", "Lit")) == (
        "Berth: North · Depth: 4 m · Lit: empty"
    )
    assert told("anything", "P(a | b) | c | d", ()) == ""
    assert told("the depth of North", "Depth | 4 m", ()) == "Depth: 4 m"
    assert told("the width of North", "Depth | 4 m", ()) == ""  # another value than the asked one


def test_a_row_and_a_numbered_clause_are_one_sentence() -> None:
    for line in ("Paid. Late. | 12 | See there. Yes.", "2.2. Late fees are 12.", "IV. The end."):
        assert [span.of(line) for span in sentence_spans(line)] == [line]
    assert enumerator_of("2.2 Late fees") == enumerator_of("2.2. Late fees") == "2.2"
    assert enumerator_of("3 boats left") == ""


def test_numbers_that_name_and_numbers_that_count() -> None:
    assert named_numbers("What does clause 4.1 say of option 3?") == {"4.1", "3"}
    assert not named_numbers("Did they pay 3 euros in 2024?")


@pytest.mark.parametrize("form", ["6300", "6,300", "6.300", "6 300", "6’300", "6\u202f300"])
def test_one_number_is_found_in_every_form(form: str) -> None:
    assert "6300" in parse(f"It cost {form} crowns.").stems
    assert {"6300", "6,300", "6.300"} <= set(number_forms(f"{form} crowns").split())
    assert numbers_as_in("Is it 6300?", [f"It is {form}."]) == f"Is it {form}?"


def test_a_year_is_no_long_number() -> None:
    assert number_forms("in 2024") == "in 2024"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("Phone: 555", True),
        ("電話：555", True),
        ("Тел: 777", True),
        ("at 9:30 sharp", False),
        ("https://a.example/b", False),
        ("and so it went: badly", False),
        ("He said many things on that long day: no", False),
    ],
)
def test_a_name_and_its_value(line: str, named: bool) -> None:
    assert is_name_and_value(line) is named
