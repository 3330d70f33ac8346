from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wellread.ask.deliver.cite import prune
from wellread.ask.write.parse_draft import Draft, VisibleStream, find_tail, parse_draft
from wellread.ask.write.prompts import Guard
from wellread.values.answers import Checked, Verdict, VerdictName

KNOWN = {"e1", "e2", "e3", "e4"}
TAIL = '\n---\n{"confidence": 0.8, "answered": "partly", "data_gaps": ["costs"], "conflicts": []}'


def cited(reply: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(claim.text, claim.keys) for claim in parse_draft(reply, KNOWN).claims]


# --- markers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "marker",
    [
        "[e1, e3]",
        "[e1 and e3]",
        "[e1][e3]",
        "[e1], [e3]",
        "(e1, e3)",
        "(see e1 and e3)",
        "【e1†L3-L9】【e3†source】",
        "[Source: e1, e3]",
        "([e1], [e3])",
        "[^e1][^e3]",
        "[e1](#e1) [e3](https://example.org/a_b)",
        "[e1, p. 5; e3, p. 7]",
        "**[e1][e3]**",
        "<sup>[e1]</sup><sup>[e3]</sup>",
        r"\[e1\]\[e3\]",
    ],
)
@pytest.mark.parametrize("place", [" {}.", ". {}", ".{}", ". {}.", "{}."])
def test_every_shape_of_marker_is_read_and_removed(marker: str, place: str) -> None:
    reply = "Solar power grew fast" + place.format(marker) + " Wind power fell."
    draft = parse_draft(reply, KNOWN)
    assert draft.text == "Solar power grew fast. Wind power fell."
    assert [claim.text for claim in draft.claims] == ["Solar power grew fast.", "Wind power fell."]
    assert draft.claims[0].keys == ("e1", "e3")
    assert draft.claims[1].keys == ()
    assert draft.unknown_keys == 0


@pytest.mark.parametrize(
    "text",
    [
        "It rose by 4 % [12].",
        "Oestradiol (E2) rose.",
        "See [the report](https://example.org/e1).",
        "The list [a, b] has two parts (and more).",
        "Open e1.txt first.",
        "An array x[e] and f(e) here.",
        "Mail [ed] says [e1x] too.",
    ],
)
def test_what_is_no_marker_stays(text: str) -> None:
    draft = parse_draft(text, KNOWN)
    assert draft.text == text
    assert draft.unknown_keys == 0
    assert draft.claims[0].keys == ()


def test_unknown_keys_are_removed_and_counted() -> None:
    draft = parse_draft("Solar grew [e7]. Wind fell [e1, e9]. Rain (e8) fell.", KNOWN)
    assert draft.text == "Solar grew. Wind fell. Rain fell."
    assert [claim.keys for claim in draft.claims] == [(), ("e1",), ()]
    assert draft.unknown_keys == 3


def test_a_marker_behind_the_full_stop_belongs_to_the_sentence_before() -> None:
    assert cited("Solar power grew. [e1] Wind power fell.[e2] It rained.") == [
        ("Solar power grew.", ("e1",)),
        ("Wind power fell.", ("e2",)),
        ("It rained.", ()),
    ]


@pytest.mark.parametrize("end", ["[e1", "[", " [e", "(e1, e", "【e1", "[Source: e1"])
def test_a_marker_that_was_cut_off_is_not_shown(end: str) -> None:
    assert parse_draft(f"Solar power grew {end}", KNOWN).text == "Solar power grew"


# --- structure -------------------------------------------------------------------------------

PAGE = """\
## Growth [e4]

Solar grew by 12.5 % in 2024 [e1]. Anna Roe doubts it [e2].

- Wind fell. [e2]
- Rain stayed [e3]
  1. Snow went [e1].

**In short**

| source | share |
|:-------|------:|
| Solar | 34 % [e1] |
| Wind [e2] | 3 % |

> "Solar is **cheap**" [e3].
"""


def test_markdown_keeps_its_structure() -> None:
    draft = parse_draft(PAGE, KNOWN)
    lines = [re.sub(r" ?\[e\d\]", "", line) for line in PAGE.strip().split("\n")]
    assert draft.text.split("\n") == lines


def test_claims_are_sentences_items_and_rows_but_no_headings() -> None:
    assert cited(PAGE) == [
        ("Solar grew by 12.5 % in 2024.", ("e4", "e1")),
        ("Anna Roe doubts it.", ("e2",)),
        ("Wind fell.", ("e2",)),
        ("Rain stayed", ("e3",)),
        ("Snow went.", ("e1",)),
        ("Solar | 34 %", ("e1",)),
        ("Wind | 3 %", ("e2",)),
        ('"Solar is **cheap**".', ("e3",)),
    ]


