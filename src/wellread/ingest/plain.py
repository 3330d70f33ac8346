"""Plain text, and what every loader of text shares: decoding, and writing blocks with marks."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping

from wellread.errors import SourceError
from wellread.ingest.base import LoaderLimits, Source, TextBuilder
from wellread.types import Document, Mark

PARAGRAPH = "\n\n"
TITLE_CHARACTERS = 120
BROKEN = "\ufffe"  # stands for a hyphen at the end of a printed line

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NAME_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}[-_ ]?")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "\u00ad": "", "\u00a0": " "}
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufeff\uffff]")
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

    def block(self, text: str, line: int | None = None, gap: str = PARAGRAPH) -> None:
        """Write one block; nothing when it is blank."""
        if not text.strip():
            return
        self._separate(gap)
        if self._speaker != self._marked:
            self._builder.speaker(self._speaker)
            self._marked = self._speaker
        if self._time is not None:
            self._builder.time(self._time)
            self._time = None
        self._write(text, line)

    def turn(self, speaker: str, begin: float | None = None) -> None:
        """What follows is said by ``speaker``, from ``begin`` (seconds) on where that is known."""
        self._speaker = speaker
        self._marked = None  # a new turn gets a mark of its own, also of the same speaker
        self._time = begin if begin is not None else self._time

    def build(self) -> tuple[str, tuple[Mark, ...]]:
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
    """The source as text with ``\\n`` line ends; a byte order mark is honoured and dropped.

    Raises:
        SourceError: the bytes are not UTF-8 (nor UTF-16 with its mark).
    """
    encoding = "utf-16" if source.data.startswith(_UTF16_MARKS) else "utf-8-sig"
    try:
        text = source.data.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(
            source.uri,
            f"not UTF-8 (byte {error.start})",
            hint="save the file as UTF-8",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def require_text(source: Source, text: str) -> None:
    """Refuse a document without any character that is not white space.

    Raises:
        SourceError: there is no text.
    """
    if not text.strip():
        raise SourceError(source.uri, "no text")


def one_line(text: str) -> str:
    """``text`` with single spaces, ligatures taken apart and control characters dropped."""
    return " ".join(_CONTROLS.sub("", text.translate(_LIGATURES)).split())


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
    """One page; lines stay as they are, paragraphs are what blank lines separate."""
    text = decode(source)
    require_text(source, text)
    builder = TextBuilder()
    gap = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            gap = PARAGRAPH
            continue
        if builder.length:
            builder.add(gap or "\n")
        gap = ""
        builder.line(number)
        builder.add(line.rstrip())
    stored, marks = builder.build()
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind="page",
        title=_title(stored, source.name),
        text=stored,
        marks=marks,
        source_type="text",
    )


def _title(text: str, name: str) -> str:
    """The first line when it stands alone and is short, else the file's name."""
    first, _, rest = text.partition(PARAGRAPH)
    alone = bool(rest) and "\n" not in first and len(first.strip()) <= TITLE_CHARACTERS
    return first.strip() if alone else title_from_name(name)
