"""The words of texts that were removed, and blacking them out in other texts.

A run of eight words is taken for a quotation; so is a whole sentence of five to seven. Case,
punctuation and white space do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from wellread.text.sentences import sentence_spans

RUN = 8  # words: shorter runs are anybody's
SHORTEST = 5  # words of a whole sentence that counts
BLANK = "█"
OPEN, CLOSE = "\ufdd8", "\ufdd9"  # around the number of a reference (``answer_rows``)
REFERENCE = re.compile(rf"{OPEN}(u?)(\d+){CLOSE}")
_WORD = re.compile(r"\w+")
_LETTER = re.compile(rf"({REFERENCE.pattern})|\S")
# Names of fields that hold no prose: what they hold points to something, or is chosen by us.
_PLAIN = frozenset({"id", "document_id", "version", "kind", "method", "key", "session_id", "mode"})


class RemovedWords:
    """What ``texts`` said."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._runs = {run for text in texts for run in _runs(text)}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def blanked(self, text: str) -> str:
        """``text`` with quotations blacked out, letter by letter, so that its length stays."""
        if not self._runs:
            return text
        places = list(_WORD.finditer(text))
        words = [place.group().casefold() for place in places]
        covered = ""
        for length in range(SHORTEST, RUN + 1):
            for first in range(len(words) - length + 1):
                if hash(tuple(words[first : first + length])) in self._runs:
                    start, end = places[first].start(), places[first + length - 1].end()
                    covered = covered or text
                    covered = covered[:start] + blacked(covered[start:end]) + covered[end:]
        return covered or text


def changed_in(plain: Any, change: Callable[[str], str]) -> Any:
    """A plain JSON value with every string changed, names and ids excepted."""
    if isinstance(plain, str):
        return change(plain)
    if isinstance(plain, list):
        return [changed_in(item, change) for item in plain]
    if isinstance(plain, dict):
        return {
            name: item if name in _PLAIN else changed_in(item, change)
            for name, item in plain.items()
        }
    return plain


def blacked(text: str) -> str:
    """``text`` with a block in place of every letter; references stay."""
    return _LETTER.sub(lambda found: found[1] or BLANK, text)


def titles_changed(pairs: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Puts the second in the place of the first of each pair of titles, the longest first.

    A title of one word may be anybody's word: it counts where it stands in quotation marks only.
    """
    new = {old: title for old, title in pairs if old.strip() and old != title}
    if not new:
        return str
    titles = sorted(new, key=len, reverse=True)
    several = "|".join(re.escape(title) for title in titles if len(title.split()) > 1)
    single = "|".join(re.escape(title) for title in titles if len(title.split()) == 1)
    parts = [rf"(?<!\w)(?:{several})(?!\w)"] if several else []
    parts += [rf"(?<=“)(?:{single})(?=”)"] if single else []
    named = re.compile("|".join(parts))
    return lambda text: named.sub(lambda found: new[found.group()], text)


def titles_pattern(titles: Collection[str]) -> re.Pattern[str] | None:
    """Any of the titles as whole words; not numbers, as those stand in markers too."""
    words = (title for title in titles if title.strip() and not title.isdigit())
    known = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)") if known else None


def any_title_changed(titles: Mapping[str, str]) -> Callable[[str], str]:
    """``titles_changed`` for words that say nothing but titles: any of them counts."""
    pattern = titles_pattern(titles)
    if pattern is None:
        return str
    return lambda text: pattern.sub(lambda found: titles[found.group()], text)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _runs(text: str) -> Iterator[int]:
    """Hashes of all runs of ``RUN`` words, and of whole shorter sentences."""
    words = _words(text)
    for first in range(len(words) - RUN + 1):
        yield hash(tuple(words[first : first + RUN]))
    for span in sentence_spans(text):
        said = _words(span.of(text)[: RUN * 40])
        if SHORTEST <= len(said) < RUN:
            yield hash(tuple(said))