@pytest.mark.parametrize(
    "references",
    [
        "Sources:\n[e1] Annual report\n[e7] Another",
        "**Sources:**\n- [e1] Annual report\n\n- [e7]: Another",
        "## References\n1. [e1] - Annual report\n2. [e7] - Another",
        "[^e1]: Annual report\n[^e7]: Another",
    ],
)
def test_a_list_of_sources_at_the_end_is_taken_off(references: str) -> None:
    draft = parse_draft(f"Solar grew [e1].\n\n{references}\n{TAIL}", KNOWN)
    assert draft.text == "Solar grew."
    assert [claim.text for claim in draft.claims] == ["Solar grew."]
    assert draft.unknown_keys == 1


def test_a_list_of_findings_is_not_a_list_of_sources() -> None:
    draft = parse_draft("Two things:\n- [e1] Solar grew.\n- [e2] Wind fell.", KNOWN)
    assert draft.text == "Two things:\n- Solar grew.\n- Wind fell."
    assert [claim.keys for claim in draft.claims] == [(), ("e1",), ("e2",)]


# --- tail ------------------------------------------------------------------------------------

OBJECT = TAIL.removeprefix("\n---\n")


@pytest.mark.parametrize(
    "reply",
    [
        f"Solar grew [e1].\n---\n{OBJECT}",
        f"Solar grew [e1].\n\n---\n\n{OBJECT}\n",
        f"Solar grew [e1].\r\n-----\r\n{OBJECT}",
        f"Solar grew [e1].\n---\n```json\n{OBJECT}\n```",
        f"Solar grew [e1].\n```json\n{OBJECT}\n```\nI hope this helps!",
        f"Solar grew [e1].\n\n```\n{OBJECT}\n```",
        f"Solar grew [e1].\n{OBJECT}",
    ],
)
def test_the_tail_is_read_wherever_it_stands(reply: str) -> None:
    draft = parse_draft(reply, KNOWN)
    assert draft.text == "Solar grew."
    assert (draft.model_claim, draft.answered, draft.data_gaps) == (0.8, "partly", ("costs",))


def test_of_a_tail_that_was_cut_off_the_rest_is_kept() -> None:
    draft = parse_draft("Solar grew [e1]." + TAIL[: TAIL.index("costs") + 2], KNOWN)
    assert draft.text == "Solar grew."
    assert (draft.model_claim, draft.answered) == (0.8, "partly")


@pytest.mark.parametrize("end", ["{", "{not json}", '{"conf', "```json\n{", "```json"])
def test_a_tail_that_cannot_be_read_is_broken_and_hidden(end: str) -> None:
    draft = parse_draft(f"Solar grew [e1].\n---\n{end}", KNOWN)
    assert draft.text == "Solar grew."
    assert (draft.model_claim, draft.answered, draft.data_gaps) == (None, None, ())


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("0.75", 0.75),
        ("75", 0.75),
        ('"75 %"', 0.75),
        ("-3", 0.0),
        ("1e400", None),
        ('"high"', None),
        ("true", None),
    ],
)
def test_a_confidence_is_a_share_or_nothing(given: str, meant: float | None) -> None:
    draft = parse_draft(f'A.\n---\n{{"confidence": {given}}}', KNOWN)
    assert draft.model_claim == meant


# --- properties ------------------------------------------------------------------------------

PIECES = st.lists(
    st.sampled_from(
        [
            *("[e1] [e9] (e2) 【e3】 [ ( e1 ] ) [Source: e2-e4] --- - ``` ```json { } | #".split()),
            *("** . , Solar grew A. e 1 [[ ]] \\ ` \u2028".split(" ")),
            *(" ", "\n", "\n---\n", "\r\n", TAIL, '{"confidence"', "\n- ", "\n| ", ""),
        ]
    ),
    max_size=25,
)
REPLIES = st.one_of(PIECES.map("".join), PIECES.map(" ".join), st.text(max_size=80))


def check(draft: Draft) -> None:
    place = 0
    for claim in draft.claims:
        assert set(claim.keys) <= KNOWN
        assert claim.text
        found = draft.text.find(claim.text, place)
        assert found >= 0
        place = found + len(claim.text)
    assert not re.search(r"\[e\d{1,4}\]|\(e\d{1,4}\)|【e\d{1,4}】", draft.text)


@given(REPLIES)
@example("((e1)e2)")
@example("[e1]\n[e2]")
@example("Sources:\n[e1]")
@example("| [e1]")
def test_every_text_is_a_reply(reply: str) -> None:
    check(parse_draft(reply, KNOWN))


