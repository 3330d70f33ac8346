"""What a page says about an answer: its extracts as cards, and how sure it is in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Literal

import httpx
import pytest
from markupsafe import Markup
from tests.doubles.answers import answer_of, citation_of, sentence_of
from tests.serve.test_answer_blocks import CASES, drawn

from wellread.kb import KnowledgeBase
from wellread.serve.web.answer_parts import answer_blocks, sureness
from wellread.values.answer_blocks import SentencePart, html_parts
from wellread.values.answers import Answer, Confidence, Conflict, Sentence, VerdictName

MAX_SCRIPT_BYTES = 60_000
TEXT = (
    "Based on limited information:\n\n**The log:** It may have sunk.[1]\n\n**Later**\n\n"
    "It was found.\n\nIt was sold.[2]\n\nConsider adding more content."
)


def quoted(text: str, cited: int, *, within: bool = False) -> Sentence:
    sentence = sentence_of(text, TEXT.index(text), VerdictName.QUOTED, cited)
    return replace(sentence, within=within)


def html_of(parts: Iterable[Markup | SentencePart]) -> str:
    said = (part.html if isinstance(part, SentencePart) else part for part in parts)
    return "".join("".join(said).split())


@pytest.mark.parametrize(("by", "text", "said", "page", "lines"), CASES)
def test_nothing_of_an_answer_is_lost_or_moved(
    by: str, text: str, said: Sequence[str], page: str, lines: Sequence[str]
) -> None:
    given = drawn(by, text, said)
    blocks = answer_blocks(given)
    assert html_of(part for block in blocks for part in block.parts) == html_of(html_parts(given))


def test_each_extract_is_a_card_with_the_headings_above_it() -> None:
    said = (
        quoted("It may have sunk.", 1),
        quoted("It was found.", 2, within=True),
        quoted("It was sold.", 2),
    )
    cited = (citation_of(1), citation_of(2))
    blocks = answer_blocks(answer_of(TEXT, said, cited))
    assert [[one.id for one in block.citations] for block in blocks] == [[], [1], [2], []]
    assert [html_of(block.parts) for block in blocks[1:3]] == [
        '<pdir="auto"><strong>Thelog:</strong>Itmayhavesunk.</p>',
        '<pdir="auto"><strong>Later</strong></p><pdir="auto">Itwasfound.</p>'
        '<pdir="auto">Itwassold.</p>',
    ]
    written = answer_blocks(answer_of(TEXT, said, cited, answered_by="a model"))
    assert [block.citations for block in written] == [()]


Band = Literal["high", "medium", "low", "none"]


def judged(*names: str, by: str = "a model", band: Band = "high", cited: int = 2) -> Answer:
    sentences = [
        sentence_of("It sank.", 9 * at, VerdictName(name)) for at, name in enumerate(names)
    ]
    citations = [citation_of(number) for number in range(1, cited + 1)]
    confidence = Confidence(score=0.5, band=band, reasoning="")
    return answer_of("", sentences, citations, answered_by=by, confidence=confidence)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            judged("quoted", "quoted"),
            "Sure. Two sources say this directly. 2 of 2 sentences are quoted word for word",
        ),
        (
            judged("supported", by="extractive", band="medium", cited=1),
            "Fairly sure. One source probably answers this. 1 of 1 sentence is borne out by its"
            " source",
        ),
        (
            judged("quoted", "partial", "unsupported", "uncited", "not_checked", "not_checked"),
            "Sure. Two sources say this directly; one sentence is only partly borne out; one"
            " sentence is not borne out; one sentence has no source; two sentences were not"
            " checked. 1 of 6 sentences are quoted word for word",
        ),
        (
            replace(judged("supported", band="low"), conflicts=(Conflict(about="when"),)),
            "Not sure. Two sources are about this but may not answer it; the sources"
            " differ. 1 of 1 sentence is borne out by its source",
        ),
        (judged(by="none", band="none"), "No answer. Nothing in the material answers this. "),
        (judged("supported", by="catalogue"), "Sure. Counted over everything in the catalogue. "),
        (
            judged("quoted", by="past answer"),
            "Sure. An expert judged this answer before. 1 of 1 sentence is quoted word for word",
        ),
    ],
)
def test_how_sure_an_answer_is_in_words(given: Answer, said: str) -> None:
    assert " ".join(sureness(given)) == said


async def test_only_trouble_is_named_after_its_sentence(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    names = ("quoted", "supported", "partial", "uncited", "unsupported", "not_checked", "partial")
    said = [f"Sentence of {name}, {at}." for at, name in enumerate(names)]
    text, sentences = " ".join(said), []
    for words, name in zip(said, names, strict=True):
        sentences.append(sentence_of(words, text.index(words), VerdictName(name)))
    amount = replace(sentences[-1].verdict, method="number", reason="the number 6 is nowhere")
    sentences[-1] = replace(sentences[-1], verdict=amount)
    kb.catalogue.record_answer(answer_of(text, sentences, answered_by="a model"))
    page = (await client.get("/answers/ans_1", headers={"accept": "text/html"})).text
    shown = page.partition('<div class="said">')[2].partition("</div>")[0]
    told = re.findall(r'class="trouble.*?</span> (.*?)</span>', shown)
    amount_told = "an amount that stands in no source"
    assert told == ["only partly borne out", "no source", "not borne out", amount_told]
    assert "<q>Sentence of partial, 6.</q> The number 6 is nowhere." in page


def test_the_scripts_of_all_pages_are_small() -> None:
    scripts = files("wellread.serve.web").joinpath("static").iterdir()
    sizes = [len(one.read_bytes()) for one in scripts if one.name.endswith(".js")]
    assert 10_000 < sum(sizes) <= MAX_SCRIPT_BYTES
