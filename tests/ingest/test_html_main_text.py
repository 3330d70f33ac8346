"""Which words of a page are its text, and under which heading they stand."""

from __future__ import annotations

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of
from wellread.types import Document, HeadingMark, Span
from wellread.values.locators import Marks

ARTICLE = (
    '<script type="application/ld+json">'
    '{"@context": "https://schema.org", "@type": "NewsArticle"}</script>'
)
TITLE = "<h1>Winter at the harbour</h1>"
PROSE = [
    "The harbour office keeps a list of every mooring, and owners renew their place in March.",
    "A place that is not renewed goes to the next boat on the list, which is read out in April.",
    "From November the outer buoys are lifted, since the ice would drag them under the pier.",
    "Boats of up to nine metres may lie at the inner quay, two abreast, with fenders between them.",
    "When ice forms, the bubbler runs at night, and nobody is allowed to walk on the pontoons.",
    "The crane lifts boats on the first two Saturdays of May, in the order of the list.",
    "Whoever wants to paint a hull must lay a sheet under it and take the tins home again.",
    "The office is open from eight to noon, and in summer also in the evening until seven.",
]


def paragraphs(*numbers: int) -> str:
    return "".join(f"<p>{PROSE[number]}</p>" for number in numbers)


def page(body: str, *, article: bool = False) -> Document:
    head = f"<title>Winter at the harbour | Port</title>{ARTICLE if article else ''}"
    markup = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
    (document,) = kinds.load(source_of("page.html", markup), LoaderLimits())
    return document


def heading(document: Document, quote: str) -> tuple[str, ...]:
    start = document.text.index(quote)
    return Marks(document.marks).locate(Span(start=start, end=start + len(quote))).heading


def test_headings_around_the_main_text_come_back() -> None:
    found = page(
        "<header><h1>Winter at the harbour</h1></header>"
        f"<div class='body'>{paragraphs(0, 1)}<div class='head'><h2>Ice</h2></div>"
        f"{paragraphs(2, 3)}<h3>At night</h3>{paragraphs(4, 5)}</div>"
    )
    assert heading(found, PROSE[0]) == ("Winter at the harbour",)
    assert heading(found, PROSE[3]) == ("Winter at the harbour", "Ice")
    assert heading(found, PROSE[5]) == ("Winter at the harbour", "Ice", "At night")


def test_the_heading_of_a_box_ends_with_the_box() -> None:
    found = page(
        f"<main>{TITLE}{paragraphs(0, 1)}"
        "<aside><h2>Did you know?</h2><p>The crane was built by the men of the harbour.</p></aside>"
        f"{paragraphs(2, 3)}<section><h2>Ice</h2>{paragraphs(4, 5)}</section>{paragraphs(6, 7)}"
        "</main>"
    )
    assert heading(found, PROSE[2]) == ("Winter at the harbour",)
    assert heading(found, PROSE[4]) == ("Winter at the harbour", "Ice")
    assert heading(found, PROSE[6]) == ("Winter at the harbour",)


@pytest.mark.parametrize(
    "attributes",
    [
        'style="display: none"',
        "hidden",
        'class="sr-only"',
        'class="note visually-hidden"',
        'aria-hidden="true"',
    ],
)
def test_what_a_browser_hides_is_hidden_on_short_pages_too(attributes: str) -> None:
    found = page(f"<p>High at six.</p><p {attributes}>Buy the calendar.</p><p>Low at noon.</p>")
    assert found.text == "High at six.\n\nLow at noon."


def test_a_short_page_is_taken_without_its_navigation() -> None:
    found = page("<nav><p>Home</p></nav><p>High at six.</p><footer><p>Imprint</p></footer>")
    assert found.text == "High at six."
    assert found.source_type == "html-full"


def test_a_page_of_a_manual() -> None:
    found = page(
        '<div class="related" role="navigation"><p>Index of all pages</p></div><div role="main">'
        '<section><h1>Tides<a class="headerlink" href="#tides">¶</a></h1><p>High at six.</p>'
        '<section><h2>In winter<a href="#winter">#</a></h2><pre>tide --winter\ntide --all</pre>'
        '</section><section><h2>See also</h2><p><a href="#winter">In winter</a></p></section>'
        '</section></div><div class="footer">Made with a tool.</div>'
    )
    assert found.text == (
        "Tides\n\nHigh at six.\n\nIn winter\n\ntide --winter\ntide --all\n\nSee also\n\nIn winter"
    )
    paths = [mark.path for mark in found.marks if isinstance(mark, HeadingMark)]
    assert paths == [("Tides",), ("Tides", "In winter"), ("Tides", "See also")]


def test_tables_of_values_are_rows_and_tables_for_layout_are_walked() -> None:
    found = page(
        f"<table><tr><td>{TITLE}{paragraphs(0, 1, 2)}"
        "<table><tr><th>Day</th><th>High</th></tr><tr><td>Monday</td><td>six</td></tr></table>"
        f"{paragraphs(3, 4)}</td></tr></table>"
    )
    assert "Day | High\nMonday | six" in found.text
    assert heading(found, PROSE[4]) == ("Winter at the harbour",)


def folded(body: str) -> tuple[str, list[str]]:
    markup = f"<!doctype html><html><head><title>Asked</title></head><body>{body}</body></html>"
    source = source_of("asked.html", markup)
    (document,) = kinds.load(source, LoaderLimits())
    return document.text, source.remarks


@pytest.mark.parametrize(
    "panel",
    [
        "<h2><button>Who winds the clock?</button></h2><div hidden><p>{}</p></div>",
        "<dl><dt><button>Who winds the clock?</button></dt><dd hidden>{}</dd></dl>",
        '<h2>Who winds the clock?</h2><button aria-controls="a">+</button><p>Below.</p>'
        '<div id="a" hidden><p>{}</p></div>',
    ],
)
def test_a_panel_that_a_button_opens_is_read(panel: str) -> None:
    text, remarks = folded(panel.format("The sexton winds it on Sundays after the service."))
    assert "Who winds the clock?" in text
    assert "The sexton winds it on Sundays" in text
    assert remarks == []


def test_menus_and_other_hidden_text_stay_out_and_much_of_it_is_told() -> None:
    menu = '<button>Menu</button><ul hidden><li><a href="/a">Sexton</a></li></ul>'
    text, remarks = folded(
        f"{menu}<p>The clock strikes.</p><div hidden>{'Nobody sees this plan. ' * 20}</div>"
    )
    assert "Sexton" not in text
    assert "Nobody" not in text
    assert remarks == ["96% of the page's text is hidden and left out"]


def test_a_short_value_stands_beside_its_name() -> None:
    found = page(
        f"<main><h1>Winter at the harbour</h1>{paragraphs(0, 1)}"
        "<dl><dt>Pilot</dt><dd>555 3030</dd>"
        "<dt>Open</dt><dd><p>daily</p><p>not in May</p></dd></dl>"
        "</main>"
    )
    assert "\n\nPilot: 555 3030\n\nOpen\n\ndaily\n\nnot in May" in found.text
