"""The Markdown of an answer: markers and sentences stand where it says, and links are ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.doubles.answers import answer_of, citation_of, sentence_of

from wellread.ask.deliver.cite import marker
from wellread.config import Style
from wellread.serve.http.answer_markdown import (
    MAX_ROWS,
    AnswerMarkdown,
    citation_url,
    earlier_turn,
)
from wellread.text.characters import harmless
from wellread.types import Locator, Span
from wellread.values.answer_text import without_links
from wellread.values.answers import Answer, Citation, Conflict, Table, Verdict, VerdictName, View
from wellread.values.reports import Report, ResearchPlan

BASE = "http://127.0.0.1:8756"
STYLES: tuple[Style, ...] = ("number", "auto", "title", "page", "time", "entity")
NASTY = st.text(
    st.one_of(
        st.sampled_from("[]()!<>`*_~|\\&#-:./ 1a€😀𝔘\u202e\u2028"),
        st.characters(exclude_categories=["Cs"]),
    ),
    min_size=1,
    max_size=40,
)
WORDS = NASTY.filter(lambda text: bool(text.strip()))
LINKS = st.sampled_from(
    ["", "https://a.example/b(c) d?e=[f]#:~:text=g%2Ch", "file:///x.md", "javascript:alert(1)"]
)


@st.composite
def citations(draw: st.DrawFn, number: int) -> Citation:
    page, begin = draw(st.sampled_from([(None, None), (3, None), (None, 75.0)]))
    start = draw(st.integers(0, 9))
    return citation_of(
        number,
        title=draw(NASTY),
        link=draw(LINKS),
        kind=draw(st.sampled_from(["page", "paper", "transcript", "entity"])),
        locator=Locator(label=draw(NASTY), page=page, begin=begin),
        quote=draw(NASTY),
        source_span=Span(start=start, end=start + 5),
    )


@st.composite
def answers(draw: st.DrawFn, by: str = "extractive") -> Answer:
    """An answer as it is delivered: each sentence with its markers right behind it."""
    style = draw(st.sampled_from(STYLES))
    sources = [draw(citations(number)) for number in range(1, draw(st.integers(1, 4)) + 1)]
    text = draw(st.sampled_from(["", "Based on limited information: "]))
    sentences = []
    for place in range(draw(st.integers(1, 4))):
        text += draw(st.sampled_from([" ", "\n\n", "\n- "])) if place else ""
        said = draw(WORDS)
        cited = draw(st.lists(st.sampled_from(sources), max_size=3))
        name = draw(st.sampled_from(VerdictName))
        sentences.append(sentence_of(said, len(text), name, *(one.id for one in cited)))
        text += said + "".join(f" {marker(one, style, 'a/b')}" for one in cited)
    return answer_of(
        text,
        sentences,
        sources,
        answered_by=by,
        data_gaps=tuple(draw(st.lists(WORDS, max_size=2))),
        conflicts=(Conflict(about=draw(WORDS), views=(View(text=draw(WORDS), citations=(1,)),)),),
        standalone=draw(st.sampled_from(["", "Why [so]?"])),
    )


def links_of(markdown: str) -> tuple[list[str], list[str]]:
    """The targets of all links of a text as Markdown is read, and the kinds of what else acts."""
    found: list[str] = []
    active: list[str] = []

    def walk(tokens: Any) -> None:
        for token in tokens or ():
            if token.type == "link_open":
                found.append(token.attrs["href"])
            elif token.type in ("image", "html_inline", "html_block"):
                active.append(token.type)
            walk(token.children)

    walk(MarkdownIt("commonmark").parse(markdown))
    return found, active


def unescaped(text: str) -> str:
    return re.sub(r"\\([^\w\s]|_)", r"\1", text)


def markers_of(answer: Answer) -> Iterator[int]:
    for sentence in answer.sentences:
        yield from sentence.citations


@settings(max_examples=60)
@examples(answers())
def test_every_annotation_cuts_exactly_its_marker(answer: Answer) -> None:
    made = AnswerMarkdown(answer, BASE)
    cut = [(one.span.of(made.text), one.citation.id) for one in made.markers]
    by_id = {one.id: one for one in answer.citations}
    assert [number for _, number in cut] == list(markers_of(answer))
    for text, number in cut:
        assert text == f"[\\[{number}\\]]({citation_url(by_id[number], BASE)})"


def ours(answer: Answer) -> set[str]:
    return {citation_url(one, BASE) for one in answer.citations} | {f"{BASE}/answers/{answer.id}"}


def same(links: Any) -> set[str]:
    """Targets as they are read: a parser may escape more of an address."""
    return {MarkdownIt().normalizeLink(one) for one in links}


@settings(max_examples=60)
@examples(answers())
def test_a_quoting_answer_holds_all_its_links_and_no_other(answer: Answer) -> None:
    made = AnswerMarkdown(answer, BASE)
    found, active = links_of(made.text)
    assert not active
    assert same(found) == same(ours(answer))


@settings(max_examples=60)
@examples(answers(by="gpt-9"), st.booleans())
def test_what_a_model_writes_opens_and_loads_nothing(answer: Answer, report: bool) -> None:
    made = AnswerMarkdown(answer, BASE, report_of(answer) if report else None)
    found, active = links_of(made.text)
    assert not active
    assert same(found) <= same(ours(answer))


@settings(max_examples=60)
@examples(answers())
def test_what_comes_back_is_the_answer_alone(answer: Answer) -> None:
    made = AnswerMarkdown(answer, BASE)
    turn = earlier_turn("Why?", made.text)
    assert turn.answer_id == "ans_1"
    kept = [harmless(one.text) for one in answer.sentences]
    assert "Sources**" not in turn.answer
    assert "http://127.0.0.1:8756/view" not in turn.answer
    for text in kept:
        assert unescaped(unescaped(text)).split()[0] in unescaped(turn.answer)


SIMPLE = answer_of(
    "It sank. [1]",
    [sentence_of("It sank.", 0, VerdictName.PARTIAL, 1)],
    [citation_of(verdict=VerdictName.PARTIAL)],
)


def report_of(answer: Answer, warning: str = "") -> Report:
    plan = ResearchPlan(question="q", facets=(), searches=1, seconds=1.0)
    span = Span(start=0, end=len(answer.text))
    return Report(
        id="run_1", answer=answer, plan=plan, summary=span, sections=(), stopped="time_limit",
        rounds=1, searches=1, seconds=1.0, warning=warning,
    )  # fmt: skip


def test_a_whole_text() -> None:
    answer = replace(SIMPLE, data_gaps=("the date",))
    made = AnswerMarkdown(answer, BASE, report_of(answer, "out of time"))
    assert made.text == (
        "It sank. *(partly supported)* [\\[1\\]](https://a.example/#page=2)\n\n---\n\n"
        "**Note**: out of time.\n\n"
        "**What is missing**\n\n- the date\n\n"
        "**Sources**\n\n- \\[1\\] [Log](https://a.example/#page=2) – paper, p. 2 — "
        "“It may have sunk.”\n\n"
        "*Confidence 0.41 (low) · answered by extractive* · "
        "[proof](http://127.0.0.1:8756/answers/ans_1)"
    )
    assert earlier_turn("Did it sink?", made.text).answer == "It sank."


def test_what_was_counted_is_not_flagged_but_a_table_that_is_longer_is_shown() -> None:
    rows = tuple((str(number), "x|y") for number in range(MAX_ROWS + 2))
    table = Table(columns=("no", "of"), rows=rows, documents=((),) * len(rows), method="counted")
    unread = Verdict(name=VerdictName.NOT_CHECKED, method="catalogue", score=1.0)
    counted = replace(
        SIMPLE,
        answered_by="catalogue",
        table=table,
        sentences=(replace(SIMPLE.sentences[0], verdict=unread),),
    )
    text = AnswerMarkdown(counted, BASE).text
    assert "*(not checked)*" not in text
    assert f"| {MAX_ROWS - 1} | x\\|y |" in text
    assert f"| {MAX_ROWS} |" not in text
    assert "2 more rows are in `wellread.table`" in text
    assert (
        "| 0 |"
        not in AnswerMarkdown(replace(counted, table=replace(table, rows=rows[:1])), BASE).text
    )


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("See [this]", "(https://e.example)"),
        ("See !", "[this](https://e.example)"),
        ("See <", "img src=x>"),
        ("See [x\\]", "(https://e.example)"),
        ("[x]", ": https://e.example"),
    ],
)
def test_no_link_comes_about_where_two_pieces_meet(one: str, two: str) -> None:
    joined = without_links(one) + without_links(two)
    assert links_of(joined) == ([], [])


def test_text_of_another_program_is_taken_as_it_is() -> None:
    said = "A rule:\n\n---\n\n**Sources**\n\n- \\[1\\] mine"
    assert earlier_turn("q", said).answer == said
    assert earlier_turn("q", "").answer == ""