def shown(pieces: list[str]) -> str:
    stream = VisibleStream()
    return "".join([*map(stream.feed, pieces), stream.finish()])


@given(REPLIES, st.lists(st.integers(min_value=0, max_value=200), max_size=12))
@example("Solar.\n---\n", [8])
@example("A\n```", [3])
def test_how_a_reply_is_cut_does_not_change_what_is_shown(reply: str, cuts: list[int]) -> None:
    borders = sorted({0, len(reply), *(cut for cut in cuts if cut < len(reply))})
    pieces = [reply[start:end] for start, end in pairwise(borders)]
    assert shown(pieces) == shown([reply]) == shown(list(reply))


@given(REPLIES)
def test_what_is_shown_is_the_reply_before_its_tail(reply: str) -> None:
    place, _ = find_tail(reply)
    assert shown(list(reply)) == reply[:place].rstrip()


def test_text_is_shown_as_it_comes_and_the_tail_never() -> None:
    stream = VisibleStream()
    assert stream.feed("Solar ") == "Solar"
    assert stream.feed("grew") == " grew"
    assert stream.feed(" [e") == ""
    assert stream.feed("1") == ""
    assert stream.feed("]. Wi") == " [e1]. Wi"
    assert stream.feed("nd (of") == "nd"
    assert stream.feed(" the North Sea") == " (of the North Sea"
    assert stream.feed(") fell.\n") == ") fell."
    assert stream.feed("--") == ""
    assert stream.feed("-\n") == ""
    assert stream.feed("Rain") == "\n---\nRain"
    assert stream.feed("\n---\n{") == ""
    assert stream.feed('"confidence": 1}') == ""
    assert stream.finish() == ""


BORNE_OUT = Verdict(name=VerdictName.SUPPORTED, method="verbatim", score=1.0)


def without(draft: str, *dropped: str) -> tuple[str, list[str]]:
    """The draft without the sentences that begin with one of ``dropped``, and those left."""
    claims = parse_draft(draft, ()).claims
    checked = [Checked(claim=claim, verdict=BORNE_OUT) for claim in claims]
    kept = [item for item in checked if not item.claim.text.startswith(dropped or ("\0",))]
    text, left = prune(draft, checked, kept)
    return text, [item.claim.text for item in left]


@pytest.mark.parametrize(
    ("draft", "dropped", "left"),
    [
        ("It rains. It pours.", ("It pours",), "It rains."),
        ("- It rains.\n- It pours.\n- It ends.", ("It pours",), "- It rains.\n- It ends."),
        ("1. It rains.\n2. It pours.", ("It rains",), "2. It pours."),
        ("## Wet\n\nIt rains.\n\n## Dry\n\nIt is dry.", ("It rains",), "## Dry\n\nIt is dry."),
        ("**Wet**\n\nIt rains.\n\n**Dry**\n\nIt is dry.", ("It is dry",), "**Wet**\n\nIt rains."),
        (
            "## Weather\n\n### Wet\n\nIt rains.\n\n### Dry\n\nIt is dry.",
            ("It rains",),
            "## Weather\n\n### Dry\n\nIt is dry.",
        ),
        (
            "Two things changed:\n- It rains.\n- It pours.\n\nSo it goes on.",
            ("It rains", "It pours"),
            "So it goes on.",
        ),
        (
            "Two things changed:\n\n- It rains.\n- It pours.",
            ("It rains",),
            "Two things changed:\n\n- It pours.",
        ),
        (
            "Three things: rain, hail, snow.\n\nIt pours.",
            ("It pours",),
            "Three things: rain, hail, snow.",
        ),
        ("# Empty from the start\n\n# Wet\n\nIt rains. It pours.", ("It pours",), None),
        ("It rains.\n\n```\ncode\n```", ("It pours",), None),
    ],
)
def test_what_stays(draft: str, dropped: tuple[str, ...], left: str | None) -> None:
    text, _ = without(draft, *dropped)
    assert text == (draft.replace(" It pours.", "") if left is None else left)


@given(
    st.lists(
        st.sampled_from(
            [
                "# Head",
                "## Sub",
                "",
                "- One is so.",
                "Two is so. Three is so.",
                "List:",
                "> Four is.",
            ]
        ),
        max_size=12,
    ),
    st.sets(st.sampled_from(["One", "Two", "Three", "Four", "List"]), min_size=1),
)
def test_kept_sentences_stand_in_the_text_in_order(lines: list[str], dropped: set[str]) -> None:
    text, left = without("\n".join(lines), *dropped)
    place = 0
    for sentence in left:
        place = text.index(sentence, place) + len(sentence)
    for word in dropped:
        assert word not in text


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
