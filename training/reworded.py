"""Questions in other words than the text's: shared words give way to their synonyms.

People ask in their own words, while questions written with the text in view repeat it; a reader
that learns from the latter only looks for the same words. Synonyms are those of WordNet (Miller
1995), in its dictionary files (``index.noun``, ``data.noun`` and so on).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PARTS = ("noun", "verb", "adj", "adv")
SENSES = 1  # of a word, the commonest
REPLACED = 0.6  # of the words that a question shares with its text
KEPT_AS_THEY_ARE = frozenset(
    "what when where which who whom whose why how many much long often far old did does was were "
    "are the and for from with that this there have has had been can could will would not".split()
)
_WORD = re.compile(r"[A-Za-z]{3,}")
_ENDINGS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "noun": (("s", "", "s"), ("ses", "s", "s"), ("ches", "ch", "s"), ("ies", "y", "s")),
    "verb": (
        ("s", "", "s"),
        ("ies", "y", "s"),
        ("es", "", "s"),
        ("ed", "", "ed"),
        ("ed", "e", "ed"),
        ("ied", "y", "ed"),
        ("ing", "", "ing"),
        ("ing", "e", "ing"),
    ),
    "adj": (),
    "adv": (),
}
"""By part of speech: the ending of a form, that of its lemma, and what kind of form it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sense:
    part: str
    often: int
    synonyms: tuple[str, ...]


class Thesaurus:
    """Synonyms of English words in their commonest senses."""

    def __init__(self, folder: Path) -> None:
        """Read WordNet's files of ``folder``.

        Raises:
            OSError: they cannot be read.
        """
        self._senses: dict[str, _Sense] = {}
        for part in PARTS:
            self._read(folder, part)

    def others(self, word: str) -> list[str]:
        """Words that mean the same as ``word``, in its form; none for a word not known."""
        found: list[str] = []
        for lemma, part, form in _lemmas(word.lower()):
            sense = self._senses.get(lemma)
            if sense is None or (part and sense.part != part):
                continue
            found += [_formed(one, form) for one in sense.synonyms]
            if found:
                break
        return [one for one in found if one.lower() != word.lower()]

    def _read(self, folder: Path, part: str) -> None:
        data = (folder / f"data.{part}").read_bytes()
        for line in (folder / f"index.{part}").read_text("utf-8").splitlines():
            if line.startswith(" "):
                continue
            fields = line.split()
            lemma, count = fields[0], int(fields[2])
            often = int(fields[-count - 1])
            if "_" in lemma or not often:
                continue
            names: list[str] = []
            for offset in fields[-count:][:SENSES]:
                end = data.index(b"\n", int(offset))
                names += _names(data[int(offset) : end].decode("utf-8"))
            synonyms = tuple(dict.fromkeys(one for one in names if one.lower() != lemma))
            known = self._senses.get(lemma)
            if synonyms and (known is None or often > known.often):
                self._senses[lemma] = _Sense(part=part, often=often, synonyms=synonyms)


def reworded(question: str, text: str, thesaurus: Thesaurus, rng: random.Random) -> str:
    """``question`` with most of the words that it shares with ``text`` as their synonyms.

    Names and words without synonyms stay.
    """
    told = {_stem(one[0]) for one in _WORD.finditer(text.lower())}

    def replaced(found: re.Match[str]) -> str:
        word = found[0]
        name = word[0].isupper() and found.start() > 0
        if name or word.lower() in KEPT_AS_THEY_ARE or _stem(word.lower()) not in told:
            return word
        others = thesaurus.others(word) if rng.random() < REPLACED else []
        return rng.choice(others) if others else word

    return _WORD.sub(replaced, question)


def _names(line: str) -> list[str]:
    """The words of one line of a data file, those with a capital left out."""
    fields = line.split()
    count = int(fields[3], 16)
    words = [fields[4 + 2 * at].partition("(")[0] for at in range(count)]
    return [one.replace("_", " ") for one in words if one.islower()]


def _lemmas(word: str) -> list[tuple[str, str, str]]:
    """What ``word`` may be a form of: lemma, part of speech ("" for any), and the form."""
    found = [(word, "", "")]
    for part, endings in _ENDINGS.items():
        for ending, own, form in endings:
            if word.endswith(ending) and len(word) > len(ending) + 2:
                found.append((word[: -len(ending)] + own, part, form))
    return found


def _formed(lemma: str, form: str) -> str:
    """``lemma``, or its first word where it has several and is a verb, in a form."""
    if not form:
        return lemma
    first, space, rest = lemma.partition(" ") if form != "s" else ("", "", lemma)
    word = rest if form == "s" else first
    if form == "s":
        return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"
    if form == "ed":
        ending = "d" if word.endswith("e") else "ed"
        return f"{word}{ending}{space}{rest}"
    return f"{word[:-1] if word.endswith('e') else word}ing{space}{rest}"


def _stem(word: str) -> str:
    return re.sub(r"(?:ing|ed|es|s|e)$", "", word) if len(word) > 4 else word
