"""Whether a quotation stands where its locator says, read from the source file by other means.

Nothing here uses Wellread's loaders. Texts are compared as bare letters and digits (NFKC, lower
case), so that white space, hyphens at line ends and markup signs do not count.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pypdfium2 as pdfium
import webvtt
from lxml import etree
from lxml import html as lxml_html

from wellread.types import Locator

BEGINNING = 30  # letters and digits of a quotation that must stand at the place
TIME_SLACK = 0.6  # seconds

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LIQUID = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_LINK_END = re.compile(r"\]\([^()\n]*\)|\]\s?\[[^\]\n]*\]")
_TAG = re.compile(r"<[^<>]*>")
_ATX = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_EMPHASISED = re.compile(r"([_*]{1,2})([^_*\n]+)\1\s*$")
_VOICE = re.compile(r"<v(?:\.[\w.-]+)*\s+([^<>]+)>")
_NAME_PREFIX = re.compile(r"(?:>>\s*)?([A-Z][\w.'’ -]{0,40}):\s")
_TURN = re.compile(r"(?:\*\*)?((?=[A-Z])[^\W\d_][^:*\[\]()]{0,60}?)(?:\*\*)?\s*:(?:\*\*)?\s")

Check = Callable[[Path, str, Locator, str], str]


def bare(text: str) -> str:
    """Letters and digits alone, NFKC, lower case."""
    return "".join(
        character
        for character in unicodedata.normalize("NFKC", text).lower()
        if character.isalnum()
    )


def beginning(quote: str) -> str:
    """The first letters and digits of ``quote``."""
    return bare(quote)[:BEGINNING]


# Every check takes the file, the quotation, its locator and the document's address, and returns
# what is wrong with the place, or an empty string.


def in_pdf(path: Path, quote: str, locator: Locator, _: str) -> str:
    """The page holds the quotation's beginning; how much of it is there when it does not."""
    if locator.page is None:
        return "no page"
    pages = pdfium.PdfDocument(path)
    if not 1 <= locator.page <= len(pages):
        return f"no page {locator.page} in the file"
    texts = [
        pages[number].get_textpage().get_text_range()
        for number in range(locator.page - 1, min(locator.page + 1, len(pages)))
    ]
    if beginning(quote) not in bare(texts[0]):
        words = {bare(word) for word in quote.split()} - {""}
        held = bare(" ".join(texts))
        share = sum(word in held for word in words) / max(1, len(words))
        return f"page {locator.page} lacks its beginning ({share:.0%} of its words are there)"
    return ""


def in_captions(path: Path, quote: str, locator: Locator, _: str) -> str:
    """The cue in which the quotation begins starts at the time, and its speaker is named."""
    if locator.begin is None:
        return "no time"
    cues = _cues(path)
    places: list[int] = []
    joined = ""
    for number, cue in enumerate(cues):
        piece = bare(cue[2])
        joined += piece
        places += [number] * len(piece)
    wanted = beginning(quote)
    starts = [match.start() for match in re.finditer(re.escape(wanted), joined)]
    if not starts:
        return "not in the captions"
    found = [cues[places[start]] for start in starts]
    near = [cue for cue in found if abs(cue[0] - locator.begin) <= TIME_SLACK]
    if not near:
        said = ", ".join(f"{cue[0]:.1f}" for cue in found)
        return f"said at {said} s, the locator has {locator.begin:.1f} s"
    speaker = near[0][1]
    if speaker and bare(speaker) != bare(locator.speaker or ""):
        return f"said by {speaker!r}, the locator has {locator.speaker!r}"
    return ""


def _cues(path: Path) -> list[tuple[float, str, str]]:
    """Start in seconds, speaker (the last one named, so far), and words of each cue."""
    parsed = {
        ".vtt": webvtt.WebVTT.read,
        ".srt": webvtt.WebVTT.from_srt,
        ".sbv": webvtt.WebVTT.from_sbv,
    }[path.suffix.lower()](str(path))
    cues: list[tuple[float, str, str]] = []
    speaker = ""
    for caption in parsed.captions:
        raw = caption.raw_text
        voice = _VOICE.search(raw)
        words = html.unescape(_TAG.sub(" ", raw))
        named = _NAME_PREFIX.match(words)
        if voice:
            speaker = voice.group(1).strip()
        elif named:
            speaker = named.group(1).strip()
            words = words[named.end() :]
        hours, minutes, seconds = caption.start.replace(",", ".").split(":")
        cues.append((int(hours) * 3600 + int(minutes) * 60 + float(seconds), speaker, words))
    return cues


