"""Control, direction and hidden characters of sources leave in no body, page or export."""

from __future__ import annotations

import json

import pytest

from wellread.serve.views import Shape, json_of
from wellread.text.words import harmless

BAD = "\x1b[31m", "\u202e", "\u2066", "\u200e", "\u200b", "\x07", "\U000e0041"
JOINED = "\U0001f469\u200d\U0001f4bb"  # one picture of two, which a joiner holds together


class Told(Shape):
    title: str
    rows: tuple[tuple[str, ...], ...]
    facts: dict[str, object]


@pytest.mark.parametrize("bad", BAD)
def test_a_body_holds_no_character_that_drives_a_screen(bad: str) -> None:
    said = f"The ferry{bad} leaves"
    told = Told(title=said, rows=((said,),), facts={"a": [said]})
    assert bad[0] not in json.dumps(json_of(told), ensure_ascii=False)
    assert len(json_of(told)["title"]) == len(said)


def test_line_breaks_tabs_and_joiners_stay() -> None:
    text = f"One\n\ttwo {JOINED}"
    assert harmless(text) == text
