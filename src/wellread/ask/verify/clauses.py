"""A sentence as the things it tells of, in order: words, names, numbers, days, and what is denied.

No parser: names are runs of capitals, a denial reaches to the next word of content, a passive with
its doer ("X was built by Y") is turned round, and what a sentence opens with ("In 1990, ...") goes
to its end. That is enough to lay two sentences beside each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from wellread.text.english import (
    ARTICLES,
    AUXILIARIES,
    BE,
    DENIALS,
    DENYING,
    LOOSE_NUMBERS,
    MONTHS,
    MONTHS_SHORT,
    NUMBER_WORDS,
    PARTICIPLES,
    PREPOSITIONS,
    SCALES,
    SEEMING_DENIALS,
    STOP_WORDS,
    WEEKDAYS,
)
from wellread.text.words import LETTERS, stem

Kind = Literal["word", "name", "number", "year", "month", "weekday"]
SLOTS = ("name", "number", "year", "month", "weekday")

_TOKEN = re.compile(
    r"[$€£]?\d(?:[\d,]*\d)?(?:\.\d+)?(?![\w-]*[A-Z])(?:(?:st|nd|rd|th|s|k|m|mn|bn)\b)?"
    r"|[^\W_]+(?:[’'.&+-][^\W_]+)*[+#]*|[,;:()—–]|\.(?=\s)"
)
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d(?:s)?")
_DIGITS = re.compile(r"[$€£]?(\d[\d,]*(?:\.\d+)?)(?:st|nd|rd|th|s|(k|m|mn|bn))?")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
LONGEST_FRAGMENT = 5  # words
VERBS = BE | AUXILIARIES | {"has", "have", "had"}
_BREAK = frozenset(",;:()—–.")
_MONTHS = {
    name: number
    for names in (MONTHS, MONTHS_SHORT)
    for number, name in enumerate(names, 1)
    if name != "may"
}
_SEEMING = re.compile(rf"\b(?:{'|'.join(SEEMING_DENIALS)})\b", re.IGNORECASE)
# "2018–19": the second year, in short.
_YEARS = re.compile(r"\b((?:1[6-9]|20)\d\d)[–/-]\d\d\b")
_NO_LONGER = re.compile(r"\bno longer\b", re.IGNORECASE)
_LEADS = PREPOSITIONS | {"of", "to", "by"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A word of content, a name, a number or a day.

    Attributes:
        said: as written.
        keys: what it is compared by: the stems of its words, or its value.
        led: the preposition before it; empty when none leads to it.
        clause: the number of the run between commas in which it stands.
        denied: the word of denial that reaches it; empty when none does.
    """

    kind: Kind
    said: str
    keys: frozenset[str]
    led: str = ""
    clause: int = 0
    denied: str = ""
    passive: bool = False

    @property
    def key(self) -> str:
        """Its keys as one."""
        return " ".join(sorted(self.keys))


def states(sentence: str) -> bool:
    """Whether ``sentence`` says something; a name alone does not, nor a thing without a verb."""
    words = _WORD.findall(sentence)
    low = [word.lower().replace("’", "'") for word in words]
    if len(words) > LONGEST_FRAGMENT or ":" in sentence:
        return True
    if any(word in VERBS or word.endswith("n't") for word in low):
        return True
    plain = [word for word in words if word[:1].islower() and word not in STOP_WORDS]
    if not plain:
        return False
    return low[0] not in ARTICLES or any(_verbal(word) for word in plain)


def _verbal(word: str) -> bool:
    return word.endswith(("ed", "s")) or word in PARTICIPLES


@lru_cache(maxsize=4_000)
def units_of(sentence: str) -> tuple[Unit, ...]:
    """The units of ``sentence``: what it opens with at the end, passives turned round."""
    return tuple(_active(_lead_last(_read(sentence))))


