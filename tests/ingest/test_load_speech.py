"""The JSON of speech-to-text tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document, SpeakerMark

WHISPER = {
    "text": " The lock opens at dawn. It closes at dusk.",
    "language": "english",
    "segments": [
        {"id": 0, "start": 0.0, "end": 2.5, "text": " The lock opens at dawn."},
        {"id": 1, "start": 2.5, "end": 4.0, "text": " It closes at dusk."},
        {"id": 2, "start": 65.0, "end": 66.0, "text": " After a pause."},
    ],
}
DIARISED = {
    "segments": [
        {"start": 1.5, "end": 3.0, "text": " Who turns the wheel?", "speaker": "SPEAKER_00"},
        {
            "start": 3.0,
            "end": 6.0,
            "text": " We do. Both?",
            "words": [
                {"word": "We", "start": 3.0, "end": 3.2, "speaker": "SPEAKER_01"},
                {"word": "do.", "start": 3.2, "end": 3.5, "speaker": "SPEAKER_01"},
                {"word": "Both?", "speaker": "SPEAKER_00"},
            ],
        },
    ],
}
CPP = {
    "result": {"language": "de"},
    "transcription": [
        {"offsets": {"from": 0, "to": 1500}, "text": " Das Tor geht auf."},
        {"offsets": {"from": 61500, "to": 63000}, "text": " Um sechs."},
    ],
}


def words(text: str, begin: int, step: int, **more: Any) -> list[dict[str, Any]]:
    """Words ``step`` apart; each takes all of its time."""
    return [
        {"text": word, "start": begin + at * step, "end": begin + (at + 1) * step, **more}
        for at, word in enumerate(text.split())
    ]


ASSEMBLY = {
    "language_code": "en_us",
    "audio_url": "https://lock.example/talk.mp3",
    "text": "…",
    "words": words("The rope is new.", 500, 250),
    "utterances": [
        {
            "speaker": "A",
            "start": 500,
            "end": 3500,
            "text": "The rope is new. It holds two boats.",
            "words": words("The rope is new. It holds two boats.", 500, 250),
        },
        {"speaker": "B", "start": 4000, "end": 5000, "text": "Only two?", "words": []},
    ],
}


def spoken(text: str, begin: float, speaker: int) -> list[dict[str, Any]]:
    return [
        {
            "word": word.strip(".?").lower(),
            "punctuated_word": word,
            "start": begin + at * 0.5,
            "end": begin + at * 0.5 + 0.5,
            "speaker": speaker,
        }
        for at, word in enumerate(text.split())
    ]


DEEPGRAM = {
    "metadata": {"created": "2024-05-06T07:08:09Z"},
    "results": {
        "channels": [
            {
                "detected_language": "en",
                "alternatives": [
                    {
                        "transcript": "…",
                        "words": spoken("Is it deep?", 1.0, 0) + spoken("Four metres.", 3.0, 1),
                    }
                ],
            }
        ]
    },
}
PARAGRAPHS = {
    "results": {
        "channels": [
            {
                "alternatives": [
                    {
                        "transcript": "…",
                        "paragraphs": {
                            "paragraphs": [
                                {
                                    "speaker": 2,
                                    "sentences": [
                                        {"text": "Mind the wake.", "start": 7.5, "end": 8.0},
                                        {"text": "Slow down.", "start": 8.0, "end": 9.0},
                                    ],
                                }
                            ]
                        },
                    }
                ]
            }
        ]
    }
}


def item(content: str, begin: str = "", speaker: str | None = None) -> dict[str, Any]:
    """An item of AWS Transcribe; without a time it is punctuation."""
    found: dict[str, Any] = {
        "type": "pronunciation" if begin else "punctuation",
        "alternatives": [{"content": content, "confidence": "0.9"}],
    }
    if begin:
        found |= {"start_time": begin, "end_time": str(float(begin) + 0.4)}
    return found | ({"speaker_label": speaker} if speaker else {})


AWS = {
    "jobName": "quay",
    "results": {
        "language_code": "en-GB",
        "transcripts": [{"transcript": "Tie up. Now?"}],
        "speaker_labels": {
            "segments": [
                {
                    "start_time": "2.0",
                    "speaker_label": "spk_1",
                    "items": [{"start_time": "2.0", "speaker_label": "spk_1"}],
                }
            ]
        },
        "items": [
            item("Tie", "0.5", "spk_0"),
            item("up", "1.0", "spk_0"),
            item("."),
            item("Now", "2.0"),
            item("?"),
        ],
    },
}
SEGMENTS = {
    "results": {
        "transcripts": [],
        "items": [],
        "audio_segments": [
            {
                "start_time": "4.5",
                "end_time": "6.0",
                "transcript": "Cast off.",
                "speaker_label": "spk_3",
            }
        ],
    }
}


def load(tree: Any, name: str = "night-talk.json") -> Document:
    (document,) = kinds.load(source_of(name, json.dumps(tree)), LoaderLimits())
    return document


class TestWhisper(LoaderContract):
    good = source_of("lock.json", json.dumps(WHISPER, indent=1))
    expected_kind = "transcript"
    quotes = (
        ("The lock opens at dawn. It closes", {"begin": 0.0, "speaker": None}),
        ("It closes at dusk.", {"begin": 2.5}),
        ("After a pause.", {"begin": 65.0, "label": "01:05"}),
    )
    broken = (
        source_of("time.json", json.dumps(WHISPER).replace("65.0", '"soon"')),
        source_of("minus.json", json.dumps(WHISPER).replace("65.0", "-65")),
        source_of("silent.json", '{"segments": [{"start": 0, "end": 1, "text": " "}]}'),
    )


class TestDiarised(LoaderContract):
    good = source_of("lock.json", json.dumps(DIARISED))
    expected_kind = "transcript"
    quotes = (
        ("Who turns the wheel?\n\nWe do.\n\nBoth?", {"begin": 1.5, "speaker": "Speaker 0"}),
        ("We do.", {"begin": 3.0, "speaker": "Speaker 1"}),
        ("Both?", {"begin": 3.5, "speaker": "Speaker 0"}),
    )
    broken = (source_of("word.json", json.dumps(DIARISED).replace("3.2", "[]")),)


class TestWhisperCpp(LoaderContract):
    good = source_of("tor.json", json.dumps(CPP))
    expected_kind = "transcript"
    quotes = (("Das Tor geht auf.\n\nUm sechs.", {"begin": 0.0}), ("Um sechs.", {"begin": 61.5}))
    broken = (source_of("from.json", json.dumps(CPP).replace('"from": 61500, ', "")),)


class TestAssemblyAi(LoaderContract):
    good = source_of("rope.json", json.dumps(ASSEMBLY))
    expected_kind = "transcript"
    quotes = (
        ("The rope is new. It holds", {"begin": 0.5, "speaker": "Speaker A"}),
        ("It holds two boats.", {"begin": 1.5, "speaker": "Speaker A"}),
        ("Only two?", {"begin": 4.0, "speaker": "Speaker B"}),
    )
    broken = (source_of("start.json", json.dumps(ASSEMBLY).replace("4000", "null")),)


class TestDeepgram(LoaderContract):
    good = source_of("deep.json", json.dumps(DEEPGRAM))
    expected_kind = "transcript"
    quotes = (
        ("Is it deep?\n\nFour", {"begin": 1.0, "speaker": "Speaker 0"}),
        ("Four metres.", {"begin": 3.0, "speaker": "Speaker 1"}),
    )
    broken = (source_of("start.json", json.dumps(DEEPGRAM).replace('"start": 3.0', '"start": {}')),)


class TestAws(LoaderContract):
    good = source_of("tie.json", json.dumps(AWS))
    expected_kind = "transcript"
    quotes = (
        ("Tie up.\n\nNow?", {"begin": 0.5, "speaker": "Speaker 0"}),
        ("Now?", {"begin": 2.0, "speaker": "Speaker 1"}),
    )
    broken = (source_of("start.json", json.dumps(AWS).replace('"1.0"', '"one"')),)


def test_other_forms_of_the_same_tools() -> None:
    sentences = load(PARAGRAPHS)
    assert sentences.text == "Mind the wake. Slow down."
    segment = load(SEGMENTS)
    assert segment.text == "Cast off."
    assert [m.speaker for m in segment.marks if isinstance(m, SpeakerMark)] == ["Speaker 3"]
    bare = {name: ASSEMBLY[name] for name in ("text", "words")}
    assert load(bare).text == "The rope is new."


@pytest.mark.parametrize(
    ("tree", "source_type", "language", "media"),
    [
        (WHISPER, "whisper", "en", ""),
        (CPP, "whisper.cpp", "de", ""),
        (ASSEMBLY, "assemblyai", "en-us", "https://lock.example/talk.mp3"),
        (DEEPGRAM, "deepgram", "en", ""),
        (AWS, "aws", "en-gb", ""),
    ],
)
def test_the_facts_of_a_talk(tree: Any, source_type: str, language: str, media: str) -> None:
    talk = load(tree)
    assert (talk.source_type, talk.language, talk.media_url) == (source_type, language, media)
    assert talk.title == "Night talk"


def test_names_stay_and_labels_become_speakers() -> None:
    labels = ["Ida Lund", "SPEAKER_07", "spk_2", "B", "speaker C"]
    tree = {"segments": [{"start": n, "text": "x.", "speaker": s} for n, s in enumerate(labels)]}
    said = [mark.speaker for mark in load(tree).marks if isinstance(mark, SpeakerMark)]
    assert said == ["Ida Lund", "Speaker 7", "Speaker 2", "Speaker B", "Speaker C"]
