"""What of a model's reply may be shown: nothing that loads, calls, or tells the prompt.

A model may obey an instruction that stands in a source. Verification marks what the sources do not
say; this takes out what must not reach a reader at all. It knows the prompt that the model was
given:

- images become their description, links their words, raw HTML its text; an address stays only
  where a source or the question has it, letter by letter (an address made up by the model could
  carry the question to a stranger);
- sentences that repeat the prompt's rules or its fence are withheld, and counted;
- lines that are calls (``CALL: …``) are withheld, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass

from wellread.text.sentences import sentence_spans
from wellread.text.words import visible

SHINGLE = 8  # words in a row that only the prompt has: a sentence with them repeats it
LONGEST_LINE, MOST_LINES = 300, 20  # of what a model says beside its answer

# A line that begins with a call, and a call in the middle of one.
CALL_LINE = re.compile(r"[ \t>*\-`]*CALL\s*:")
_CALL = re.compile(r"\bCALL\s*:\s*(?:curl|GET|POST|/)")
# Of a link; those of footnotes and of citations are read elsewhere.
_DEFINITION = re.compile(r"[ \t]{0,3}\[(?!\^|[eE]\d{1,4}\])[^\]\n]{1,200}\]:[ \t]*\S.*")
_CITING = re.compile(r"\^?\s*(?:[a-z]+:?\s*)?e\d{1,4}\b.*", re.IGNORECASE)
_TARGET = r"\((?P<target>[^()\n]{0,2000}(?:\([^()\n]{0,500}\)[^()\n]{0,500})?)\)"
_IMAGE = re.compile(rf"!\[(?P<words>[^\[\]\n]{{0,500}})\](?:{_TARGET}|\[[^\[\]\n]{{0,200}}\])")
_LINK = re.compile(
    rf"(?P<open>\[{{1,2}})(?P<words>[^\[\]\n]{{1,500}})(?P<close>\]{{1,2}}){_TARGET}"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^>\n]{0,2000}>", re.DOTALL)
# A known element, or any other with an attribute: "List<int>" is neither.
_ELEMENTS = (
    "a|abbr|area|article|audio|b|base|blockquote|body|br|button|canvas|center|code|dd|del|details"
    "|dialog|div|dl|dt|em|embed|fieldset|figure|font|footer|form|frame|frameset|h[1-6]|head|header"
    "|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|map|marquee|math|meta|nav|noscript"
    "|object|ol|option|p|picture|pre|s|script|section|select|small|source|span|strong|style|sub"
    "|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|track|u|ul|video"
)
_TAG = re.compile(
    rf"</?(?:{_ELEMENTS})(?=[\s/>])[^>\n]{{0,2000}}>|</?[a-z][\w:-]{{0,50}}[\s/][^>\n]{{1,2000}}>",
    re.IGNORECASE,
)
_AUTOLINK = re.compile(r"<((?:[a-z][a-z0-9+.-]{1,30}:|www\.)[^\s<>]{1,2000})>", re.IGNORECASE)
_BREAKS = re.compile(r"</?(?:br|p|div|li|tr|td|th|h[1-6])\b", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:\b(?:https?|ftp|file|wss?)://|\bwww\.)[^\s<>\"'`|]+"
    r"|\b(?:javascript:|vbscript:|blob:|data:[a-z]+/)[^\s<>\"'`|]+",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?)]}»”’*_"
_MARKER = re.compile(r"\[[^\]\n]*\]")  # of a citation
REMOVED = "(link removed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is left of a text, and how many sentences and lines were withheld."""

    text: str
    withheld: int = 0


