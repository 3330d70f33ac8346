"""robots.txt as RFC 9309 has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.sources.fetching import Robots


def allows(text: str, *paths: str) -> list[bool]:
    robots = Robots(text.encode(), "wellread")
    return [robots.allows(path) for path in paths]


def test_the_longest_rule_decides_and_allowing_wins_a_draw() -> None:
    text = (
        "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /a/b/c\nDisallow: /a/bc"
    )
    assert allows(text, "/", "/a/b", "/a/b/c") == [True, True, True]
    assert allows(text, "/a", "/ab", "/a/bc") == [False, False, False]


@pytest.mark.parametrize(
    ("rule", "fits", "fits_not"),
    [
        ("/*.pdf$", ["/x.pdf", "/a/b.pdf"], ["/x.pdf?a", "/x.pdfs"]),
        ("/a*z", ["/az", "/a/b/z", "/abczd"], ["/a", "/za"]),
        ("/*?", ["/x?y", "/?"], ["/x"]),
        ("/a$", ["/a"], ["/ab", "/a/"]),
        ("*", ["/", "/a"], []),
        ("/*a*a$", ["/aa", "/xaya"], ["/a", "/aab"]),
        ("/caf%C3%A9", ["/caf%c3%a9/x"], ["/cafe"]),
        ("/café", ["/caf%C3%A9"], []),
        ("/%7Ejoe", ["/~joe"], []),
        ("/a%2Fb", ["/a%2fb"], ["/a/b"]),
    ],
)
def test_wildcards_and_ways_of_writing(rule: str, fits: list[str], fits_not: list[str]) -> None:
    text = f"User-agent: *\nDisallow: {rule}"
    assert allows(text, *fits) == [False] * len(fits)
    assert allows(text, *fits_not) == [True] * len(fits_not)


def test_the_group_that_names_us_stands_for_all_others() -> None:
    text = (
        "\ufeffUser-Agent: *\r\nDisallow: /\r\n\r\n"
        "user-agent: Other\rUSER-AGENT : WellRead # us\r\ndisallow: /x # not this\r\n"
        "Sitemap: https://x.example/map\r\nnonsense\r\nuser-agent: wellread\r\ndisallow: /y\r\n"
    )
    assert allows(text, "/", "/x", "/y") == [True, False, False]


@pytest.mark.parametrize(
    "text", ["", "Disallow: /", "User-agent: *\nDisallow:", "User-agent: x\nDisallow: /", "\0\xff"]
)
def test_what_forbids_nothing(text: str) -> None:
    assert allows(text, "/", "/a") == [True, True]


def test_the_pause_between_requests() -> None:
    for written, seconds in (("2.5", 2.5), ("900", 30.0), ("soon", 0.0), ("-1", 0.0), ("nan", 0.0)):
        robots = Robots(f"User-agent: *\nCrawl-delay: {written}".encode(), "wellread")
        assert robots.delay == seconds


@given(st.binary(max_size=300), st.text(st.sampled_from("/a*$%?é"), max_size=20))
def test_anything_can_be_read(data: bytes, path: str) -> None:
    Robots(b"User-agent: *\nDisallow: " + data, "wellread").allows("/" + path)


@given(
    st.lists(st.text(st.sampled_from("ab/"), max_size=3), min_size=1, max_size=5),
    st.lists(st.text(st.sampled_from("ab/"), max_size=3), max_size=5),
)
def test_a_path_made_from_a_pattern_fits_it(pieces: list[str], filling: list[str]) -> None:
    path = pieces[0]
    for number, piece in enumerate(pieces[1:]):
        path += (filling[number] if number < len(filling) else "") + piece
    rule = "/" + "*".join(pieces) + "$"
    assert allows(f"User-agent: *\nDisallow: {rule}", "/" + path) == [False]


def test_a_hostile_pattern_is_decided_too() -> None:
    """With backtracking it would take longer than the world is old."""
    rule = "/" + "*a" * 2_000 + "*b$"
    assert allows(f"User-agent: *\nDisallow: {rule}", "/" + "a" * 3_000) == [True]
