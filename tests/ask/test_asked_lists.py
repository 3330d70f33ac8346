"""A question for a list gets all items of the list that it asks for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answer_blocks import html_parts
from wellread.values.answers import Answer, Question

BAKERY = """# The bakery

The bakery opened in the old mill. Bread is sold from seven.

## Rules of the oven room

1. Nobody enters without a cap.
2. The door stays shut while dough rises.
3. Trays are carried by two people.
4. Ash is taken out at noon.
5. The last one turns off the fan.
6. No phones near the kneading machine.
7. Burns are cooled at once.
8. The bell is rung before the oven is opened.
9. Aprons are washed on Friday.

## Ovens

| Oven | Built | Width |
|---|---|---|
| North | 1931 | 2 m |
| South | 1988 | 3 m |
| West | 2004 | 4 m |

## Plans

- a second shop
- a cart for the market
"""


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    mill = "# The mill\n\nThe mill ground oats until 1950.\n"
    return make_home(default={"bakery.md": BAKERY, "mill.md": mill})


def _asked(kb: KnowledgeBase, text: str) -> Answer:
    return asyncio.run(final(answer(kb, Question(text=text))))


def test_all_items_not_some(kb: KnowledgeBase) -> None:
    said = _asked(kb, "What are the rules of the oven room?")
    assert [line.partition(". ")[0] for line in said.text.splitlines() if line[:1].isdigit()] == [
        str(number) for number in range(1, 10)
    ]
    assert "Aprons are washed on Friday." in said.text
    assert all(sentence.verdict.name.supports for sentence in said.sentences)


def test_rows_with_their_header(kb: KnowledgeBase) -> None:
    said = _asked(kb, "Which ovens does the bakery have?")
    assert all(part in said.text for part in ("Built", "North | 1931", "West | 2004"))


def test_the_number_that_is_said_tells_lists_apart(kb: KnowledgeBase) -> None:
    assert "a cart for the market" in _asked(kb, "What are the two plans of the bakery?").text


def test_a_comparison_gets_the_rows_of_both_with_the_header(kb: KnowledgeBase) -> None:
    said = _asked(kb, "Compare the width of South and West.")
    head = said.text.index("Oven | Built | Width\n--- | --- | ---\n")
    assert head < said.text.index("South | 1988 | 3 m") < said.text.index("West | 2004 | 4 m")
    drawn = "".join(str(getattr(part, "html", part)) for part in html_parts(said))
    assert drawn.count("<tr>") == drawn.count("<th dir") + 1 == 4  # a row of heads, and three more


@pytest.mark.parametrize(
    ("told", "sentences"),
    [
        ("The chance of rain P(rain|cloud) is high at the ferry.\n\nIt rains often.", 2),
        ("# Rain at the ferry", 1),
    ],
)
def test_a_bar_in_a_sentence_is_no_table_and_a_heading_alone_is_shown(
    tmp_path: Path, told: str, sentences: int
) -> None:
    (tmp_path / "rain.md").write_text(f"{told}\n", encoding="utf-8")
    low = {"qa": {"confidence_threshold": 0.0}}
    with open_kb(tmp_path / "home", overrides=low, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "rain.md")])
        said = _asked(kb, "How high is the chance of rain at the ferry?")
    assert "---" not in said.text
    assert len(said.sentences) == sentences
    assert {number for one in said.sentences for number in one.citations} == {1}
