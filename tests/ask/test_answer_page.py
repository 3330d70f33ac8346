"""An answer as one HTML file: all of its proof, nothing from elsewhere, no markup of a source."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st
from lxml import html

from wellread.answers import (
    Answer,
    Citation,
    Confidence,
    Conflict,
    Sentence,
    Table,
    Verdict,
    VerdictName,
    View,
)
from wellread.library.answer_page import STALE, answer_page, web_link
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.text.words import harmless
from wellread.types import Locator, Span

TEXT = (
    "Based on limited information: The ferry <b>sank</b>. [1] [2]\n"
    "\n"
    "## Why\n"
    "- It was old. [2]\n"
    "- It rained.\n"
    "\n"
    "2. Nobody drowned.\n"
    "# 1 on board was a cat.\n"
)
SAID = {
    "The ferry <b>sank</b>.": (VerdictName.SUPPORTED, (1, 2), "word for word"),
    "It was old.": (VerdictName.PARTIAL, (2, 9), "its age is not told"),
    "It rained.": (VerdictName.UNCITED, (), ""),
    "Nobody drowned.": (VerdictName.UNSUPPORTED, (), ""),
    "# 1 on board was a cat.": (VerdictName.NOT_CHECKED, (), ""),
}
STORED = StoredAnswer(
    id="ans_1",
    question="Why?",
    session_id="",
    answered_by="gpt-9",
    confidence=0.5,
    created_at=datetime(2026, 1, 5, 7, 30, tzinfo=UTC),
    stale=False,
    owner="",
)


def sentence(text: str) -> Sentence:
    name, citations, reason = SAID[text]
    start = TEXT.index(text)
    return Sentence(
        text=text,
        span=Span(start=start, end=start + len(text)),
        verdict=Verdict(name=name, method="support", score=0.5, reason=reason),
        citations=citations,
    )


def citation(number: int, link: str, label: str, quote: str) -> Citation:
    return Citation(
        id=number,
        document_id=f"doc_{number}",
        version="v",
        title=f"Source {number} <i>",
        url=link,
        link=link,
        kind="page",
        source_type="html",
        published_at=datetime(2025, 12, number, tzinfo=UTC),
        relevance=1.0,
        locator=Locator(label=label),
        quote=quote,
        answer_span=Span(start=0, end=1),
        source_span=Span(start=0, end=1),
        verdict=VerdictName.SUPPORTED if number == 1 else VerdictName.PARTIAL,
    )


ANSWER = Answer(
    id="ans_1",
    question="Why did the <ferry> sink?",
    text=TEXT,
    citations=(
        citation(1, "https://a.example/x?a=1&b=2", "p. 5", "It <script>alert(1)</script> sank."),
        citation(2, "javascript:alert(1)", "§ Age", "It was old."),
    ),
    sentences=tuple(sentence(text) for text in SAID),
    confidence=Confidence(score=0.5, band="medium", reasoning="two sources, one <weak>"),
    answered_by="gpt-9",
    standalone="Why did the ferry Osprey sink?",
    fallback="gpt-10 was out of reach",
    data_gaps=("who owned it",),
    conflicts=(
        Conflict(
            about="its age",
            views=(View(text="ninety", citations=(1,)), View(text="seven", citations=(2, 9))),
            reason="one counts months",
        ),
    ),
    table=Table(columns=("Year", "Ferries"), rows=(("2020", "<2>"), ("2021", "3")), method="by a"),
)


def page(answer: Answer = ANSWER, stored: StoredAnswer = STORED) -> html.HtmlElement:
    return html.document_fromstring(answer_page(stored, answer))


def texts(found: html.HtmlElement, path: str) -> list[str]:
    return [" ".join(str(one.text_content()).split()) for one in found.xpath(path)]


def section(found: html.HtmlElement, title: str) -> list[str]:
    return texts(found, f"//section[h2='{title}']")


# --- what is in it ---------------------------------------------------------------------------


def test_every_sentence_has_its_verdict_in_word_and_symbol() -> None:
    found = page()
    assert texts(found, "//section[@class='text']/*") == [
        "Based on limited information: The ferry <b>sank</b>. [1] [2] ✓ supported",
        "Why",
        "It was old. [2] ~ partly supported (its age is not told) It rained. ? uncited",
        "Nobody drowned. ✗ unsupported # 1 on board was a cat. · not checked",
    ]
    tags = [str(one.tag) for one in found.xpath("//section[@class='text']/*")]
    assert tags == ["p", "h2", "ul", "ol"]
    assert texts(found, "//span[@class='sentence']") == list(SAID)
    assert found.xpath("//section[@class='text']/ol/@start") == ["2"]


def test_citations_lead_to_the_list_of_sources() -> None:
    found = page()
    targets = [str(link)[1:] for link in found.xpath("//a/@href") if str(link).startswith("#")]
    assert targets == ["source-1", "source-2", "source-2", "source-1", "source-2"]
    assert set(targets) <= set(found.xpath("//ol/li/@id"))
    first, second = texts(found, "//section[@class='sources']/ol/li")
    assert first == (
        "Source 1 <i> page html 2025-12-01 p. 5 ✓ supported It <script>alert(1)</script> sank."
    )
    assert second == (
        "Source 2 <i> page html 2025-12-02 § Age ~ partly supported javascript:alert(1) It was old."
    )
    assert texts(found, "//blockquote") == [one.quote for one in ANSWER.citations]


def test_what_belongs_to_the_answer_stands_beside_it() -> None:
    found = page()
    assert texts(found, "//h1") == ["Why did the <ferry> sink?"]
    assert texts(found, "//header/p") == [
        "Understood as: Why did the ferry Osprey sink?",
        "Answered by gpt-9 2026-01-05 07:30 UTC",
        "gpt-10 was out of reach",
    ]
    assert section(found, "Confidence") == [
        "Confidence 0.50 (medium): two sources, one <weak>",
    ]
    assert section(found, "What is missing") == ["What is missing who owned it"]
    assert section(found, "Where sources disagree") == [
        "Where sources disagree its age (one counts months) ninety [1] seven [2]"
    ]
    assert [texts(row, "*") for row in found.xpath("//tr")] == [
        ["Year", "Ferries"],
        ["2020", "<2>"],
        ["2021", "3"],
    ]
    assert "How it was worked out: by a" in texts(found, "//section[@class='wide']/p")


def test_what_an_answer_lacks_has_no_heading() -> None:
    bare = replace(
        ANSWER,
        answered_by="none",
        text="The sources do not say.\n* This is a title.",
        citations=(),
        sentences=(),
        standalone="",
        fallback="",
        data_gaps=(),
        conflicts=(),
        table=None,
    )
    found = page(bare)
    assert texts(found, "//h2 | //h3") == ["Confidence"]
    assert texts(found, "//header/p") == ["Declined 2026-01-05 07:30 UTC"]
    assert texts(found, "//section[@class='text']/p") == [
        "The sources do not say. * This is a title."
    ]
    assert found.xpath("//table | //ol | //ul") == []


def test_a_stale_answer_says_so() -> None:
    assert STALE not in answer_page(STORED, ANSWER)
    assert texts(page(stored=replace(STORED, stale=True)), "//p[@class='notice']") == [
        f"Stale. {STALE}"
    ]


# --- what is not in it -----------------------------------------------------------------------


def test_nothing_is_loaded_and_nothing_runs() -> None:
    text, found = answer_page(STORED, ANSWER), page()
    assert found.xpath("//script | //link | //img | //iframe | //form | //object") == []
    assert found.xpath("//@src | //@style | //@srcset | //@*[starts-with(name(), 'on')]") == []
    assert re.findall(r"url\(|@import|@font-face", text) == []
    (policy,) = found.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert str(policy).startswith("default-src 'none'; style-src 'unsafe-inline';")
    links = [str(link) for link in found.xpath("//a/@href") if not str(link).startswith("#")]
    assert links == ["https://a.example/x?a=1&b=2"]


def test_it_is_fit_for_a_dark_screen_and_for_paper() -> None:
    text = answer_page(STORED, ANSWER)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "@media screen and (prefers-color-scheme: dark)" in style
    assert "@media print" in style
    # Every colour is one of the variables, so that no part keeps that of the other scheme.
    rules = re.sub(r"(?m)^.*--\w+: #.*$", "", style)
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgb|\b(?:white|black)\b(?!-)", rules) == []
    named = [set(re.findall(r"(--\w+): #", part)) for part in style.split("@media")]
    assert named[0] == named[1] == named[2]
    assert set(re.findall(r"var\((--\w+)\)", style)) == named[0]


@pytest.mark.parametrize(
    ("link", "followed"),
    [
        ("https://a.example/x", True),
        ("HTTP://a.example", True),
        (" https://a.example/x ", True),
        ("javascript:alert(1)", False),
        ("java\nscript:alert(1)", False),
        ("data:text/html,x", False),
        ("file:///etc/passwd", False),
        ("//a.example/x", False),
        ("https:", False),
        ("http://[", False),
        ("papers/a.pdf", False),
        ("", False),
    ],
)
def test_only_links_of_the_web_are_followed(link: str, followed: bool) -> None:
    assert web_link(link) == (link.strip() if followed else "")


@examples(st.text(max_size=40))
def test_no_text_is_markup_or_lost(said: str) -> None:
    spoken = f"x{said}x"
    one = replace(
        ANSWER.sentences[0], text=spoken, span=Span(start=2, end=2 + len(spoken)), citations=()
    )
    given = replace(
        ANSWER,
        answered_by="extractive",
        text=f"- {spoken}\n",
        sentences=(one,),
        question=spoken,
    )
    text = answer_page(STORED, given)
    body = text.partition('<section class="text"')[2].partition("</section>")[0]
    tags = [name for name in re.findall(r"<(\w+)", body) if name != "br"]
    assert tags == ["ul", "li", "span", "span", "span"]
    shown = texts(page(given), "//span[@class='sentence']")
    assert shown == [" ".join(harmless(spoken).split())]
