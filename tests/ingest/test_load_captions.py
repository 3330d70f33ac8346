"""Captions: WebVTT with voices, SRT with names in front, SBV."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document, SpeakerMark, TimeMark

VTT = """WEBVTT
title: Night at the lock
language: EN

NOTE date: 2024/06/01

1
00:00:12.000 --> 00:00:15.500
<v Ida Lund>The lock opens
at dawn &amp; closes at dusk.

00:00:15.500 --> 00:00:19.000
<v.loud Tor Vik>Who turns the wheel?

01:02:03.250 --> 01:02:05.000
<v Ida Lund>We {\\an8}<i>both</i> do.
"""

SRT = """1
00:00:01,000 --> 00:00:03,000
Ida: The net is torn.

2
00:00:03,500 --> 00:00:06,000
We mend it on Monday.

3
00:00:06,500 --> 00:00:08,000
Tor: I bring the twine.

4
00:00:09,000 --> 00:00:10,000
Ida: Good.

5
00:00:11,000 --> 00:00:12,000
Tor: And the coffee.
"""

SBV = """0:00:01.000,0:00:03.000
The crane lifts two tonnes

0:00:03.000,0:00:05.500
and no more than that.

0:01:15.000,0:01:17.000
After a long pause we go on.
"""


def load(name: str, content: str) -> Document:
    (document,) = kinds.load(source_of(name, content), LoaderLimits())
    return document


class TestVtt(LoaderContract):
    good = source_of("lock.vtt", VTT)
    expected_kind = "transcript"
    quotes = (
        ("The lock opens at dawn & closes at dusk.", {"speaker": "Ida Lund", "begin": 12.0}),
        ("Who turns the wheel?", {"speaker": "Tor Vik", "begin": 15.5}),
        ("We both do.", {"speaker": "Ida Lund", "begin": 3723.25, "label": "1:02:03 · Ida Lund"}),
    )
    broken = (
        source_of("head.vtt", VTT.removeprefix("WEBVTT\n")),
        source_of("time.vtt", VTT.replace("00:00:15.500 -->", "00:00:1x.500 -->")),
        source_of("none.vtt", "WEBVTT\n\nNOTE nothing was said\n"),
    )


class TestSrt(LoaderContract):
    good = source_of("net.srt", SRT)
    expected_kind = "transcript"
    quotes = (
        ("The net is torn. We mend it on Monday.", {"speaker": "Ida", "begin": 1.0}),
        ("We mend it", {"speaker": "Ida", "begin": 3.5}),
        ("I bring the twine.", {"speaker": "Tor", "begin": 6.5}),
    )
    broken = (
        source_of("time.srt", SRT.replace(",500", ";500")),
        source_of("words.srt", "Only words, no times.\n"),
    )


class TestSbv(LoaderContract):
    good = source_of("crane.sbv", SBV)
    expected_kind = "transcript"
    quotes = (
        ("The crane lifts two tonnes and no more than that.", {"begin": 1.0, "speaker": None}),
        ("and no more", {"begin": 3.0}),
        ("After a long pause", {"begin": 75.0}),
    )
    broken = (
        source_of("time.sbv", SBV.replace("0:00:05.500", "0:00:05.f")),
        source_of("words.sbv", "Only words, no times.\n"),
    )


def test_the_notes_in_front_become_facts() -> None:
    talk = load("lock.vtt", VTT)
    assert (talk.title, talk.language) == ("Night at the lock", "en")
    assert talk.published_at is not None
    assert talk.published_at.date().isoformat() == "2024-06-01"


def test_scrolling_captions_are_read_once() -> None:
    lines = [f"line number {count}" for count in range(6)]
    cues = "\n\n".join(
        f"00:00:0{n}.000 --> 00:00:0{n + 1}.000\n{lines[n]}\n{lines[n + 1]}" for n in range(5)
    )
    assert load("rolling.vtt", f"WEBVTT\n\n{cues}\n").text == " ".join(lines)


@pytest.mark.parametrize("prefix", ["Note", "Warning", "the tide"])
def test_a_label_is_no_speaker(prefix: str) -> None:
    cues = "\n\n".join(
        f"{n + 1}\n00:00:0{n},000 --> 00:00:0{n + 1},000\n{prefix}: mind the gap." for n in range(3)
    )
    talk = load("labels.srt", cues)
    assert not [mark for mark in talk.marks if isinstance(mark, SpeakerMark)]
    assert talk.text.startswith(f"{prefix}: mind")


ODD_FORMS = {
    "hourless.srt": "1\n00:01,000 --> 00:03,500\nOil it.\n\n2\n00:04,000 --> 00:06,000\nTwice.",
    "comma.vtt": "WEBVTT\n\n00:00:01,000 --> 00:00:03\nOil it.\n\n00:04 --> 00:06\nTwice.\n",
    "blank.vtt": "WEBVTT\n\n00:01.000 --> 00:03.000\n\nOil it.\n\n00:04.000 --> 00:06.000\n\n"
    "Twice.\n\nNOTE not said",
    "named.vtt": "WEBVTT\n\nstart\n00:01.000 --> 00:03.000\nOil it.\n\nend\n"
    "00:04.000 --> 00:06.000\nTwice.\n",
    "tight.srt": "1\n00:00:01 --> 00:00:03\nOil it.\n2\n00:00:04 --> 00:00:06\nTwice.\n",
}


@pytest.mark.parametrize("name", ODD_FORMS)
def test_times_are_read_as_programs_write_them(name: str) -> None:
    document = load(name, ODD_FORMS[name])
    assert document.text == "Oil it. Twice."
    assert [mark.begin for mark in document.marks if isinstance(mark, TimeMark)] == [1.0, 4.0]


def test_a_caption_with_an_odd_time_is_left_out_and_told() -> None:
    cues = [f"00:{n:02}.000 --> 00:{n:02}.900\nPart {n}.\n" for n in range(20)]
    cues[7] = cues[7].replace("00:07.900", "00:0x.900")
    source = source_of("parts.vtt", "WEBVTT\n\n" + "\n".join(cues))
    (document,) = kinds.load(source, LoaderLimits())
    assert "Part 6. Part 8." in document.text
    assert source.remarks[0] == "1 of 20 captions left out: malformed time on line 24"


def test_words_that_captions_repeat_stand_once() -> None:
    rolling = (
        "we soak the reed for an hour",
        "reed for an hour yeah",
        "yeah and we bend it slowly",
        "and we bend it slowly over steam",
    )
    times = [f"00:{n:02}.000 --> 00:{n + 3:02}.000" for n in (1, 3, 6, 9)]
    cues = zip(times, rolling, strict=True)
    document = load("reed.vtt", "WEBVTT\n\n" + "\n\n".join("\n".join(cue) for cue in cues))
    expected = "we soak the reed for an hour yeah yeah and we bend it slowly over steam"
    assert document.text == expected
    assert [mark.begin for mark in document.marks if isinstance(mark, TimeMark)] == [1, 3, 6, 9]


def test_a_json_beside_the_captions_tells_of_the_recording(tmp_path: Path) -> None:
    told = {"title": "Reeds", "upload_date": "20240503", "webpage_url": "https://reeds.example/1"}
    (tmp_path / "reeds [x1].info.json").write_text(json.dumps(told))
    words = "WEBVTT\n\nNOTE title: Soaking reeds\n\n00:01.000 --> 00:03.000\nSoak it.\n"
    source = source_of("reeds [x1].en.vtt", words)
    (document,) = kinds.load(replace(source, path=tmp_path / source.name), LoaderLimits())
    assert document.title == "Soaking reeds"
    assert document.published_at == datetime(2024, 5, 3, tzinfo=UTC)
    assert document.media_url == "https://reeds.example/1"
    assert source.remarks == []
    (undated,) = kinds.load(source, LoaderLimits())
    assert undated.published_at is None
    assert source.remarks == ["no date: searches by time will not find it"]
