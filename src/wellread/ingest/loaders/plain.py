"""The loader of plain text, with decoding and block writing shared by all text loaders."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count, zip_longest
from typing import Any

import chardet

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.front_matter import date_in_name
from wellread.types import Document

PARAGRAPH = "\n\n"
TITLE_CHARACTERS = 200
MIN_WRAPPED_CHARS, MAX_WRAPPED_CHARS = 45, 120  # length of a hard-wrapped line
HYPHEN = "\ufffe"  # marks a hyphen at the end of a printed line

# UTF-32 comes first, because its mark starts with the mark of UTF-16.
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
CHARS_PER_ODD_SIGN = 2_000  # more frequent odd signs mean that the encoding is wrong
MIN_UTF16_BYTES = 16  # needed to tell UTF-16 without a mark from bytes that are no text
WESTERN_SHARE = 0.85  # of the best guess's confidence, from which Windows-1252 is taken
MAX_DETECT_BYTES = 100_000  # examined by the detection library
NOTE = "no encoding declared, read as {}: if letters look wrong, save it as UTF-8"
_ENCODING_NAMES = {"CP932": "Shift-JIS", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
_ENCODINGS = [  # of the standard of browsers, and UTF-16 without a mark
    *"utf-16-le utf-16-be cp874 cp932 cp949 gb18030 big5hkscs euc_jis_2004 koi8-r koi8-u".split(),
    *("iso2022_jp_2", "iso8859-2", *(f"cp{number}" for number in range(1250, 1259))),
]
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x80-\x84\x86-\x9f\ue000-\uf8ff\ufff0-\uffff]")
# Symbols and capitals inside words indicate a wrong encoding: 'by³' is Polish, 'cafŽ' is café on a
# Macintosh. Dashes, apostrophes, dots and the soft hyphen are normal inside words.
_ODD = re.compile(
    r"[^\W\d_]{2}(?![’‘–—·\u00ad\u00a0…])(?:[^\w\s\x00-\x7f]|[²³¹ºª])(?=[^\W\d_])|[^\W\d_]{3}[²³¹]"
    r"|[a-zß-ÿ][À-ÖØ-ÞŠŒŽŸ]"
)
_NAME_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}[-_ ]?")
_EXPORT_ID = re.compile(r"(?<=.)[ _-][0-9a-f]{32}(?:_all)?$")  # at the end of Notion's names
# Letters of Greek, Cyrillic, Hebrew or Arabic beside Latin ones in a word.
_MIXED_SCRIPTS = re.compile(r"[A-Za-z][\u0370-\u06ff]|[\u0370-\u06ff][A-Za-z]")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_ITEM = re.compile(r"\s*(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+\S")
_COLUMNS = re.compile(r"\S(?:\t+| {3,})\S")  # a gap between the cells of a table
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "\u00ad": "", "\u00a0": " "}
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\uffff]")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]")  # Chinese and Japanese


class Blocks:
    """Writes headings, paragraphs and list items with heading, line and speaker marks.

    Blocks are separated by a blank line unless a narrower ``gap`` is given. Headings nest by
    level and interrupt a speaker's mark, because nobody speaks them.
    """

    def __init__(self) -> None:
        self._builder = TextBuilder()
        self._path: list[tuple[int, str]] = []
        self._speaker: str | None = None
        self._marked: str | None = None
        self._time: float | None = None
        self._columns: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self._builder.length == 0

    def heading(self, level: int, title: str, line: int | None = None) -> None:
        """Write a heading and open its section; ``level`` 1 is the outermost."""
        title = " ".join(title.split())
        if not title:
            return
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))
        self._set_columns(())
        self._separate(PARAGRAPH)
        self._builder.speaker(None)
        self._marked = None
        self._builder.heading(tuple(name for _, name in self._path))
        self._write(title, line)

    def leave(self, level: int) -> None:
        """Close the open sections of ``level`` and deeper."""
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._builder.heading(tuple(name for _, name in self._path))

    def block(
        self,
        text: str,
        line: int | None = None,
        gap: str = PARAGRAPH,
        later: Sequence[tuple[int, int]] = (),
        columns: tuple[str, ...] = (),
    ) -> None:
        """Write one block unless it is blank.

        Args:
            columns: the names of the columns, if the block is a row below a table's header.
            later: offsets in ``text`` where further source lines begin, with their numbers.
        """
        if not text.strip():
            return
        self._set_columns(columns)
        self._separate(gap)
        if self._speaker != self._marked:
            self._builder.speaker(self._speaker)
            self._marked = self._speaker
        if self._time is not None:
            self._builder.time(self._time)
            self._time = None
        start = 0
        for position, number in later:
            self._write(text[start:position], line)
            start, line = position, number
        self._write(text[start:], line)

    def table(
        self,
        rows: Sequence[Sequence[str]],
        lines: Sequence[int | None] = (),
        *,
        header: bool | None = None,
        groups: Collection[int] = (),
    ) -> None:
        """Write the rows of a table.

        Args:
            header: whether the first row names the columns, if known.
            groups: the rows with names over several columns; the row below names each of these.
        """
        rows, numbers = list(rows), [*lines, *[None] * (len(rows) - len(lines))]
        last = next(at for at in count() if at not in groups)
        names = joined_names(rows[: last + 1])
        columns = (
            header_of([names, *rows[last + 1 :]]) if header is None else names if header else ()
        )
        gap = PARAGRAPH
        for at, (cells, line) in enumerate(zip(rows, numbers, strict=True)):
            text = table_row(cells)
            self.block(text, line, gap, columns=columns if at > last else ())
            gap = "\n" if text or gap == "\n" else PARAGRAPH

    def turn(self, speaker: str, begin: float | None = None) -> None:
        """Attribute the following blocks to ``speaker``, from ``begin`` (seconds) if known."""
        self._speaker = speaker
        self._marked = None  # every turn gets its own mark, even for the same speaker
        self._time = begin if begin is not None else self._time

    def build(self) -> Built:
        """Return the complete text and its marks."""
        return self._builder.build()

    def _set_columns(self, columns: tuple[str, ...]) -> None:
        if columns != self._columns:
            self._builder.columns(columns)
            self._columns = columns

    def _separate(self, gap: str) -> None:
        if self._builder.length:
            self._builder.add(gap)

    def _write(self, text: str, line: int | None) -> None:
        if line is not None:
            self._builder.line(line)
        self._builder.add(text)


def decode(source: Source, declared: re.Pattern[bytes] = CODING) -> str:
    """Return the text of the source with ``\\n`` line ends and without a byte order mark.

    Remarks in the source when the encoding was only detected. Tries the byte order mark, UTF-8,
    the encoding that ``declared`` matches in the first bytes,
    and detection, in this order.

    Raises:
        SourceError: no encoding fits.
    """
    data, line = source.data, 0
    from_mark = [name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)][:1]
    hint = declared.search(data[:HEAD_BYTES])
    names = from_mark or ["utf-8", *([hint.group(1).decode("ascii")] if hint else [])]
    # UTF-16 without a mark is often valid UTF-8 with zero bytes.
    may_be_wide = not from_mark and b"\0" in data[:HEAD_BYTES]
    text, encoding = _detect(data) if may_be_wide else ("", "")
    for name in names if not text else ():
        try:
            return _with_line_ends(data.decode(name))
        except UnicodeDecodeError as error:
            line = line or data.count(b"\n", 0, error.start) + 1
        except LookupError:  # an unknown encoding
            continue
    if not text and not from_mark:
        text, encoding = _detect(data)
    if not text:
        form = names[0].removesuffix("-sig").upper()
        raise SourceError(source.uri, f"not {form} (line {line}): save it as UTF-8")
    source.remark(NOTE.format(encoding))
    return _with_line_ends(text)


def _with_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _detect(data: bytes) -> tuple[str, str]:
    """Return the text in a detected encoding and the encoding's name; both empty if uncertain.

    Considers what browsers read, and like them takes Windows-1252 when nothing suggests another.
    """
    found = chardet.detect_all(
        data, True, max_bytes=MAX_DETECT_BYTES, prefer_superset=True, include_encodings=_ENCODINGS
    )
    least = WESTERN_SHARE * found[0]["confidence"]
    western = any(
        guess["encoding"] == "Windows-1252" and guess["confidence"] >= least for guess in found
    )
    encoding = "Windows-1252" if western else found[0]["encoding"] or ""
    try:
        text = data.decode(encoding)
        if len(_MIXED_SCRIPTS.findall(text)) > len(text) // CHARS_PER_ODD_SIGN:
            encoding = "Windows-1252"
            text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        return "", ""
    odd = len(_ODD.findall(text)) if encoding.startswith(("Windows", "ISO")) else 0
    if encoding.startswith("utf-16") and len(data) < MIN_UTF16_BYTES:
        return "", ""
    if encoding == "utf-8" or _NO_TEXT.search(text) or odd > len(text) // CHARS_PER_ODD_SIGN:
        return "", ""
    return text, _ENCODING_NAMES.get(encoding, encoding)


def parse_json(source: Source) -> Any:
    """Return the parsed content of a JSON file."""
    try:
        return json.loads(decode(source))
    except json.JSONDecodeError as error:
        reason = f"malformed JSON on line {error.lineno}: {error.msg}"
        raise SourceError(source.uri, reason) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(source.uri, f"malformed JSON: {str(error)[:100]}") from error


def one_line(text: str) -> str:
    """``text`` with single spaces, split ligatures and no control characters."""
    return " ".join(_CONTROLS.sub("", text.translate(_LIGATURES)).split())


_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl"}
_ROMAN |= {10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"}


def numeral(number: int, form: str) -> str:
    """``number`` as HTML's and Word's lists write it: ``a``, ``A``, ``i``, ``I``, else digits."""
    text, rest = str(number), number
    if form in "aA" and number > 0:  # Word and browsers differ after z
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form in "iI" and 0 < number < 4000:
        text = ""
        for value, letters in _ROMAN.items():
            text += letters * (rest // value)
            rest %= value
    return text.upper() if form in "AI" else text


def table_row(cells: Sequence[str]) -> str:
    """Return the cells joined to one line, without empty cells at the end."""
    count = max((number for number, cell in enumerate(cells, 1) if cell), default=0)
    return " | ".join(cells[:count])


def joined_names(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names of the columns below several rows of names: ``2024 › plan``."""
    columns = zip_longest(*rows, fillvalue="")
    return tuple(" › ".join(dict.fromkeys(filter(None, names))) for names in columns)