class Guard:
    """Made for one prompt; see the module.

    Args:
        rules: what must not be repeated: the prompt without what sources, past questions and the
            asker say.
        fence: the word that only the prompt has.
        given: what sources, past questions and the asker say; their words and addresses are free.
    """

    def __init__(self, rules: str, fence: str, given: Iterable[str]) -> None:
        self._flagged: Callable[[str], bool] = lambda _: False
        self._fence = fence.casefold()
        self._given = "\n".join(given)
        self._secret = frozenset(_shingles(rules)) - frozenset(_shingles(self._given))
        parts = [*rules.split("\n"), *(span.of(rules) for span in sentence_spans(rules))]
        self._lines = frozenset(line.strip() for line in rules.split("\n"))
        self._short = frozenset(part for part in map(_words, parts) if part.count(" ") > 1)
        self._addresses = frozenset(map(_bare, _ADDRESS.findall(self._given)))

    def also(self, flagged: Callable[[str], bool]) -> Guard:
        """The same, which also withholds sentences that an expert flagged as harmful."""
        made = copy(self)
        made._flagged = flagged
        return made

    def shown(self, text: str, *, before: str = "") -> Shown:
        """``text`` without what must not reach a reader. Line breaks stay where they are.

        Args:
            before: what was shown already and ``text`` follows.
        """
        lines: list[str] = []
        withheld = 0
        recent = before
        for line in self._harmless(text).split("\n"):
            kept, lost = self._kept(line)
            if kept and self._tells(f"{_end(recent)} {kept}"):
                kept, lost = "", lost + 1
            withheld += lost
            if kept.strip() or not line.strip():
                lines.append(kept)
                recent = f"{_end(recent)} {kept}"
        return Shown(text="\n".join(lines), withheld=withheld)

    def lines(self, lines: Iterable[str]) -> tuple[str, ...]:
        """What a model says beside its answer, one short line each, those withheld left out."""
        found = (self.shown(" ".join(line.split())[:LONGEST_LINE]) for line in lines)
        kept = (one.text.strip() for one in found if not one.withheld)
        return tuple(line for line in kept if line)[:MOST_LINES]

    def _kept(self, line: str) -> tuple[str, int]:
        """The sentences of a line that may be shown, and how many may not."""
        if CALL_LINE.match(line) or _words(line) in self._short:
            return "", 1
        if any(map(str.isalnum, line)) and line.strip() in self._lines:
            return "", 1
        spans = sentence_spans(line)
        telling = [
            span
            for span in spans
            if _words(span.of(line)) in self._short
            or self._tells(span.of(line))
            or self._flagged(_MARKER.sub(" ", span.of(line)))
        ]
        if not telling and not self._tells(line):
            return line, 0
        if not telling:  # the words of the prompt reach over the border of two sentences
            return "", max(len(spans), 1)
        for span in reversed(telling):
            line = line[: span.start] + line[span.end :].lstrip(" ")
        left = not self._tells(line) and any(map(str.isalnum, line))
        return (line.rstrip(), len(telling)) if left else ("", len(spans))

    def _tells(self, text: str) -> bool:
        if self._fence in text.casefold() or _CALL.search(text):
            return True
        return not self._secret.isdisjoint(_shingles(text))

    def _harmless(self, text: str) -> str:
        text = visible(text)
        before = None
        while before != text:  # what removing one thing puts together is removed too
            before = text
            text = _COMMENT.sub("", text)
            text = _AUTOLINK.sub(lambda found: found.group(1), text)
            text = _TAG.sub(lambda tag: " " if _BREAKS.match(tag.group()) else "", text)
            text = _IMAGE.sub(lambda found: found["words"], text)
            text = _LINK.sub(self._link, text)
        text = "\n".join(line for line in text.split("\n") if not _DEFINITION.fullmatch(line))
        # What is left open could be closed by what follows: a stream, a page around it.
        text = re.sub(r"!+\[", "[", text).replace("](", "] (")
        text = re.sub(r"<(?=[A-Za-z/!?])(?![A-Za-z]\w*>)", "< ", text)
        return _ADDRESS.sub(self._address, text)

    def _link(self, found: re.Match[str]) -> str:
        """The words of a link; with its address where a source has that."""
        target = found["target"].strip().partition(" ")[0].strip("<>")
        words = str(found["words"])
        if _CITING.fullmatch(words):
            return f"{found['open']}{words}{found['close']}"
        if target.startswith("#") or target in words or _bare(target) not in self._addresses:
            return words
        return f"{words}: {target}"

    def _address(self, found: re.Match[str]) -> str:
        address = _bare(found.group())
        if address in self._addresses and not _runs(address):
            return found.group()
        return REMOVED + found.group()[len(address) :]


def _bare(address: str) -> str:
    return address.rstrip(_TRAILING)


def _runs(address: str) -> bool:
    """Whether opening it runs something."""
    return address.casefold().startswith(("javascript:", "vbscript:", "data:", "blob:"))


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _end(text: str) -> str:
    """The last words of ``text``, as many as a run of the prompt's can reach back."""
    return " ".join(text.rsplit(maxsplit=SHINGLE)[-SHINGLE:])


def _shingles(text: str) -> Iterator[str]:
    words = _words(text).split()
    for place in range(len(words) - SHINGLE + 1):
        yield " ".join(words[place : place + SHINGLE])
