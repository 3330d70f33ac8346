"""Transcripts as meeting programs save them: text, Word files and JSON."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import docx
import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of
from wellread.types import Document, SpeakerMark, TimeMark

OTTER = (
    "Mole talk\nMon, Feb 2, 2026 2:02PM • 32:10\n\nIda Lund  0:03\nWe need a lamp.\n\n"
    "Bo Hay  1:12\nNot now.\n\nIda Lund  2:00\nIn May?\n\nTranscribed by https://otter.ai\n"
)
ZOOM = (
    "[Ida Lund] 00:00:03\nWe need a lamp.\n\n[Bo Hay] 00:01:12\nNot now.\n\n"
    "[Ida Lund] 00:02:00\nIn May?\n"
)
CHAT = "00:00:03 Ida Lund: We need a lamp.\n00:01:12 Bo Hay: Not now.\n00:02:00 Ida Lund: In May?\n"
SAID = [("Ida Lund", 3.0), ("Bo Hay", 72.0), ("Ida Lund", 120.0)]
WORDS = "We need a lamp.\n\nNot now.\n\nIn May?"


def one(name: str, data: bytes | str) -> Document:
    (document,) = kinds.load(source_of(name, data), LoaderLimits())
    return document


def turns(document: Document) -> list[tuple[str, float]]:
    speakers = [mark.speaker for mark in document.marks if isinstance(mark, SpeakerMark)]
    return list(
        zip(speakers, (m.begin for m in document.marks if isinstance(m, TimeMark)), strict=True)
    )


def word_file(paragraphs: list[str]) -> bytes:
    made, stream = docx.Document(), io.BytesIO()
    for text in paragraphs:
        made.add_paragraph(text)
    made.save(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    "text", [OTTER, ZOOM, CHAT, CHAT.replace("00:00:03 Ida Lund:", "Ida Lund (0:03):")]
)
def test_a_text_file_of_a_meeting(text: str) -> None:
    found = one("mole.txt", text)
    assert found.kind == "transcript"
    assert found.text == WORDS
    assert turns(found) == SAID


def test_speakers_may_be_numbered() -> None:
    found = one("a.txt", OTTER.replace("Ida Lund", "Speaker 1").replace("Bo Hay", "Speaker 2"))
    assert [name for name, _ in turns(found)] == ["Speaker 1", "Speaker 2", "Speaker 1"]


def test_title_and_date_stand_above_the_turns() -> None:
    found = one("a.txt", OTTER)
    assert (found.title, found.published_at) == (
        "Mole talk",
        datetime(2026, 2, 2, 14, 2, tzinfo=UTC),
    )


def test_a_word_file_of_a_meeting() -> None:
    head = ["Mole talk-20260202_140210-Meeting Recording", "2. Februar 2026, 14:02", "32m 10s"]
    said = [
        "Ida Lund   0:03\nWe need a lamp.",
        "Bo Hay   1:12\nNot now.",
        "Ida Lund   2:00\nIn May?",
    ]
    found = one("Mole talk-20260202.docx", word_file([*head, *said]))
    assert (found.kind, found.title, found.text) == ("transcript", "Mole talk", WORDS)
    assert found.published_at == datetime(2026, 2, 2, 14, 2, tzinfo=UTC)
    assert turns(found) == SAID
    older = [
        "0:0:3.0 --> 0:0:9.4\nIda Lund\nWe need a lamp.",
        "0:1:12.0 --> 0:1:20.5\nBo Hay\nNot now.",
    ]
    found = one("Mole talk-20260202.docx", word_file(older))
    assert turns(found) == SAID[:2]
    assert found.published_at == datetime(2026, 2, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Opening 9:00\nThe chair speaks.\nLamps 9:20\nA report.\nEnd 10:00\nThanks.\n",
        "Ida 9:00\nWalks.\nBo 8:00\nRuns.\nIda 7:00\nSleeps.\n",
        "Train 7:15\nTrain 8:15\nTrain 9:15\n",
        "10:00:01 INFO: lit\n10:00:02 pump: on\n10:00:03 ERROR: out\n10:00:04 ERROR: out\n",
        "The lamp burns from 6:00\nand goes out at 9:00\n",
    ],
)
def test_what_only_has_times_is_no_meeting(text: str) -> None:
    assert one("plan.txt", text).kind == "page"
    assert one("plan.docx", word_file(text.split("\n"))).kind == "page"


@pytest.mark.parametrize(
    "tree",
    [
        {
            "entries": [
                {
                    "text": "We need a lamp.",
                    "speakerDisplayName": "Ida Lund",
                    "startOffset": "00:00:03",
                },
                {"text": "Not now.", "speakerDisplayName": "Bo Hay", "startOffset": "00:01:12.0"},
            ]
        },
        [
            {
                "startDateTime": "2026-02-02T14:00:00Z",
                "speakerName": "Ida Lund",
                "spokenText": "We.",
            },
            {
                "startDateTime": "2026-02-02T14:01:09Z",
                "speakerName": "Bo Hay",
                "spokenText": "Not.",
            },
        ],
        {
            "speech": {
                "speakers": [
                    {"id": 1, "speaker_name": "Ida Lund"},
                    {"id": 2, "speaker_name": "Bo Hay"},
                ],
                "transcripts": [
                    {"speaker_id": 1, "transcript": "We need a lamp.", "start_offset": 48_000},
                    {"speaker_id": 2, "transcript": "Not now.", "start_offset": 1_152_000},
                ],
            }
        },
        {
            "turns": [
                {"speaker": {"name": "Ida Lund"}, "content": "We need a lamp.", "start": 3},
                {"speaker": {"name": "Bo Hay"}, "content": "Not now.", "start": 72},
            ]
        },
    ],
)
def test_json_of_a_meeting(tree: object) -> None:
    found = one("mole.json", json.dumps(tree))
    assert found.kind == "transcript"
    (first, begin), (second, later) = turns(found)
    assert (first, second) == ("Ida Lund", "Bo Hay")
    assert later - begin == 69


@pytest.mark.parametrize("unit", [1, 1_000, 16_000, 10_000_000])
def test_the_unit_of_times_is_that_of_speech(unit: int) -> None:
    said = [{"speaker": "Ida Lund", "text": "x" * 40, "start": n * 4 * unit} for n in range(9)]
    begins = [
        begin for begin in one("a.json", json.dumps(said)).marks if isinstance(begin, TimeMark)
    ]
    assert [mark.begin for mark in begins] == [n * 4 for n in range(9)]


def test_news_with_names_and_times_are_no_meeting() -> None:
    items = [{"text": "The lamp burns.", "name": "Ida", "timestamp": "2026-02-02"}]
    assert kinds.kind_of(source_of("a.json", json.dumps(items))) == "records"
