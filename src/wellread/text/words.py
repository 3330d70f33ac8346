"""Words as the ask path compares them: stems, stop words, numbers, names."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from wellread.text.stems import stem as snowball_stem

_WORD = re.compile(r"[^\W_]+(?:['’\-_.][^\W_]+)*")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:st|nd|rd|th)?(?!\w)|\d+(?:\.\d+)?")
_NAME = re.compile(r"\b[A-Z][\w’'&.-]*(?:\s+(?:(?:of|the|de|van|von|for)\s+)?[A-Z0-9][\w’'&.-]*)*")
_QUOTED = re.compile(r"[\"“«`]([^\"”»`]{2,80})[\"”»`]")

# Closed-class English words and the words with which questions are asked: they say nothing
# about the topic of a question.
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been
    before being below between both but by can cannot can't could couldn't did didn't do does
    doesn't doing don't down during each else ever few for from further get gets give given gives
    got had hadn't has hasn't have haven't having he her here hers herself him himself his how
    however i if in into is isn't it its it's itself just know let like made make makes many may me
    might more most much must my myself no nor not now of off on once one only or other our ours
    ourselves out over own per please said same say says shall she should shouldn't so some such
    tell than that that's the their theirs them themselves then there there's these they this those
    through thus to too under until up upon us use used using very via was wasn't we were weren't
    what what's when where whether which while who whom whose why will with within without won't
    would wouldn't yes yet you your yours yourself explain describe happen happened happens
    actually really there've i'm you're we're they're let's anything something
    """.split()
)
NEGATIONS = frozenset(
    "no not never none nobody nothing neither nor cannot without lacks lacked fails failed "
    "unable denied denies rejected refused hardly barely".split()
)
NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "first": "1",
    "second": "2",
    "third": "3",
    "twice": "2",
}


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of one word, lower case and without accents (Snowball English)."""
    plain = word.lower().replace("’", "'").removesuffix("'s")
    return snowball_stem(plain if plain.isascii() else _unaccented(plain))


def _unaccented(word: str) -> str:
    """ "cafe" and "café" are one word to those who ask."""
    parts = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(c for c in parts if not "\u0300" <= c <= "\u036f"))


def words(text: str) -> list[str]:
    """All words of ``text`` as written, in order."""
    return _WORD.findall(text)


def terms(text: str) -> tuple[str, ...]:
    """The content words of ``text``, lower case, in order, without repeats."""
    found = (word.lower().replace("’", "'") for word in words(text))
    return tuple(dict.fromkeys(word for word in found if word not in STOP_WORDS))


def stems(text: str) -> list[str]:
    """The stems of the content words of ``text``, in order, with repeats.

    A compound with hyphens or points gives its parts too ("tool-library": tool, library).
    """
    found: list[str] = []
    for word in words(text):
        if word.lower().replace("’", "'") in STOP_WORDS:
            continue
        found.append(stem(word))
        parts = re.split(r"[-_.]", word)
        if len(parts) > 1:
            found += [stem(part) for part in parts if part and part.lower() not in STOP_WORDS]
    return found


def numbers(text: str) -> frozenset[str]:
    """The numbers in ``text`` in one form: ``1,250`` and ``1250`` are the same, so are ``six``
    and ``6``.
    """
    found = {_plain_number(match) for match in _NUMBER.findall(text)}
    found |= {NUMBER_WORDS[word.lower()] for word in words(text) if word.lower() in NUMBER_WORDS}
    return frozenset(number for number in found if number)


# The first word of a question that is no part of a name after it ("Compare the Kittiwake ...").
OPENERS = STOP_WORDS | frozenset(
    "compare contrast define describe discuss explain find give list name outline show summarise "
    "summarize tell".split()
)


_ASKING = (
    "compare comparison contrast current details difference differ explanation happening "
    "information latest list newest news overview recent recently status summarise summarize "
    "summary talk think thought today update"
)


def matter(text: str) -> tuple[str, ...]:
    """The stems of what ``text`` asks about, without words of asking ("the latest news on ...").

    All its stems when nothing else is left.
    """
    found = tuple(stem for stem in stems(text) if stem not in _asking())
    return found or tuple(stems(text))


@cache
def _asking() -> frozenset[str]:
    return frozenset(stem(word) for word in _ASKING.split())


def names(text: str) -> tuple[str, ...]:
    """Capitalised names inside sentences, quoted phrases, and words with digits, as written.

    The first word of the text counts as a name only when it is not an ordinary capital:
    inside capitals, a digit, or a second capitalised word after it.
    """
    found = [match.group(1) for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        name = match.group().rstrip(".,;:'’")
        first, *rest = name.split()
        if first.lower() in OPENERS and match.start() == _first_letter(text):
            while rest and rest[0].lower() in STOP_WORDS:
                rest = rest[1:]
            name = " ".join(rest)
        elif match.start() == _first_letter(text) and not rest and not _odd_case(first):
            continue
        if name and name.lower() not in STOP_WORDS:
            found.append(name)
    return tuple(dict.fromkeys(found))


def negations(text: str) -> int:
    """How many negations ``text`` has."""
    found = 0
    for word in words(text):
        plain = word.lower().replace("’", "'")
        found += plain in NEGATIONS or plain.endswith("n't")
    return found


def _plain_number(text: str) -> str:
    plain = re.sub(r"(st|nd|rd|th)$", "", text.replace(",", "")).lstrip("+-")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return plain.lstrip("0") or "0"


def _first_letter(text: str) -> int:
    return len(text) - len(text.lstrip(" \t\n\"'“‘(*_-"))


def _odd_case(word: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in word[1:])
