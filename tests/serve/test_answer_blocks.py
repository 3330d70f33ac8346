"""The Markdown of an answer, drawn on a page and on a terminal, its sentences in the blocks."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console
from tests.doubles.answers import answer_of, sentence_of

from wellread.serve.cli.answer_printing import print_answer
from wellread.values.answer_blocks import SentencePart, draft_html, html_parts
from wellread.values.answers import Answer, VerdictName

MODEL, EXTRACTIVE = "a model", "extractive"
PLANTED = "See [x](javascript:alert(1)) ![i](https://evil.example/i.png) <b onclick=x()>y</b>."
INERT = PLANTED.replace("<b onclick=x()>y</b>", "&lt;b onclick=x()&gt;y&lt;/b&gt;")

# Who wrote it, the text, its sentences; the page, with the sentences in braces (a part of one that
# goes on in another cell in brackets); the lines on a terminal, without the white space around.
CASES: list[tuple[str, str, Sequence[str], str, Sequence[str]]] = [
    (
        EXTRACTIVE,
        "Both are *old*.\n\n**BERT:** It has 110 | M.\n\n**GPT:** It has <b>more</b>.",
        ["Both are *old*.", "It has 110 | M.", "It has <b>more</b>."],
        "<p>{Both are *old*.}</p><p><strong>BERT:</strong> {It has 110 | M.}</p>"
        "<p><strong>GPT:</strong> {It has &lt;b&gt;more&lt;/b&gt;.}</p>",
        ["Both are *old*. ❞", "BERT: It has 110 | M. ❞", "GPT: It has <b>more</b>. ❞"],
    ),
    (
        EXTRACTIVE,
        "Two lines\n- # of a source.\n- Another.",
        ["Two lines\n- # of a source.", "Another."],
        "<p>{Two lines<br>- # of a source.}</p><ul><li>{Another.}</li></ul>",
        ["Two lines", "- # of a source. ❞", "• Another. ❞"],
    ),
    (
        MODEL,
        "# Sizes\n\n**One is so. Two is so.** Three\n\n1. A *small* one.\n2. A `b.c` one.",
        ["**One is so.", "Two is so.**", "Three", "A *small* one.", "A `b.c` one."],
        "<h2>Sizes</h2><p>{<strong>One is so.</strong>} {<strong>Two is so.</strong>} {Three}</p>"
        "<ol><li>{A <em>small</em> one.}</li><li>{A <code>b.c</code> one.}</li></ol>",
        ["Sizes", "One is so. ❞ Two is so. ❞ Three ❞", "1 A small one. ❞", "2 A b.c one. ❞"],
    ),
    (
        MODEL,
        "| Name | Size |\n|---|--:|\n| BERT | 110 *M* |\n| GPT | 1 |",
        ["BERT | 110 *M*", "GPT | 1"],
        "<table><thead><tr><th>Name</th><th>Size</th></tr></thead><tbody>"
        "<tr><td>[BERT]</td><td>{110 <em>M</em>}</td></tr><tr><td>[GPT]</td><td>{1}</td></tr>"
        "</tbody></table>",
        ["Name Size", "─────────────", "BERT 110 M ❞", "GPT 1 ❞"],
    ),
    (
        MODEL,
        "> He said so.\n\n```sh\nmake all\n```\n",
        ["He said so.", "make all"],
        "<blockquote><p>{He said so.}</p></blockquote><pre>{<code>make all</code>}</pre>",
        ["▌ He said so. ❞", "make all ❞"],
    ),
    (MODEL, PLANTED, [PLANTED], f"<p>{{{INERT}}}</p>", [f"{PLANTED} ❞"]),
    ("none", "Is **it** a_b_c?\n- <i>x</i>", [], "", ["Is **it** a_b_c?", "• <i>x</i>"]),
]


def drawn(by: str, text: str, said: Sequence[str]) -> Answer:
    sentences, place = [], 0
    for one in said:
        start = text.index(one, place)
        place = start + len(one)
        sentences.append(sentence_of(one, start, VerdictName.QUOTED))
    return answer_of(text, sentences, answered_by=by)


def page_of(given: Answer) -> str:
    """The page's HTML without white space and what is said of tables and directions."""
    shown = [
        (f"{{{one.html}}}" if one.last else f"[{one.html}]")
        if isinstance(one, SentencePart)
        else str(one)
        for one in html_parts(given)
    ]
    html = "".join(shown).replace(' dir="auto"', "").replace("\n", "")
    around = '<div class="table-wrap" tabindex="0" role="group" aria-label="Table">'
    return html.replace(around, "").replace("</div>", "")


@pytest.mark.parametrize(("by", "text", "said", "page", "lines"), CASES)
def test_an_answer_is_drawn(
    by: str, text: str, said: Sequence[str], page: str, lines: Sequence[str]
) -> None:
    given = drawn(by, text, said)
    if page:
        assert page_of(given) == page
    out = io.StringIO()
    console = Console(file=out, width=120, highlight=False, markup=False, emoji=False)
    print_answer(console, given, seconds=0.1, detailed=False)
    printed = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert [line for line in printed if line in lines] == lines


def test_a_reply_without_an_answer_means_nothing_but_itself() -> None:
    _, text, _, _, _ = CASES[-1]
    assert page_of(answer_of(text, answered_by="none")) == (
        "<p>Is **it** a_b_c?</p><ul><li>&lt;i&gt;x&lt;/i&gt;</li></ul>"
    )


def test_signs_of_our_own_in_a_text_are_taken_out() -> None:
    planted = "\U0001da8b7\U0001da8bIt is so.\U0001da88"
    assert page_of(drawn(MODEL, planted, [planted])) == "<p>{\ufffd7\ufffdIt is so.\ufffd}</p>"


def test_a_draft_is_drawn_and_inert() -> None:
    assert str(draft_html(f"- **a**\n- {PLANTED}")).replace("\n", "") == (
        f'<ul><li dir="auto"><strong>a</strong></li><li dir="auto">{INERT}</li></ul>'
    )
