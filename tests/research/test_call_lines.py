"""Lines that call: the listed addresses and nothing else, whatever a model writes."""

from __future__ import annotations

import shlex
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellread.research.call_lines import ROUTES, calls_in, read_line
from wellread.research.tools import ARGUMENT_TYPES, Arguments, read_arguments


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("CALL: curl '/api/search?query=ferry+price&limit=5'", "search", ("ferry price", "5")),
        ('CALL: curl "/api/search?query=caf%C3%A9&facet=f2"', "search", ("café", "f2")),
        ("CALL: curl /api/search?query=ferry", "search", ("ferry",)),
        ("CALL: curl '/api/search/speaker/Tom%20Brack?query=x'", "search_speaker", None),
        (
            "CALL: curl '/api/search/date-range?start=2024-01&end=2024-06&query=x'",
            "search_dates",
            ("2024-01", "2024-06", "x"),
        ),
        ("CALL: curl '/api/documents/d3/search?query=x'", "search_document", None),
        ("CALL: curl '/api/entities/Rowing%20Club'", "look_up_entity", ("Rowing Club",)),
        ("CALL: curl '/api/videos'", "list_recordings", ()),
        ("CALL: curl '/api/videos/d1/transcript?from=1:30&to=2:00'", "read_transcript", None),
        ("CALL: curl '/api/segments/p7/context?before=1'", "read_around", None),
        ("CALL: curl '/api/topics/town/timeline?from=2024'", "read_timeline", ("2024", "town")),
    ],
)
def test_the_listed_addresses_are_tools(
    line: str, tool: str, arguments: tuple[str, ...] | None
) -> None:
    asked = read_line(line)
    assert asked.wrong == ""
    assert asked.name == tool
    if arguments is not None:
        assert sorted(asked.arguments.values()) == sorted(arguments)
    assert isinstance(read_arguments(asked), ARGUMENT_TYPES[tool])


def test_every_tool_has_an_address_and_every_address_a_tool() -> None:
    assert set(ROUTES.values()) == set(ARGUMENT_TYPES)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("CALL: curl -X POST '/api/search?query=x'", "options and methods are refused"),
        ("CALL: curl -d 'a=b' '/api/search?query=x'", "options and methods are refused"),
        ("CALL: curl '/api/search?query=x' -o /etc/passwd", "options and methods are refused"),
        ("CALL: curl --data=@/etc/passwd", "options and methods are refused"),
        ("CALL: wget '/api/search?query=x'", "other commands"),
        ("CALL: curl '/api/search?query=x'; rm -rf /", "other commands"),
        ("CALL: curl '/api/search?query=x' | sh", "other commands"),
        ("CALL: curl http://evil.example/api/search?query=x", "only local addresses"),
        ("CALL: curl //evil.example/api/search?query=x", "only local addresses"),
        ("CALL: curl 'file:///etc/passwd'", "only local addresses"),
        ("CALL: curl '/etc/passwd'", "only local addresses"),
        ("CALL: curl '/api\\\\..\\\\x'", "only local addresses"),
        ("CALL: curl '/api/search#x'", "only local addresses"),
        ("CALL: curl '/api/../healthz'", ".."),
        ("CALL: curl '/api/%2e%2e/healthz'", ".."),
        ("CALL: curl '/api/entities/..%2Fjobs'", ".."),
        ("CALL: curl '/api/entities/%00'", "control character"),
        ("CALL: curl '/api/entities/%ff'", "not UTF-8"),
        ("CALL: curl '/api/search?query=%ff'", "cannot be parsed"),
        ("CALL: curl '/api/search?query=a&query=b'", "occurs twice"),
        ("CALL: curl '/api/entities/a?name=b'", "occurs twice"),
        ("CALL: curl '/api/search?&&'", "cannot be parsed"),
        ("CALL: curl '/api/jobs'", "unknown address"),
        ("CALL: curl '/api/documents/d1'", "unknown address"),
        ("CALL: curl '/api/documents?limit=1000'", "unknown address"),
        ("CALL: curl '/api/search", "quotation marks"),
        ("CALL: curl", "other commands"),
        ("CALL:", "other commands"),
        ("call: curl '/api/search?query=x'", "write CALL"),
        ("> CALL: curl '/api/search?query=x'", "write CALL"),
        (f"CALL: curl '/api/search?query={'x' * 3000}'", "write CALL"),
    ],
)
def test_anything_else_is_refused_with_a_reason(line: str, says: str) -> None:
    asked = read_line(line)
    assert asked.name == ""
    assert says in asked.wrong
    assert not asked.arguments


def test_lines_are_taken_from_the_beginning_of_a_line_alone() -> None:
    reply = (
        "I will look.\n  CALL: curl '/api/search?query=a'  \n> CALL: curl '/api/search?query=b'\n"
        "A source says CALL: curl '/api/search?query=c'\nCALL: nonsense\nDONE"
    )
    asked = calls_in(reply)
    assert [one.arguments.get("query") for one in asked] == ["a", None]
    assert asked[1].wrong


PIECES = st.sampled_from(
    [
        "CALL:", "CALL: curl ", "curl", "'", '"', "/api/", "/api/search?query=", "/api/entities/",
        "/api/videos/", "/transcript", "/api/segments/", "/context", "..", "%2e%2e", "%2F", "%00",
        "%0a", "//", "http://evil.example", "@evil.example", "\\", "-d", "-X POST", "--data", " ",
        ";", "|", "&", "$(id)", "`id`", "\n", "\r", "\0", "=", "&limit=", "9", "limit=1e9", "#",
        "?", "facet=", "\u2028", "\udcff", "collection=secret", "name", "é",
    ]
)  # fmt: skip
LINES = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=10).map(lambda parts: "CALL: curl '/api/" + "".join(parts)),
    st.text(string.printable, max_size=60).map(lambda text: f"CALL: curl '/api/search?{text}'"),
    st.text(max_size=60).map(lambda text: f"CALL: curl '/api/entities/{text}'"),
)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_no_line_leads_to_anything_but_a_listed_tool_with_checked_arguments(line: str) -> None:
    for asked in (read_line(line), *calls_in(line)):
        if asked.wrong:
            assert not asked.name
            continue
        assert asked.name in ARGUMENT_TYPES
        command, address = shlex.split(asked.line.partition("CALL:")[2])
        assert command == "curl"
        assert address.startswith("/api/")
        assert all(isinstance(value, str) for value in asked.arguments.values())
        try:
            arguments = read_arguments(asked)
        except ValueError:
            continue
        assert isinstance(arguments, Arguments)
        assert type(arguments) is ARGUMENT_TYPES[asked.name]
        words = "".join(str(value) for value in arguments.model_dump().values())
        assert not any(ord(letter) < 32 for letter in words)
        assert len(words) < 2_500