def _read(sentence: str) -> list[Unit]:
    plain = _YEARS.sub(r"\1", _NO_LONGER.sub("not", _SEEMING.sub(" ", sentence)))
    tokens = [match.group() for match in _TOKEN.finditer(plain)]
    found: list[Unit] = []
    led, denied, clause, passive = "", "", 0, False
    open_name = False
    for place, token in enumerate(tokens):
        low = token.lower().replace("’", "'")
        if token in _BREAK:
            denied = denied if denied in DENIALS or denied.endswith("n't") else ""
            clause, led, open_name = clause + 1, "", False
            continue
        if low in DENYING or low.endswith("n't"):
            denied, open_name = "" if denied else low, False
            continue
        if low in BE:
            passive, open_name = True, False
            continue
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        unit = _unit(token, low, following, opens=not found and clause == 0)
        if unit is None:
            if low in _LEADS:
                led = low
            if not (open_name and low == "of"):
                open_name = False
            continue
        if unit.said == "":  # a scale that belongs to the number before
            found[-1:] = [_scaled(each, low) for each in found[-1:]]
            continue
        if open_name and unit.kind == "name" and (not led or led == "of"):
            last = found[-1]
            found[-1] = replace(last, said=f"{last.said} {unit.said}", keys=last.keys | unit.keys)
            led = ""
            continue
        if open_name and unit.kind == "number" and found[-1].kind == "name" and not led:
            last = found[-1]  # "Llama 3"
            if len(token) <= 2 and not following.endswith("s"):
                found[-1] = replace(last, said=f"{last.said} {token}", keys=last.keys | unit.keys)
                open_name = False
                continue
        found.append(replace(unit, led=led, clause=clause, denied=denied, passive=passive))
        open_name = unit.kind == "name"
        led, denied, passive = "", "", False
    return found


def _unit(word: str, low: str, following: str, *, opens: bool) -> Unit | None:
    """The unit that ``word`` is; None for one that tells nothing; an empty one for a scale."""
    counted = _counted(word, low)
    if counted is not None:
        return counted
    may = low == "may" and word == "May" and not opens and following[:1].isdigit()
    if low in _MONTHS or may:
        return Unit(kind="month", said=word, keys=frozenset([str(_MONTHS.get(low, 5))]))
    if low in WEEKDAYS:
        return Unit(kind="weekday", said=word, keys=frozenset([low]))
    if low in STOP_WORDS or low in _LEADS:
        return None
    bare = re.sub(r"['’]s$", "", word)
    odd = any(char.isupper() for char in bare[1:]) or any(char.isdigit() for char in bare)
    if odd or (bare[0].isupper() and (not opens or following[:1].isupper())):
        return Unit(kind="name", said=bare, keys=frozenset([_name_key(bare)]))
    return Unit(kind="word", said=bare, keys=frozenset([stem(bare)]))


def _counted(word: str, low: str) -> Unit | None:
    digits = _DIGITS.fullmatch(word)
    if digits and _YEAR.fullmatch(word):
        return Unit(kind="year", said=word, keys=frozenset([word.rstrip("s")]))
    if digits:
        value = _value(digits.group(1))
        scale = (LETTERS | {"m": 1e6}).get(digits.group(2) or "", 1.0)  # "m" may be metres
        full = _value(f"{float(value) * scale:.6f}")
        return Unit(kind="number", said=word, keys=frozenset([value, full]))
    if low in SCALES and low != "hundred":
        return Unit(kind="number", said="", keys=frozenset())
    if low in NUMBER_WORDS and low not in LOOSE_NUMBERS:
        return Unit(kind="number", said=word, keys=frozenset([NUMBER_WORDS[low]]))
    return None


def _name_key(word: str) -> str:
    return re.sub(r"[\W_]", "", stem(word).lower())


def _value(digits: str) -> str:
    number = digits.replace(",", "")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number.lstrip("0") or "0"


def _scaled(unit: Unit, scale: str) -> Unit:
    if unit.kind not in ("number", "year"):
        return unit
    value = f"{float(next(iter(unit.keys))) * SCALES[scale]:.6f}"
    return replace(
        unit, kind="number", said=f"{unit.said} {scale}", keys=frozenset([_value(value)])
    )


def _lead_last(units: Sequence[Unit]) -> list[Unit]:
    """What stands before the first comma after a preposition goes to the end."""
    if not units or not units[0].led or units[0].clause != 0:
        return list(units)
    lead = [unit for unit in units if unit.clause == 0]
    rest = [unit for unit in units if unit.clause > 0]
    if not rest or len(lead) > 6:
        return list(units)
    end = rest[-1].clause + 1
    return [*rest, *(replace(unit, clause=end) for unit in lead)]


def _active(units: Sequence[Unit]) -> list[Unit]:
    """ "X was built by Y" as "Y built X"."""
    for place, unit in enumerate(units):
        if not unit.passive:
            continue
        begin = place
        while begin > 0 and units[begin - 1].clause == unit.clause:
            begin -= 1
        for at in range(place + 1, min(len(units), place + 4)):
            if units[at].clause != unit.clause:
                break
            if units[at].led == "by" and units[at].kind not in ("year", "number", "month"):
                return [
                    *units[:begin],
                    replace(units[at], led=""),
                    unit,
                    *units[begin:place],
                    *units[place + 1 : at],
                    *units[at + 1 :],
                ]
    return list(units)