def header_of(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The first row if it seems to name the columns: different names that are not values.

    In two columns the names may as well be the first pair of a list, so all pairs below them must
    have numbers.
    """
    first, *rest = rows or [()]
    names = [cell for cell in first if cell]
    is_named = len(names) > 1 and len(set(names)) == len(names) and len(names) + 1 >= len(first)
    values = [cell for cell in names if _has_digit(cell) and not _YEAR.search(cell)]
    if not rest or not is_named or values or len(names) < max(map(len, rest)) - 1:
        return ()
    is_list = len(first) == 2 and not all(len(row) > 1 and _has_digit(row[1]) for row in rest)
    return () if is_list or (len(first) == 2 and len(rest) < 2) else tuple(first)


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def letters_of(text: str) -> str:
    """Only the letters and digits of ``text``, in lower case, for comparison."""
    return "".join(filter(str.isalnum, text)).lower()


def count_words(lines: Sequence[str]) -> Counter[str]:
    """Count the words in printed lines, except those broken at a line's end."""
    text = re.sub(rf"[\w-]*[{HYPHEN}-]\n[\w-]*", " ", "\n".join(lines).lower())
    return Counter(re.findall(r"[\w-]+", text))


def join_lines(text: str, after: str, words: Mapping[str, int]) -> tuple[str, str]:
    """Return the stored form of a printed line, and the separator before the line ``after``.

    A hyphen at the line's end stays when ``words`` (lower-case counts over the whole text)
    suggest a compound, and is removed when the word was only broken.
    """
    clean = text.replace(HYPHEN, "-")
    if not after or not text.endswith((HYPHEN, "-", "\u2010")) or not after[0].isalpha():
        unspaced = after and _UNSPACED.match(text[-1]) and _UNSPACED.match(after)
        return clean, "" if unspaced else " "
    head = re.findall(r"[\w-]*$", clean[:-1])[0].lower()
    rest = re.findall(r"^[\w-]*", after)[0].lower()
    compound, joined = words.get(f"{head}-{rest}", 0), words.get(head + rest, 0)
    parts_known = not joined and words.get(head, 0) > 0 and words.get(rest, 0) > 0
    keep = after[0].isupper() or compound > joined or parts_known
    return (clean if keep else clean[:-1]), ""


def title_from_name(name: str) -> str:
    """A title from a file name, without extension and leading date, with spaces for dashes."""
    stem = _EXPORT_ID.sub("", _EXTENSION.sub("", name))
    words = re.sub(r"[-_\s]+", " ", _NAME_DATE.sub("", stem) or stem).strip()
    return words[:1].upper() + words[1:] if words else name


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """Load a plain text file as one page; wrapped lines of a paragraph are joined."""
    blocks = Blocks()
    write_paragraphs(blocks, decode(source), first_line=1)
    built = blocks.build()
    title = _title(built[0], source.name)
    when = date_in_name(source.name)
    yield source.document(built, kind="page", title=title, source_type="text", published_at=when)


def write_paragraphs(blocks: Blocks, text: str, first_line: int | None = None) -> None:
    """Write the paragraphs of ``text``, which begins on source line ``first_line``."""
    lines = text.replace("\r\n", "\n").split("\n")
    words, start = count_words(lines), 0
    for end in [*(index for index, line in enumerate(lines) if not line.strip()), len(lines)]:
        joined, line_starts = unwrap(lines[start:end], words)
        if first_line is None:
            blocks.block(joined)
        else:
            number = first_line + start
            later = [(position, number + index) for position, index in line_starts]
            blocks.block(joined, number, later=later)
        start = end + 1


def unwrap(lines: Sequence[str], words: Mapping[str, int]) -> tuple[str, list[tuple[int, int]]]:
    """Join the lines of one paragraph where they were hard-wrapped.

    Returns:
        The text, and for each line except the first its offset in the text and its index.
    """
    width = max((len(line.rstrip()) for line in lines), default=0)
    text, joins = "", False
    line_starts: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        stripped = line.strip() if joins else line.rstrip()
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if index:
            line_starts.append((len(text), index))
        joins = bool(below) and _is_wrapped(line.rstrip(), below.rstrip(), width, first=index == 0)
        if joins:
            text += "".join(_join_wrapped(stripped, below.strip(), words))
        else:
            text += stripped + ("\n" if below else "")
    return text, line_starts


def _join_wrapped(line: str, after: str, words: Mapping[str, int]) -> tuple[str, str]:
    """Like ``join_lines``, but remove a hyphen only if the joined word occurs elsewhere."""
    joined, gap = join_lines(line, after, words)
    head, rest = re.findall(r"[\w-]*$", joined)[0], re.findall(r"^[\w-]*", after)[0]
    is_word = words.get((head + rest).lower(), 0) > 0
    return (joined if is_word else line), gap


def _is_wrapped(before: str, line: str, width: int, *, first: bool) -> bool:
    """Whether ``line`` continues the wrapped line ``before`` (``first``: of the paragraph).

    True when ``before`` is long, and the next word did not fit on it or is in lower case.
    """
    if len(before) < MIN_WRAPPED_CHARS or width > MAX_WRAPPED_CHARS or _ITEM.match(line):
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
    """Return the first line if it is a short paragraph, else a title from the file name."""
    first, _, rest = text.partition(PARAGRAPH)
    is_title = bool(rest) and "\n" not in first and len(first.strip()) <= TITLE_CHARACTERS
    return first.strip() if is_title else title_from_name(name)
