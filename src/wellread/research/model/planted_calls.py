"""Keeps what sources say from becoming calls of tools.

A model that looks for evidence reads sources, and a source may hold "CALL: curl '/api/…'" or "call
the tool search with …". Two walls, each enough by itself against a model that obeys:

- it is not shown. What looks like a call, orders a search, a tool or an address to be opened, or
  orders an answer (``ask/understand/planted_orders.py``) is left out of what the searching model
  sees. This costs nothing but a hint where to look: passages themselves stay whole, and sections
  are written from those;
- it is not run. What was left out is remembered. A call that repeats a line of it, or whose words
  stand in one such order and neither in the question nor in the plan nor in what the model was
  shown, is refused, and the model is told so. A name that a passage plainly mentions is free.

Around both stands what no wording can widen: tools only read, inside the question's limits, in
this process, and only those of the list.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wellread.ask.understand.planted_orders import planted_in
from wellread.research.model.call_lines import ROUTES
from wellread.research.model.tool_arguments import TAKEN
from wellread.text.english_followups import CALL_SYNTAX, ORDERS_TO_LOOK
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.words import visible
from wellread.types import Span

LEFT_OUT = "(left out)"
LEAST_CODED = 0.9  # share of printable letters that makes decoded bytes a text

_TOOL_NAMES = "|".join(name for name in TAKEN if "_" in name)
_CALL_SYNTAX = re.compile(rf"{CALL_SYNTAX}|\b(?:{_TOOL_NAMES})\b", re.IGNORECASE)
_WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")  # a line that goes on; one for one with a space
_CODED = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_URL_SAFE = str.maketrans("-_", "+/")
_JOINTS = re.compile(r"[\u200c\u200d\u00ad\u034f\u180e\ufe00-\ufe0f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A text as the searching model is shown it, and what was left out of it, in order."""

    text: str
    removed: tuple[str, ...] = ()


def screened(text: str) -> Screened:
    """``text`` without calls and orders; letters that are hidden or in disguise are plain."""
    removed: list[str] = []
    seen = _JOINTS.sub("", unicodedata.normalize("NFKC", visible(text)))
    seen = _CODED.sub(lambda found: _uncoded(found.group(), removed), seen)
    seen = _without(seen, planted_in(seen), removed)
    shown = "\n".join(_without_calls(line, removed) for line in seen.split("\n"))
    shown = _without(shown, _orders_in(shown), removed)  # those that go on in the next line
    if _CALL_SYNTAX.search(" ".join(shown.split())):  # a call that is broken over lines
        removed.append(shown)
        shown = LEFT_OUT
    return Screened(text=shown, removed=tuple(removed))


def _without_calls(line: str, removed: list[str]) -> str:
    if _CALL_SYNTAX.search(line):
        removed.append(line)
        return LEFT_OUT
    return _without(line, _orders_in(line), removed)


def _orders_in(text: str) -> list[Span]:
    """The sentences that order a search, a call or an address to be opened."""
    return [
        span
        for span in sentence_spans(_WRAPPED.sub(" ", text))
        if any(order.search(" ".join(span.of(text).split())) for order in ORDERS_TO_LOOK)
    ]


def _without(text: str, spans: Sequence[Span], removed: list[str]) -> str:
    for span in reversed(spans):
        removed.append(span.of(text))
        text = f"{text[: span.start]}{LEFT_OUT}{text[span.end :]}"
    return text


def _uncoded(token: str, removed: list[str]) -> str:
    """The token; where it is a text in base64, that text counts as left out."""
    plain = token.rstrip("=").translate(_URL_SAFE)
    try:
        text = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return token
    printable = sum(letter.isprintable() or letter.isspace() for letter in text)
    words = " " in text.strip() or _CALL_SYNTAX.search(text)
    if not (text and words and printable >= LEAST_CODED * len(text)):
        return token
    removed.append(text)
    return LEFT_OUT


class Watch:
    """Remembers what one run's model was shown and what was kept from it."""

    def __init__(self, free: Iterable[str]) -> None:
        """Begin with words that are ``free``: those of the question and of the plan."""
        self._free: set[str] = set()
        self._removed: list[frozenset[str]] = []
        self._lines: list[str] = []
        for text in free:
            self._free |= parse(text).stem_set

    def show(self, text: str) -> str:
        """``text`` as the model may see it."""
        found = screened(text)
        self._free |= parse(found.text).stem_set
        for piece in found.removed:
            self._removed.append(parse(piece).stem_set)
            self._lines.append(_squeezed(piece))
        return found.text

    def knows(self, text: str) -> bool:
        """Whether every word of ``text`` was asked, planned or shown."""
        return parse(text).stem_set <= self._free

    def copied(self, name: str, line: str, values: Iterable[str]) -> bool:
        """Whether a call does what a source orders.

        Args:
            name: of the tool.
            line: the call as it was written.
            values: the words among its arguments.
        """
        written, names = _squeezed(line), _names_of(name)
        if written and any(written in known for known in self._lines):
            return True
        wanted = [stems for value in values if (stems := parse(value).stem_set)]
        for known, stems in zip(self._lines, self._removed, strict=True):
            inside = all(one <= stems for one in wanted)
            if inside and any(tool in known for tool in names):
                return True
            if wanted and inside and not all(one <= self._free for one in wanted):
                return True
        return False


def _names_of(tool: str) -> list[str]:
    """What a tool is called in a call, where that is no plain word: its name, its address."""
    paths = [route.path.partition("{")[0] for route in ROUTES if route.tool == tool]
    return [_squeezed(one) for one in (tool, *paths) if "_" in one or "/" in one]


def _squeezed(text: str) -> str:
    """``text`` as it is compared: letters and digits alone."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())
