"""What a site's robots.txt asks of programs (RFC 9309).

The standard library's reader takes ``*`` and ``$`` in a rule literally and lets the first rule
that fits decide; the RFC wants them as wildcards and the longest rule to decide, and most sites
write their files for that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

MOST_BYTES = 512_000  # the RFC asks for 500 KiB at least
LONGEST_DELAY = 30.0

_RESERVED = "/:?#[]@!$&'()*+,;="
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line: paths that fit ``pattern`` may be fetched, or not."""

    pattern: str
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Robots:
    """The rules for one program; ``delay`` is the seconds asked for between two requests."""

    rules: tuple[Rule, ...] = ()
    delay: float = 0.0

    def allows(self, path: str) -> bool:
        """Whether ``path`` (with its query) may be fetched: the longest rule that fits decides."""
        wanted = _usual(path)
        fitting = [rule for rule in self.rules if _fits(rule.pattern, wanted)]
        return max(((len(r.pattern), r.allowed) for r in fitting), default=(0, True))[1]


EVERYTHING = Robots()


def read_robots(data: bytes, agent: str) -> Robots:
    """The rules of a robots.txt for the program called ``agent``, else those for all."""
    groups: dict[str, list[Rule]] = {}
    delays: dict[str, float] = {}
    names: list[str] = []
    naming = False
    for key, value in _lines(data[:MOST_BYTES].decode("utf-8-sig", errors="replace")):
        if key == "user-agent":
            names = [*names, _product(value)] if naming else [_product(value)]
            naming = True
            for name in names:
                groups.setdefault(name, [])
            continue
        naming = False
        for name in names:
            if key in ("allow", "disallow") and value:
                groups[name].append(Rule(pattern=_usual(value), allowed=key == "allow"))
            elif key == "crawl-delay":
                delays[name] = _seconds(value)
    chosen = agent.lower() if agent.lower() in groups else "*"
    return Robots(rules=tuple(groups.get(chosen, ())), delay=delays.get(chosen, 0.0))


def _lines(text: str) -> Sequence[tuple[str, str]]:
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        key, separator, value = line.partition("#")[0].partition(":")
        if separator:
            found.append((key.strip().lower(), value.strip()))
    return found


def _product(value: str) -> str:
    """``wellread/1.0`` names the program ``wellread``."""
    found = re.match(r"\*|[A-Za-z_-]+", value)
    return found.group().lower() if found else ""


def _seconds(value: str) -> float:
    found = re.fullmatch(r"\d{1,6}(?:\.\d{1,6})?", value)
    return min(float(value), LONGEST_DELAY) if found else 0.0


def _usual(path: str) -> str:
    """The path with the same characters percent-encoded, however it was written."""

    def usual(escape: re.Match[str]) -> str:
        character = chr(int(escape[1], 16))
        return character if _UNRESERVED.match(character) else escape.group().upper()

    return _ESCAPE.sub(usual, quote(path, safe=_RESERVED + "%"))


def _fits(pattern: str, path: str) -> bool:
    """Whether the path begins with the pattern; ``*`` is anything, a last ``$`` the end.

    Piece by piece, each as early as possible: linear where a regular expression with many stars
    would take exponential time on a hostile file.
    """
    ends = pattern.endswith("$")
    first, *pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    if not pieces:
        return len(path) == len(first) or not ends
    place = len(first)
    for piece in pieces[:-1]:
        found = path.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    last = pieces[-1]
    if ends:
        return len(path) - len(last) >= place and path.endswith(last)
    return path.find(last, place) >= 0
