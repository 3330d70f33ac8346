"""Plain text, and what every loader of text shares: decoding, and writing blocks with marks."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from charset_normalizer import from_bytes

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.front_matter import date_in_name
from wellread.types import Document

PARAGRAPH = "\n\n"
TITLE_CHARACTERS = 200
WRAPPED_LEAST, WRAPPED_MOST = 45, 120  # characters of a line that was broken to fit a width
BROKEN = "\ufffe"  # stands for a hyphen at the end of a printed line

# The mark of UTF-16 begins that of UTF-32, which therefore comes first.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
# On the first two lines, as editors and Python write it (PEP 263).
CODING = re.compile(rb"\A(?:[^\n]*\n)?[^\n]*?coding[:=][ \t]*([-\w.]{1,40})")
HEAD_BYTES = 4096
ODD_AMONG = 2_000  # characters of a text, in which one odd sign is believed
LEAST_BYTES = 24  # that speak for another encoding than Windows-1252
LOOKED_AT = 100_000  # bytes, by the library that knows many encodings
NOTE = "read as {}, which it does not declare: if letters look wrong, save it as UTF-8"
_CALLED = {"cp1252": "Windows-1252", "cp1251": "Windows-1251", "cp932": "Shift-JIS"}
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")
# Signs and capitals inside of words were letters in another encoding: 'by³' is Polish, 'cafŽ' a
# Macintosh's café. Dashes, apostrophes, dots and the soft hyphen do stand there.
_ODD = re.compile(
    r"[^\W\d_]{2}(?![’‘–—·\u00ad\u00a0…])(?:[^\w\s\x00-\x7f]|[²³¹ºª])(?=[^\W\d_])|[^\W\d_]{3}[²³¹]"
    r"|[a-zß-ÿ][À-ÖØ-ÞŠŒŽŸ]"
)
_NAME_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}[-_ ]?")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_ITEM = re.compile(r"\s*(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+\S")
_COLUMNS = re.compile(r"\S(?:\t+| {3,})\S")  # a gap between the cells of a table
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "\u00ad": "", "\u00a0": " "}
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\uffff]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]")  # Chinese and Japanese


class Blocks:
    """Writes headings, paragraphs and list items, with their heading, line and turn marks.

    Blocks are separated by a blank line unless a narrower ``gap`` is given. Headings nest by
    level; a heading is nobody's speech, so a speaker's mark is interrupted by it.
    """

    def __init__(self) -> None:
        self._builder = TextBuilder()
        self._path: list[tuple[int, str]] = []
        self._speaker: str | None = None
        self._marked: str | None = None
        self._time: float | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self._builder.length == 0

    def heading(self, level: int, title: str, line: int | None = None) -> None:
        """Write a heading and open its section (``level`` 1 is the outermost)."""
        title = " ".join(title.split())
        if not title:
            return
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))
        self._separate(PARAGRAPH)
        self._builder.speaker(None)
        self._marked = None
        self._builder.heading(tuple(name for _, name in self._path))
        self._write(title, line)

    def leave(self, level: int) -> None:
        """End the open sections of ``level`` and of all inside them."""
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._builder.heading(tuple(name for _, name in self._path))

    def block(
        self,
        text: str,
        line: int | None = None,
        gap: str = PARAGRAPH,
        later: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Write one block; nothing when it is blank.

        Args:
            later: places in ``text`` at which a further source line begins, and that line.
        """
        if not text.strip():
            return
        self._separate(gap)
        if self._speaker != self._marked:
            self._builder.speaker(self._speaker)
            self._marked = self._speaker
        if self._time is not None:
            self._builder.time(self._time)
            self._time = None
        begun = 0
        for place, number in later:
            self._write(text[begun:place], line)
            begun, line = place, number
        self._write(text[begun:], line)

    def turn(self, speaker: str, begin: float | None = None) -> None:
        """What follows is said by ``speaker``, from ``begin`` (seconds) on where that is known."""
        self._speaker = speaker
        self._marked = None  # a new turn gets a mark of its own, also of the same speaker
        self._time = begin if begin is not None else self._time

    def build(self) -> Built:
        """The whole text and all marks."""
        return self._builder.build()

    def _separate(self, gap: str) -> None:
        if self._builder.length:
            self._builder.add(gap)

    def _write(self, text: str, line: int | None) -> None:
        if line is not None:
            self._builder.line(line)
        self._builder.add(text)


