"""Every document that holds a word or phrase, in any of its forms: exhaustive, nothing ranked.

The index says which documents may hold it: a ranked list that is asked for to its end. Whether
they do is read in the texts. Where a word is so common that its list would be too long, the texts
of all documents within the limits are read instead; so the result is exact either way, and only
the time differs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wellread.ask.aggregate.scope import Scope
from wellread.text.english import STOP_WORDS
from wellread.text.names import singular
from wellread.text.stems import stem
from wellread.types import Filters

Form = Callable[[str], str]

LONGEST_LIST = 20_000  # passages; beyond, reading texts is about as quick as unpacking the list
SHORTEST_START = 2
LONGEST_WORD = 40  # the index leaves out longer ones
_WORD = r"[^\W_]+"
_GAP = r"(?:['’]s)?[\W_]+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Where a phrase stands.

    Attributes:
        counts: document id to how often its title and text hold the phrase; never zero.
        apart: documents that hold all of its words, but not as a phrase.
        read: how many texts were read to find out.
    """

    phrase: str
    counts: dict[str, int]
    apart: tuple[str, ...]
    read: int
    literal: bool

    @property
    def forms(self) -> str:
        """Which forms of the words count."""
        return "in singular or plural" if self.literal else "in any form of its words"

    @property
    def method(self) -> str:
        """How it was found, for a reader who checks it."""
        return (
            f"documents whose title or text holds “{self.phrase}” {self.forms} "
            f"(by words, not by meaning; {self.read:,} texts read)"
        )


def holding(scope: Scope, phrase: str, *, literal: bool = False) -> Held:
    """The documents of the scope that hold ``phrase``.

    Args:
        literal: singular and plural are the same, other forms ("facilitator", "facilitate") not.

    Raises:
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    form = _FORMS[literal]
    wanted = tokens(phrase, literal=literal)
    entries = scope.entries() if wanted else []
    ids = [entry.id for entry in entries]
    found = _candidates(scope, phrase) if len(ids) > 1 else None
    if found is not None:
        ids = [known for known in ids if known in found]
    counts: dict[str, int] = {}
    apart: list[str] = []
    start = _starts(wanted)
    for known, whole in scope.kb.catalogue.censuses.texts(ids):
        text = _plain(whole)
        count = _count(start, wanted, text, form)
        if count:
            counts[known] = count
        elif len(wanted) > 1 and _all_there(wanted, text, form):
            apart.append(known)
    kept = {known: counts[known] for known in ids if known in counts}
    return Held(phrase=phrase, counts=kept, apart=tuple(apart), read=len(ids), literal=literal)


def tokens(phrase: str, *, literal: bool = False) -> tuple[str, ...]:
    """The words of ``phrase`` as they are compared: their stems, or with ``literal`` singulars."""
    return tuple(map(_FORMS[literal], _plain_words(phrase)))


def _singular(word: str) -> str:
    plain = word.lower()
    return singular(plain) or plain


def _plain_words(phrase: str) -> list[str]:
    return re.findall(_WORD, re.sub(r"['’]s\b", "", _plain(phrase)))


def _plain(text: str) -> str:
    """``text`` without accents; the index does not tell café from cafe either."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _candidates(scope: Scope, phrase: str) -> set[str] | None:
    """Documents that may hold all of the words; None when the index cannot tell."""
    index = scope.kb.index
    filters = Filters(collections=scope.collections)
    found: set[str] | None = None
    for token in dict.fromkeys(word.lower() for word in _plain_words(phrase)):
        if token in STOP_WORDS or len(token) > LONGEST_WORD:
            continue  # words that the index may not have
        rows = index.search_text(token, filters, LONGEST_LIST)
        if len(rows) < LONGEST_LIST:
            held = {row.document_id for row in rows}
            found = held if found is None else found & held
    return found


def _starts(wanted: Sequence[str]) -> re.Pattern[str]:
    """Where the phrase may stand: by the first letters of each word, which is quick.

    A stem is not always how its words begin (city, cities: citi), so its last letter is left out.
    """
    starts = [re.escape(stem[: max(SHORTEST_START, len(stem) - 1)]) for stem in wanted]
    return re.compile(_GAP.join(rf"({start}[^\W_]*)" for start in starts), re.IGNORECASE)


def _count(start: re.Pattern[str], wanted: Sequence[str], text: str, form: Form) -> int:
    count = place = 0
    while found := start.search(text, place):
        begins = found.start() == 0 or not text[found.start() - 1].isalnum()
        right = begins and all(
            form(token) == one for token, one in zip(found.groups(), wanted, strict=True)
        )
        count += right
        place = found.end() if right else found.start() + 1
    return count


def _all_there(wanted: Iterable[str], text: str, form: Form) -> bool:
    return all(_count(_starts([one]), [one], text, form) for one in set(wanted) - STOP_WORDS)


_FORMS: dict[bool, Form] = {False: stem, True: _singular}
