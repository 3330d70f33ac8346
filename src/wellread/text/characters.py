"""Replaces characters that hide text from a reader or drive a terminal."""

from __future__ import annotations

import json
import re

# Control characters except tab and line break, zero-width spaces, direction marks and overrides,
# Unicode tags and supplementary variation selectors, all of which can hide whole sentences.
# Joiners (U+200C, U+200D) are kept: some scripts and emoji need them.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)


# Chinese characters and kana, of which two make most words; Thai, Lao, Burmese and Khmer.
_UNSPACED = re.compile(
    r"(?P<ideographs>[\u3041-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003134f]+)|[\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3]+"
)


def with_words(text: str) -> str:
    """``text`` with each two or three neighbouring letters as a word, where nothing parts words.

    Two texts that share a word share such a group (as Lucene's CJK analyser has it); nothing has
    to know the words of a language.
    """
    return text if text.isascii() else _UNSPACED.sub(_groups, text)


def _groups(run: re.Match[str]) -> str:
    # Signs of vowels and tones would part words; the letters are enough.
    letters, size = "".join(filter(str.isalnum, run.group())), 2 if run["ideographs"] else 3
    groups = (letters[at : at + size] for at in range(max(1, len(letters) - size + 1)))
    return f" {' '.join(groups)} "


def visible(text: str) -> str:
    """``text`` without invisible characters, which only a model reads; line breaks are ``\\n``."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


# Terminal control characters and direction overrides; joiners are kept.
_CONTROL_CODES = {
    code: "\N{REPLACEMENT CHARACTER}"
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xE0000, 0xE0080),
    )
    if chr(code) not in "\n\t"
}
_CONTROL = re.compile(f"[{''.join(map(re.escape, map(chr, _CONTROL_CODES)))}]")
_BREAK = re.compile("[\n\t\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")


def harmless(text: str) -> str:
    """Replace each control, direction or hidden character by a replacement character."""
    return text.translate(_CONTROL_CODES) if _CONTROL.search(text) else text


def harmless_line(text: str) -> str:
    """``harmless`` text in which line breaks and tabs are replaced too."""
    return harmless(_BREAK.sub("\N{REPLACEMENT CHARACTER}", text))


def escape_json(json_text: str) -> str:
    """Escape terminal control characters in a JSON text without changing its value."""
    return _CONTROL.sub(lambda match: _escape(match.group()), json_text)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 0x7F else f"\\u{ord(character):04x}"
