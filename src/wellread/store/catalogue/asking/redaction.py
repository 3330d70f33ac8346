"""The words of texts that were removed or replaced, and taking them out of other texts.

A run of eight words is taken for a quotation; so is a whole sentence of five to seven. Case,
punctuation and white space do not count. What a text that stays says as well is no quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from wellread.text.sentences import sentence_spans

RUN = 8  # words: shorter runs are anybody's
SHORTEST = 5  # words of a whole sentence that counts
BLANK = "█"
_WORD = re.compile(r"\w+")
# Names of fields that hold no prose: what they hold points to something, or is chosen by us.
_PLAIN = frozenset({"id", "document_id", "version", "kind", "method", "key", "session_id", "mode"})


class RemovedWords:
    """What ``texts`` said and ``kept`` do not say.

    Args:
        texts: as they were.
        kept: what stands in their place, or stays beside them.
    """

    def __init__(self, texts: Iterable[str], kept: Iterable[str] = ()) -> None:
        stays = list(kept)
        self._kept = f" {' '.join(word for text in stays for word in _words(text))} "
        self._runs = {run for text in texts for run in _runs(text)}
        self._runs.difference_update(run for text in stays for run in _runs(text))

    def __bool__(self) -> bool:
        return bool(self._runs)

    def still_said(self, quote: str) -> bool:
        """Whether a text that stays has the words of ``quote`` in their order."""
        return f" {' '.join(_words(quote))} " in self._kept

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

    def blanked_in(self, plain: Any) -> Any:
        """The same for every string of a plain JSON value, names and ids excepted."""
        if isinstance(plain, str):
            return self.blanked(plain)
        if isinstance(plain, list):
            return [self.blanked_in(item) for item in plain]
        if isinstance(plain, dict):
            return {
                name: item if name in _PLAIN else self.blanked_in(item)
                for name, item in plain.items()
            }
        return plain


def blacked(text: str) -> str:
    """``text`` with a block in place of every letter."""
    return "".join(character if character.isspace() else BLANK for character in text)


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