def decode(source: Source) -> str:
    """The source as text with ``\\n`` line ends, without its byte order mark."""
    return decoded(source, CODING)[0].replace("\r\n", "\n").replace("\r", "\n")


def decoded(source: Source, declared: re.Pattern[bytes]) -> tuple[str, str]:
    """The text, and a note when its encoding was only detected.

    By byte order mark, else as UTF-8, by what ``declared`` finds in the first bytes, by detection.

    Raises:
        SourceError: none of them fits.
    """
    data, line = source.data, 0
    marked = [name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)][:1]
    named = declared.search(data[:HEAD_BYTES])
    for name in marked or ["utf-8", *([named.group(1).decode("ascii")] if named else [])]:
        try:
            return data.decode(name), ""
        except UnicodeDecodeError as error:
            line = line or data.count(b"\n", 0, error.start) + 1
        except LookupError:  # an encoding that nobody knows
            continue
    text, note = ("", "") if marked else _detected(data)
    if not text:
        form = (marked or ["utf-8"])[0].removesuffix("-sig").upper()
        raise SourceError(source.uri, f"not {form} (line {line}): save it as UTF-8")
    return text, note


def _detected(data: bytes) -> tuple[str, str]:
    """Text that declares nothing, with a note that names the encoding; empty when that is unsure.

    As browsers do, it is Windows-1252 unless the bytes speak for another.
    """
    matches = from_bytes(data[:LOOKED_AT])
    best = matches.best()
    western = any("cp1252" in one.could_be_from_charset for one in matches)
    other = best.encoding if best and len(data) >= LEAST_BYTES else "utf-8"
    encoding = "cp1252" if western else other
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return "", ""
    odd = len(_ODD.findall(text)) if western else 0
    if encoding.startswith("utf") or _NO_TEXT.search(text) or odd > len(text) // ODD_AMONG:
        return "", ""
    return text, NOTE.format(_CALLED.get(encoding, encoding))


def json_of(source: Source) -> Any:
    """What the JSON file holds."""
    try:
        return json.loads(decode(source))
    except json.JSONDecodeError as error:
        reason = f"malformed JSON on line {error.lineno}: {error.msg}"
        raise SourceError(source.uri, reason) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(source.uri, f"malformed JSON: {str(error)[:100]}") from error


def one_line(text: str) -> str:
    """``text`` with single spaces, ligatures taken apart and control characters dropped."""
    return " ".join(_CONTROLS.sub("", text.translate(_LIGATURES)).split())


def bare(text: str) -> str:
    """The letters and digits of ``text`` alone, in lower case, to compare words by."""
    return "".join(filter(str.isalnum, text)).lower()


def whole_words(lines: Sequence[str]) -> Counter[str]:
    """How often each word stands in printed lines; what a line's end has broken is left out."""
    whole = re.sub(rf"[\w-]*[{BROKEN}-]\n[\w-]*", " ", "\n".join(lines).lower())
    return Counter(re.findall(r"[\w-]+", whole))


def join_lines(text: str, after: str, words: Mapping[str, int]) -> tuple[str, str]:
    """A printed line as it is stored, and what stands between it and the line ``after``.

    A hyphen at the line's end stays when ``words`` (counts over the whole text, lower case)
    speak for a compound, and goes when the word was only broken.
    """
    clean = text.replace(BROKEN, "-")
    if not after or not text.endswith((BROKEN, "-", "\u2010")) or not after[0].isalpha():
        unspaced = after and _UNSPACED.match(text[-1]) and _UNSPACED.match(after)
        return clean, "" if unspaced else " "
    head = re.findall(r"[\w-]*$", clean[:-1])[0].lower()
    rest = re.findall(r"^[\w-]*", after)[0].lower()
    compound, whole = words.get(f"{head}-{rest}", 0), words.get(head + rest, 0)
    both = not whole and words.get(head, 0) > 0 and words.get(rest, 0) > 0
    keep = after[0].isupper() or compound > whole or both
    return (clean if keep else clean[:-1]), ""


