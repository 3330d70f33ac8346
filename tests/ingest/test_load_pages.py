"""HTML pages and plain text."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document, HeadingMark

PARAGRAPH = (
    "The harbour office keeps a list of every mooring. Owners renew their place in March and "
    "pay\n      at the desk; a place that is not renewed goes to the next boat on the list."
)
PAGE = f"""<!DOCTYPE html><html lang="en"><head><title>Moorings | Harbour</title>
<style>p {{ color: red }}</style></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/news">Harbour news index</a></li></ul></nav>
<main><article><h1>Moorings</h1><p>{PARAGRAPH}</p>
<h2>Winter rules</h2><p>From November the outer buoys are lifted. Boats of up to nine metres may
lie at the inner quay, two abreast, with fenders on both sides.</p>
<ul><li>Bring your own fenders.</li><li>Leave the ladder free.</li></ul>
<h3>Ice</h3><p>When ice forms, the bubbler runs at night, and nobody walks on the pontoons.</p>
<script>var hidden = "no reader sees this";</script></article></main>
<footer><p><a href="/imprint">Imprint of the harbour</a></p></footer></body></html>
"""

NOTES = """Harbour log

The north wind rose in the afternoon and the masters of the
two trawlers asked for a second line. Repairs to the storm-
damaged quay go on, and no boat may lie there before the
spring.

To do:
- check the fenders on the inner quay and the long ladder
  beside the crane
- pay the diver

Boat            Length      Berth number on the plan
Kittiwake       27 metres   berth number four inside
"""


def load(name: str, content: str) -> Document:
    (document,) = kinds.load(source_of(name, content), LoaderLimits())
    return document


class TestHtml(LoaderContract):
    good = source_of("moorings.html", PAGE)
    expected_kind = "page"
    quotes = (
        (" ".join(PARAGRAPH.split()), {"heading": ("Moorings",)}),
        ("Boats of up to nine metres may lie", {"heading": ("Moorings", "Winter rules")}),
        ("- Leave the ladder free.", {"heading": ("Moorings", "Winter rules")}),
        ("the bubbler runs", {"heading": ("Moorings", "Winter rules", "Ice")}),
    )
    broken = (
        source_of("empty.html", "<html><head><title>Nothing</title></head><body></body></html>"),
        source_of("script.html", "<html><body><script>run()</script></body></html>"),
    )


class TestText(LoaderContract):
    good = source_of("log.txt", NOTES)
    expected_kind = "page"
    quotes = (
        ("the masters of the two trawlers asked for a second line.", {"line": 3}),
        ("two trawlers", {"line": 4}),
        ("the storm-damaged quay go on", {"line": 4}),
        ("spring.", {"line": 6}),
        ("- check the fenders on the inner quay and the long ladder beside the crane", {"line": 9}),
        ("- pay the diver", {"line": 11}),
        ("Kittiwake       27 metres", {"line": 14}),
    )
    broken = (source_of("bytes.txt", bytes(range(256))), source_of("blank.txt", " \n\t\n"))


def test_the_sample_page_keeps_its_headings_and_nothing_else() -> None:
    data = (files("wellread.sample") / "pages" / "tool-library-rules.html").read_bytes()
    (page,) = kinds.load(source_of("tool-library-rules.html", data), LoaderLimits())
    paths = [mark.path for mark in page.marks if isinstance(mark, HeadingMark)]
    assert ("Lending rules", "Borrowing", "Heavy tools") in paths
    assert [path[-1] for path in paths] == re.findall(
        r"<h[1-3]>([^<]+)</h", data.decode().partition("<aside>")[0]
    )
    assert "Tuesday | 16:00 to 19:00" in page.text
    for boilerplate in ("Catalogue", "cookie", "News from the loft", "Privacy"):
        assert boilerplate not in page.text


def test_a_page_without_a_main_text_is_taken_whole() -> None:
    page = load("bare.html", "<html><body><h2>Tides</h2>High at\nsix<br>Low at noon</body></html>")
    assert page.text.endswith("High at six\nLow at noon")


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        pytest.param("a short line\nanother one", "a short line\nanother one", id="short"),
        pytest.param(f"{'word ' * 12}end\nnext word", f"{'word ' * 12}end next word", id="full"),
        pytest.param(
            f"{'word ' * 12}end\n1. next", f"{'word ' * 12}end\n1. next", id="numbered item"
        ),
        pytest.param(
            f"{'word ' * 12}end\n    indented", f"{'word ' * 12}end\n    indented", id="indent"
        ),
        pytest.param(
            f"{'word ' * 10}end\nRoom for it\n{'word ' * 14}end",
            f"{'word ' * 10}end\nRoom for it\n{'word ' * 14}end",
            id="the next word had room",
        ),
        pytest.param(
            f"{'word ' * 60}end\n{'Other ' * 40}end",
            f"{'word ' * 60}end\n{'Other ' * 40}end",
            id="paragraphs on a line each",
        ),
    ],
)
def test_only_wrapped_lines_are_joined(given: str, stored: str) -> None:
    assert load("lines.txt", given).text == stored