def in_markdown(path: Path, quote: str, locator: Locator, _: str) -> str:
    """The quotation stands in the block of the line, under the heading, said by the speaker."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    number = _line_of(lines, quote, locator.line or 1)
    if number is None:
        return "not in the file"
    above = _TAG.sub(" ", _LINK_END.sub("", _heading_above(lines, number)))
    last = locator.heading[-1] if locator.heading else ""
    if bare(last) != bare(above) and not _front_matter_title(lines, last):
        return f"stands under {above!r}, the locator has {last!r}"
    if locator.speaker and bare(locator.speaker) != bare(_speaker_above(lines, number)):
        return f"said by {_speaker_above(lines, number)!r}, the locator has {locator.speaker!r}"
    if locator.line is None:
        return "no line"
    between = lines[locator.line - 1 : number]
    if locator.line > number or any(not line.strip() for line in between):
        return f"stands on line {number}, the locator has line {locator.line}"
    return ""


def _front_matter_title(lines: Sequence[str], title: str) -> bool:
    return bool(title) and any(
        line.lower().startswith("title:") and bare(title) in bare(line) for line in lines[:30]
    )


def _line_of(lines: Sequence[str], quote: str, near: int) -> int | None:
    """The line (from 1) where the quotation begins; of several the one nearest to ``near``."""
    squashed, places = _squashed(lines)
    wanted = beginning(quote)
    starts = [match.start() for match in re.finditer(re.escape(wanted), squashed)]
    if not wanted or not starts:
        return None
    return min((places[start] for start in starts), key=lambda line: abs(line - near))


def _squashed(lines: Sequence[str]) -> tuple[str, list[int]]:
    """The file as bare letters without templates, link targets and tags, with their lines."""
    text = "\n".join(lines)
    for pattern in (_LIQUID, _LINK_END, _TAG):
        # White space in place of what goes, so that every character keeps its line.
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    letters: list[str] = []
    places: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        plain = bare(html.unescape(line))
        letters.append(plain)
        places += [number] * len(plain)
    return "".join(letters), places


def _heading_above(lines: Sequence[str], number: int) -> str:
    for place in range(number, _front_matter_lines(lines), -1):
        line = lines[place - 1]
        written = _ATX.match(line)
        if written:
            return written.group(1)
        underline = lines[place].strip() if place < len(lines) else ""
        if re.fullmatch(r"=+|-{3,}", underline) and line.strip() and place < number:
            return line.strip()
        alone = _EMPHASISED.match(line.strip())
        before = lines[place - 2].strip() if place >= 2 else ""
        if alone and not before and not underline:
            return alone.group(2)
    return ""


def _front_matter_lines(lines: Sequence[str]) -> int:
    """How many lines at the top are front matter, its fences among them."""
    if not lines or lines[0].strip() != "---":
        return 0
    closing = (number for number, line in enumerate(lines[1:], 2) if line.strip() == "---")
    return next(closing, 0)


def _speaker_above(lines: Sequence[str], number: int) -> str:
    for place in range(number, 0, -1):
        turn = _TURN.match(lines[place - 1])
        if turn:
            return turn.group(1)
    return ""


def in_text(path: Path, quote: str, locator: Locator, _: str) -> str:
    """The quotation begins on the line."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if locator.line is None:
        return "no line"
    number = _line_of(lines, quote, locator.line)
    if number is None:
        return "not in the file"
    return "" if number == locator.line else f"line {number}, the locator has {locator.line}"


def in_records(path: Path, quote: str, locator: Locator, _: str) -> str:
    """The line of the JSONL file holds the quotation."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if locator.line is None or not 1 <= locator.line <= len(lines):
        return f"no line {locator.line}"
    held = bare(" ".join(_strings(json.loads(lines[locator.line - 1]))))
    return "" if bare(quote) in held else f"line {locator.line} does not hold it"


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def in_feed(path: Path, quote: str, _: Locator, address: str) -> str:
    """The entry with the document's link holds the quotation."""
    root = etree.fromstring(path.read_bytes())
    for entry in root.iter("{*}item", "{*}entry"):
        links = [link.get("href") or link.text or "" for link in entry.iter("{*}link", "{*}guid")]
        if address in (link.strip() for link in links):
            words = _TAG.sub(" ", html.unescape(" ".join(str(piece) for piece in entry.itertext())))
            held = bare(html.unescape(words))
            return "" if beginning(quote) in held else "the entry does not hold it"
    return f"no entry with the link {address}"


_DECLARED = re.compile(rb"<\?xml[^>]+encoding|charset=", re.IGNORECASE)


def in_html(path: Path, quote: str, locator: Locator, _: str) -> str:
    """The quotation stands under the heading."""
    data = path.read_bytes()
    # lxml takes a page without a declared character set for Latin-1.
    root = lxml_html.fromstring(
        data.decode("utf-8", "replace") if not _DECLARED.search(data[:2048]) else data
    )
    heading, joined = "", ""
    headings: list[str] = []
    for element, words in _html_pieces(root):
        if element in _HEADINGS:
            heading = words
        piece = bare(words)
        joined += piece
        headings += [heading] * len(piece)
    wanted = beginning(quote)
    found = {bare(headings[m.start()]) for m in re.finditer(re.escape(wanted), joined)}
    if not found:
        return "not in the page"
    last = bare(locator.heading[-1]) if locator.heading else ""
    # Under the page's own title there may be no heading.
    titles = [bare(root.findtext(f".//{tag}") or "") for tag in ("title", "h1")]
    if last in found or (not last and any(not one or one in titles for one in found)):
        return ""
    return f"stands under {sorted(found)}, the locator has {locator.heading!r}"


def _html_pieces(element: lxml_html.HtmlElement) -> Iterator[tuple[str, str]]:
    """Name of the element and words, in reading order; a heading in one piece."""
    if isinstance(element.tag, str) and element.tag not in ("script", "style", "title"):
        if element.tag in _HEADINGS:
            yield element.tag, " ".join(element.itertext())
        else:
            yield element.tag, element.text or ""
            for child in element:
                yield from _html_pieces(child)
    yield "", element.tail or ""


CHECKS: dict[str, Check] = {
    ".pdf": in_pdf,
    ".vtt": in_captions,
    ".srt": in_captions,
    ".sbv": in_captions,
    ".md": in_markdown,
    ".txt": in_text,
    ".jsonl": in_records,
    ".xml": in_feed,
    ".html": in_html,
    ".htm": in_html,
}