def title_from_name(name: str) -> str:
    """A title from a file name: no extension, no leading date, spaces for dashes."""
    stem = _EXTENSION.sub("", name)
    words = re.sub(r"[-_\s]+", " ", _NAME_DATE.sub("", stem) or stem).strip()
    return words[:1].upper() + words[1:] if words else name


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One page. Blank lines separate paragraphs; the lines of a wrapped one are joined."""
    blocks = Blocks()
    write_paragraphs(blocks, decode(source), first_line=1)
    built = blocks.build()
    title = _title(built[0], source.name)
    when = date_in_name(source.name)
    yield source.document(built, kind="page", title=title, source_type="text", published_at=when)


def write_paragraphs(blocks: Blocks, text: str, first_line: int | None = None) -> None:
    """Write what blank lines separate; ``first_line`` of the source is that of ``text``."""
    lines = text.replace("\r\n", "\n").split("\n")
    words, begun = whole_words(lines), 0
    for number in [*(at for at, line in enumerate(lines) if not line.strip()), len(lines)]:
        joined, later = unwrapped(lines[begun:number], words)
        if first_line is None:
            blocks.block(joined)
        else:
            begins = first_line + begun
            blocks.block(joined, begins, later=[(place, begins + index) for place, index in later])
        begun = number + 1


def unwrapped(lines: Sequence[str], words: Mapping[str, int]) -> tuple[str, list[tuple[int, int]]]:
    """The lines of one paragraph, joined where a line was only broken to fit a width.

    Returns:
        The text, and for each line but the first its place in the text and its index.
    """
    width = max((len(line.rstrip()) for line in lines), default=0)
    text, joins = "", False
    places: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        piece = line.strip() if joins else line.rstrip()
        after = lines[index + 1] if index + 1 < len(lines) else ""
        if index:
            places.append((len(text), index))
        joins = bool(after) and _goes_on(line.rstrip(), after.rstrip(), width, first=index == 0)
        if joins:
            text += "".join(_join(piece, after.strip(), words))
        else:
            text += piece + ("\n" if after else "")
    return text, places


def _join(piece: str, after: str, words: Mapping[str, int]) -> tuple[str, str]:
    """As ``join_lines``, but a hyphen goes only where the whole word stands elsewhere."""
    joined, gap = join_lines(piece, after, words)
    head, rest = re.findall(r"[\w-]*$", joined)[0], re.findall(r"^[\w-]*", after)[0]
    broken = words.get((head + rest).lower(), 0) > 0
    return (joined if broken else piece), gap


def _goes_on(before: str, line: str, width: int, *, first: bool) -> bool:
    """Whether ``line`` goes on with what ``before`` began (``first``: the paragraph's first line).

    The line before is long, and the next word had no room on it or is in lower case.
    """
    if len(before) < WRAPPED_LEAST or width > WRAPPED_MOST or _ITEM.match(line):
        return False
    if _COLUMNS.search(before) or _COLUMNS.search(line):
        return False
    step = _indent(line) - _indent(before)
    if (step > 0 and not _ITEM.match(before)) or (step < 0 and not first):
        return False
    word = line.split(maxsplit=1)[0]
    return len(before) + 1 + len(word) > width or word[0].islower()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _title(text: str, name: str) -> str:
    """The first line when it stands alone and is short, else the file's name."""
    first, _, rest = text.partition(PARAGRAPH)
    alone = bool(rest) and "\n" not in first and len(first.strip()) <= TITLE_CHARACTERS
    return first.strip() if alone else title_from_name(name)
