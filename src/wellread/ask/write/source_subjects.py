"""What a source is about: which event it reports, and which of several things of one name it means.

Two reports are of one event when day and place are the same and they were told at the same time.

Reports of one event use other words for it ("lost power", "were without electricity"), so the
words of a question are no test of whether they answer it alike; what they are about is.
Bearers of one name differ as sources say: "Springfield, Illinois", "X (album)".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from wellread.answers import Evidence
from wellread.text.english import MONTHS, WEEKDAYS
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

OPENING = 160  # characters of a passage within which it says what it is about
_PLACE = r"[A-Z][\w.’'-]+(?: (?:of |the )?[A-Z][\w.’'-]+){0,3}"
_FORMS = ("brackets", "comma", "opening", "kind")
_BIRTH = re.compile(r"\b(?:born|b\.|died)\b|\d{3,4}\s*[–-]", re.IGNORECASE)
_VERSION = re.compile(r"disambiguation|edit|article", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\W*((?:[\w.’'&-]+,? ){0,11}?[\w.’'&-]+)\s*(?:\([^()]*\),? ?)?\s?\b(?:is|was|are|were) "
)
NAMED = 0.5  # of the name, that the opening phrase has to hold
MOST_SHARED = 0.5  # of the words of two descriptions that describe different things
LEAST_WORDS = 6  # of a lead; what is shorter is a heading
REPORTED = timedelta(days=31)  # from an event to its report: how a day without a year is read

_MONTHS = {name: number for number, name in enumerate(MONTHS, 1)}
_MONTH = "|".join(_MONTHS)
_DAY = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})|({_MONTH})\s+(\d{{1,2}}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a document reports, as its title and its lead say: reports begin with what happened.

    Attributes:
        days: days that they name, as dates; those that cannot be the event's are left out.
        names: words of the names in the lead, its first sentence, as stems.
        lead: all content words of both, as stems.
    """

    published: date
    days: frozenset[date]
    names: frozenset[str]
    lead: frozenset[str]


def _report(piece: Evidence) -> Report | None:
    """None where the document has no date, or its lead names no day or nothing else."""
    published_at = piece.hit.document.published_at
    if published_at is None:
        return None
    published = published_at.date()
    sentences = (span.of(piece.text) for span in sentence_spans(piece.text))
    lead = next((one for one in sentences if len(one.split()) >= LEAST_WORDS), "")
    text = f"{piece.hit.document.title}\n{lead}"
    days = frozenset(
        day for month, number in named_days(text) if (day := _before(published, month, number))
    )
    names = named_stems(lead)
    if not days or not names:
        return None
    return Report(published=published, days=days, names=names, lead=parse(text).stem_set)


def about(question: str, one: Report, other: Report) -> bool:
    """Whether ``question`` names the event: its day or a name of it, and nothing that it lacks."""
    days = named_days(question)
    held = {(day.month, day.day) for day in one.days & other.days}
    names = named_stems(question)
    return bool(days or names) and days <= held and names <= (one.names & other.names)


def named_days(text: str) -> frozenset[tuple[int, int]]:
    """Month and day of every day that ``text`` names."""
    return frozenset(
        (_MONTHS[(before or after).lower()], int(number or later))
        for number, before, after, later in _DAY.findall(text)
    )


def named_stems(text: str) -> frozenset[str]:
    """The words of the names in ``text`` as stems, without dates."""
    return frozenset(
        stem
        for name in parse(text).names
        for word in parse(name).words
        if word[:1].isupper() and word.lower() not in _MONTHS and word.lower() not in WEEKDAYS
        for stem in parse(word).stems
    )


def _before(published: date, month: int, day: int) -> date | None:
    """The last such day before the report appeared; None when that is long ago."""
    for year in (published.year, published.year - 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found <= published:
            return found if published - found <= REPORTED else None
    return None


# --- one name, several things ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a passage says of which bearer of the name it means.

    Attributes:
        form: where it says so; only identities of one form can be compared.
        text: as written ("American football", "Lincoln County, Kentucky").
    """

    form: Literal["brackets", "comma", "opening", "kind"]
    text: str

    @property
    def stems(self) -> frozenset[str]:
        """Its content words."""
        return parse(self.text).stem_set


def identities(name: str, piece: Evidence) -> tuple[Identity, ...]:
    """What the title or the opening of ``piece`` says about which ``name`` it is."""
    found: list[Identity] = []
    spaced = r"\s+".join(re.escape(part) for part in name.split())
    opening = f"{piece.text[: OPENING + len(name)]}"
    for text in (piece.hit.document.title, opening):
        for match in re.finditer(rf"(?<!\w){spaced}(?!\w)[\"”']?", text, re.IGNORECASE):
            rest = text[match.end() : match.end() + 120]
            brackets = re.match(r"\s*\(\s*([^()]{3,60}?)\s*\)", rest)
            if brackets and not _BIRTH.search(brackets[1]) and not _VERSION.search(brackets[1]):
                found.append(Identity(form="brackets", text=brackets[1]))
            comma = re.match(rf",\s+({_PLACE}(?:,\s+{_PLACE})?)", rest)
            if comma and (text is not opening or match.start() < 40):
                found.append(Identity(form="comma", text=comma[1]))
            kind = re.match(
                r"(?:\s*\([^()]*\))?,?\s+(?:is|was) (?:an?|the|one of the)\s+([^.;:,]{4,90})", rest
            )
            if kind and match.start() < OPENING:
                found.append(Identity(form="kind", text=kind[1]))
    return tuple(dict.fromkeys([*found, *_opening(name, piece.text)]))


def _opening(name: str, text: str) -> list[Identity]:
    """What the phrase that a passage opens with adds to the name ("2017 Peru Census is ...")."""
    match = _SUBJECT.match(text)
    if match is None:
        return []
    wanted, held = parse(name).stem_set, parse(match[1]).stem_set
    if not wanted or len(wanted & held) < NAMED * len(wanted):
        return []
    return [Identity(form="opening", text=" ".join(sorted(held - wanted)))]


def differ(one: Sequence[Identity], other: Sequence[Identity]) -> bool:
    """Whether two passages say that they are about different bearers of a name."""
    verdicts = {
        form: _differ(
            [each for each in one if each.form == form], [e for e in other if e.form == form]
        )
        for form in _FORMS
    }
    if verdicts["brackets"] is not None:
        return verdicts["brackets"]
    if verdicts["comma"] is not None:
        return verdicts["comma"]
    return bool(verdicts["opening"]) or bool(verdicts["kind"])


def _differ(one: Sequence[Identity], other: Sequence[Identity]) -> bool | None:
    """None when one of them says nothing in this form."""
    if not one or not other:
        return None
    return not any(_alike(a, b) for a in one for b in other)


def _alike(one: Identity, other: Identity) -> bool:
    a, b = one.stems, other.stems
    if not a or not b:
        return True
    if one.form == "kind":
        years_a, years_b = parse(one.text).numbers, parse(other.text).numbers
        if years_a and years_b and years_a.isdisjoint(years_b):
            return False
        return len(a & b) / min(len(a), len(b)) >= MOST_SHARED
    return a <= b or b <= a
