from __future__ import annotations

import io

from rich.console import Console
from tests.doubles.answers import answer_of, citation_of, sentence_of

from wellread.serve.cli import answer_printing as render
from wellread.values.answers import Answer, VerdictName

LINK = "https://example.org/" + "a-rather-long-path/" * 8 + "paper.pdf#page=5"
TEXT = "The array makes 2 MW [1]. It never fails. Some say otherwise [1]."


CITED = citation_of(title="Tides", link=LINK, quote="The array makes 2 MW\nat spring tide.")
ANSWER = answer_of(
    TEXT,
    [
        sentence_of(TEXT[:25], 0, VerdictName.SUPPORTED, 1),
        sentence_of(TEXT[26:41], 26, VerdictName.UNSUPPORTED, 1),
        sentence_of(TEXT[42:65], 42, VerdictName.PARTIAL, 1),
    ],
    [CITED],
)


def printed(shown: Answer, *, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=72,
        force_terminal=terminal,
        highlight=False,
        markup=False,
        emoji=False,
        color_system="truecolor" if terminal else None,
    )
    render.print_answer(console, shown, seconds=0.25, detailed=False)
    return out.getvalue()


def test_every_sentence_is_followed_by_its_sign() -> None:
    assert printed(ANSWER).splitlines()[0] == (
        "The array makes 2 MW [1]. ✓ It never fails. ✗ Some say otherwise [1]. ~"
    )


def test_a_link_stands_on_one_unbroken_line() -> None:
    assert f"    {LINK}" in printed(ANSWER).splitlines()
    assert f";{LINK}\x1b\\" in printed(ANSWER, terminal=True)


def test_source_text_cannot_drive_the_terminal() -> None:
    nasty = "\x1b]0;owned\x07 [bold]x[/bold] :smile: \u202e\x9b2J"
    shown = printed(
        answer_of(
            f"{nasty} [1].",
            citations=[citation_of(title=nasty, quote=nasty, link=f"https://e.example/{nasty}")],
            notes=(nasty,),
        )
    )
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    assert "[bold]x[/bold] :smile:" in shown
