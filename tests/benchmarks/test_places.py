"""The independent checks of locators: right places pass, planted wrong ones are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.place_words import Check

from benchmarks import places_lines, places_pages, places_timed
from wellread.types import Locator

MARKDOWN = """---
title: Boats
---
Intro words that stand under no heading.

# Harbour

The [old ferry][1] leaves at six
every morning of the week.

## Winter

**Ida Brandt**: In winter the boat stays in the harbour until eight.
"""
CAPTIONS = """WEBVTT

00:00:01.000 --> 00:00:04.000
<v Ida Brandt>Good evening and welcome to the Assembly Rooms.

00:00:05.000 --> 00:00:09.000
<v Tomas Reyle>The turbine stopped because the pump had failed.
"""
FEED = """<rss version="2.0"><channel><title>Herald</title>
<item><title>One</title><link>https://herald.example/1</link>
<description>&lt;p&gt;The pump had &lt;b&gt;failed&lt;/b&gt; in the night.&lt;/p&gt;</description>
</item>
<item><title>Two</title><link>https://herald.example/2</link>
<description>Nothing happened.</description></item></channel></rss>"""
PAGE = """<html><head><title>Rules</title></head><body><h1>Rules</h1><p>They apply.</p>
<h2>Fees</h2><p>A late tool costs <b>one euro</b> per day.</p></body></html>"""


def wrong_with(check: Check) -> Callable[[Path, str, Locator, str], str]:
    """The check with its findings in one line; empty when all is right."""

    def told(path: Path, quote: str, locator: Locator, address: str) -> str:
        return "; ".join(fault for fault in check(path, quote, locator, address).values() if fault)

    return told


in_captions = wrong_with(places_timed.in_captions)
in_feed = wrong_with(places_pages.in_feed)
in_html = wrong_with(places_pages.in_html)
in_markdown = wrong_with(places_lines.in_markdown)
in_records = wrong_with(places_lines.in_records)
in_text = wrong_with(places_lines.in_text)


def place(
    line: int | None = None,
    heading: tuple[str, ...] = (),
    begin: float | None = None,
    speaker: str | None = None,
) -> Locator:
    return Locator(label="", line=line, heading=heading, begin=begin, speaker=speaker)


@pytest.fixture
def markdown(tmp_path: Path) -> Path:
    path = tmp_path / "boats.md"
    path.write_text(MARKDOWN, encoding="utf-8")
    return path


FERRY = "The old ferry leaves at six every morning"
WINTER = "In winter the boat stays in the harbour"


def test_markdown_at_its_place(markdown: Path) -> None:
    assert in_markdown(markdown, FERRY, place(8, ("Harbour",)), "") == ""
    assert in_markdown(markdown, "Intro words that stand", place(4), "") == ""
    speaker = place(13, ("Harbour", "Winter"), speaker="Ida Brandt")
    assert in_markdown(markdown, WINTER, speaker, "") == ""


@pytest.mark.parametrize(
    ("quote", "wrong", "said"),
    [
        (FERRY, place(8, ("Harbour", "Winter")), "stands under 'Harbour'"),
        (FERRY, place(4, ("Harbour",)), "stands on line 8"),
        (FERRY, place(None, ("Harbour",)), "no line"),
        (WINTER, place(13, ("Winter",), speaker="Tomas Reyle"), "said by 'Ida Brandt'"),
        ("The new ferry leaves at seven", place(8, ("Harbour",)), "not in the file"),
    ],
)
def test_markdown_at_a_wrong_place(markdown: Path, quote: str, wrong: Locator, said: str) -> None:
    assert said in in_markdown(markdown, quote, wrong, "")


def test_captions(tmp_path: Path) -> None:
    path = tmp_path / "meeting.vtt"
    path.write_text(CAPTIONS, encoding="utf-8")
    quote = "The turbine stopped because the pump had failed."
    assert in_captions(path, quote, place(begin=5.0, speaker="Tomas Reyle"), "") == ""
    early = in_captions(path, quote, place(begin=1.0, speaker="Tomas Reyle"), "")
    assert "said at 5.0 s" in early
    assert "said by" in in_captions(path, quote, place(begin=5.0, speaker="Ida Brandt"), "")
    assert in_captions(path, "Nobody said that here.", place(begin=5.0), "") != ""


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    lines = [{"text": "The boat is late."}, {"text": "The pump\n\nhad failed."}]
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    assert in_records(path, "The pump had failed.", place(2), "") == ""
    assert in_records(path, "The pump had failed.", place(1), "") != ""
    assert in_records(path, "The pump had failed.", place(3), "") != ""


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("First line of the notes.\n\nSecond line of the notes.\n", encoding="utf-8")
    assert in_text(path, "Second line of the notes.", place(3), "") == ""
    assert in_text(path, "Second line of the notes.", place(1), "") != ""


def test_feed(tmp_path: Path) -> None:
    path = tmp_path / "herald.xml"
    path.write_text(FEED, encoding="utf-8")
    quote = "The pump had failed in the night."
    assert in_feed(path, quote, place(), "https://herald.example/1") == ""
    assert in_feed(path, quote, place(), "https://herald.example/2") != ""
    assert "no entry" in in_feed(path, quote, place(), "https://herald.example/3")


def test_html(tmp_path: Path) -> None:
    path = tmp_path / "rules.html"
    path.write_text(PAGE, encoding="utf-8")
    quote = "A late tool costs one euro per day."
    assert in_html(path, quote, place(heading=("Rules", "Fees")), "") == ""
    assert in_html(path, quote, place(heading=("Rules",)), "") != ""
    assert in_html(path, quote, place(), "") != ""
    assert in_html(path, "They apply.", place(), "") == ""
