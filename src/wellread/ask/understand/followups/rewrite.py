"""From a follow-up to a question that stands alone. No model, no I/O. Read this first.

A question that stands alone must stay as it is: words are put in only for a pronoun that nothing
in the question explains, a phrase that points back, a place in a list, or for a question that
leaves most of its words to the one before ("and in 2022?", "why?", "more"). Only a question
changed so keeps the limits of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from wellread.ask.understand.answer_kind import SURE, expected_of
from wellread.ask.understand.followups.antecedents import Antecedent, antecedents_of
from wellread.ask.understand.followups.references import (
    list_edits,
    noun_edits,
    place_edits,
    pronoun_edits,
    references_of,
    time_edits,
)
from wellread.ask.understand.followups.turns import (
    Rewritten,
    Turn,
    applied,
    before_end,
    name_spans,
    with_limits,
    without_time,
)
from wellread.ask.understand.mentions import people_in
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english import AUXILIARIES, BE, PREPOSITIONS, QUESTION_WORDS, STOP_WORDS
from wellread.text.english_followups import (
    ALL_TIMES,
    ALSO,
    EXISTS,
    MORE,
    ONLY_QUESTION_WORD,
    POLAR,
    TIME_LED,
    WHAT_ABOUT,
)
from wellread.text.parsed import parse
from wellread.text.periods import expressions_of, lacks_year
from wellread.text.tokens import key_of, key_of_words, phrases_of, tokens_of
from wellread.types import Span

LONGEST = 400  # characters of a question that is looked at: longer ones say what they mean
LONGEST_PART = 7  # words
_CONNECTED = re.compile(r"^(?:and|but|so|then|also|or)\b[,\s]+(?=\w)", re.IGNORECASE)
_ALONE = re.compile(r"^(?P<part>.+?)[?.!\s]*$")
_WHICH = re.compile(r"^(?:which|what)\s+(?P<rest>\w+s\s+.*)$", re.IGNORECASE)
_LEADS = PREPOSITIONS | {"to"}
_VERBS = AUXILIARIES | BE | {"have", "has", "had"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Talk:
    """What a follow-up is filled from.

    Attributes:
        last: the last question that stands alone; may be empty.
        topic: what the conversation is about; may be empty.
    """

    last: str
    topic: str
    vocabulary: Vocabulary
    today: date


def standalone(
    question: str, earlier: Sequence[Turn], vocabulary: Vocabulary, today: date
) -> Rewritten:
    """``question`` in words that need no earlier turn.

    Args:
        earlier: the turns so far, oldest first.
        today: what "last week" is counted from.
    """
    text = " ".join(question.split())
    if not text or not earlier or len(text) > LONGEST:
        return Rewritten(text=question)
    candidates = antecedents_of(earlier, vocabulary)
    last = next((turn.question for turn in reversed(earlier) if turn.question), "")
    topic = candidates[0].text if candidates else ""
    listed = list_edits(text, earlier, vocabulary)
    whole = applied(text, listed)
    reasons = [edit.reason for edit in listed]
    full = _filled(whole, _Talk(last=last, topic=topic, vocabulary=vocabulary, today=today))
    if full is not None:
        whole = full[0]
        reasons.append(full[1])
    else:
        edits = list(pronoun_edits(whole, candidates))
        edits += noun_edits(whole, candidates, [edit.text for edit in edits])
        edits += time_edits(whole, earlier, today)
        edits += place_edits(whole, candidates)
        reasons += [edit.reason for edit in edits]
        pointing = bool(references_of(whole))
        whole = applied(whole, edits)
        if not reasons and (pointing or connected(text)):
            told = [one for one in candidates if one.named or one.text.startswith("the ")]
            whole, reasons = _with_topic(whole, told)
    if not reasons:
        return Rewritten(text=question)
    whole = _CONNECTED.sub("", whole)
    kept, limits = with_limits(text, f"{whole[:1].upper()}{whole[1:]}", last, vocabulary, today)
    if limits:
        reasons.append(f"limits kept: {', '.join(limits)}")
    return Rewritten(text=kept, changed=kept != question, reasons=tuple(reasons))


def connected(question: str) -> bool:
    """Whether it goes on from something said before ("and ...", "but ...")."""
    return _CONNECTED.match(question.strip()) is not None


def _with_topic(text: str, candidates: Sequence[Antecedent]) -> tuple[str, list[str]]:
    """A question that names nothing, with what the conversation is about."""
    topic = candidates[0].text if candidates else ""
    bare = _CONNECTED.sub("", text)
    if not topic or parse(bare).names or set(parse(topic).terms) & set(parse(bare).terms):
        return text, []
    return before_end(bare, f"({topic})"), [f"“{topic}” is what was talked about"]


def _filled(text: str, talk: _Talk) -> tuple[str, str] | None:
    """``text`` with the words that it leaves out, and why; None when it leaves out none."""
    if not talk.last:
        return None
    only = ONLY_QUESTION_WORD.match(text)
    if only:
        return _asked_so(only["wh"], talk.last), f"the rest is from “{talk.last}”"
    if MORE.match(text) and talk.topic:
        about = f"about {talk.topic}"
        return before_end(text, about), f"“{about}” is meant"
    part = _part(text, talk)
    return _replaced(part, talk) if part is not None else None


def _replaced(part: str, talk: _Talk) -> tuple[str, str] | None:
    """The last question with its like-typed part replaced by ``part``, and why."""
    away = ALL_TIMES.search(part)
    if away and not parse(part.replace(away.group(), "")).terms:
        whole = without_time(talk.last, talk.vocabulary, talk.today)
        return whole, "asked again without its limit to a time"
    first, _, rest = part.partition(" ")
    led = first.lower() if first.lower() in _LEADS else ""
    bare = rest if led and rest else part
    replaced = _time_for_time(part, bare, talk)
    replaced = replaced or _name_for_name(led, bare, talk) or _phrase_for_phrase(led, bare, talk)
    if replaced is not None or led:
        return replaced or before_end(talk.last, part), f"the rest is from “{talk.last}”"
    definite, aspect = part.lower().startswith("the "), expected_of(f"What is {part}?") in SURE
    if definite and not aspect:
        return None  # another thing, and not a part of the one that was talked about
    if talk.topic and key_of(talk.topic) not in key_of(part) and not parse(f"· {part}").names:
        of = f"of {talk.topic}" if definite else f"({talk.topic})"
        return f"What about {part} {of}?", f"“{talk.topic}” is meant"
    return None


def _part(text: str, talk: _Talk) -> str | None:
    """The part of a question that ``text`` is; None for a whole question."""
    for form in (WHAT_ABOUT, ALSO, _ALONE):
        match = form.match(text)
        if match is None:
            continue
        part = match["part"]
        tokens = parse(part).tokens
        plain = [token.plain for token in tokens]
        verbs = {one.plain for one in tokens if part[one.start : one.end] != "May"}
        if not plain or len(plain) > LONGEST_PART:
            return None
        if form is WHAT_ABOUT and plain[0] not in QUESTION_WORDS:
            return part
        if plain[0] in QUESTION_WORDS or not _VERBS.isdisjoint(verbs):
            return None
        if form is ALSO:
            return part if _is_fragment(part, plain) else None
        led = plain[0] in PREPOSITIONS and "?" in text
        if len(plain) <= 4 and (led or _only_time(part, talk.today)):
            return part
    return None


def _is_fragment(part: str, plain: Sequence[str]) -> bool:
    """Whether it holds no verb: a preposition and what follows, a name, a phrase."""
    if plain[0] in _LEADS or plain[0] in ("the", "a", "an", "only", "overall"):
        return len(plain) <= 6
    named = parse(f"· {part}").names
    return len(plain) <= 3 or any(len(name) >= len(part) - 2 for name in named)


def _only_time(part: str, today: date) -> bool:
    times = expressions_of(part, today)
    return bool(times) and not parse(part.replace(part[times[0].start : times[0].end], "")).terms


def _asked_so(wh: str, last: str) -> str:
    """The last question asked with another question word."""
    said = wh.capitalize()
    lower = f"{last[0].lower()}{last[1:]}{'' if last.rstrip().endswith('?') else '?'}"
    auxiliary, which, exists = POLAR.match(last), _WHICH.match(last), EXISTS.match(last)
    one_of = said.startswith("Which")
    if one_of or said in ("How many", "How much"):
        start = "Which" if one_of else said
        if exists:
            noun = exists["noun"].rstrip(" ?")
            phrases = phrases_of(tokens_of(f"of {noun}"))
            cut = phrases[0].bare.end - 3 if phrases else len(noun)
            made = f"{start} {noun[:cut]} {exists['be'].lower()} there{noun[cut:]}?"
            return " ".join(made.split())
        if which:
            return f"{start} {which['rest']}"
    elif auxiliary and (auxiliary["wh"] or said != "Why not"):
        return f"{said} {auxiliary['rest'] if auxiliary['wh'] else lower}"
    return f"{said}: {lower}"


def _time_for_time(part: str, bare: str, talk: _Talk) -> str | None:
    """The last question at another time."""
    if not _only_time(bare, talk.today):
        return None
    last = talk.last
    times = expressions_of(last, talk.today)
    led = bare != part
    if not times:
        return before_end(last, part if led or not bare[:1].isdigit() else f"in {part}")
    part = _of_that_year(part, times[-1].period.last.year, talk.today)
    start, end = times[0].start, times[-1].end if len(times) == 2 else times[0].end
    lead = TIME_LED.search(last, 0, start) if led else None
    return f"{last[: lead.start() if lead else start]}{part}{last[end:]}"


def _of_that_year(part: str, year: int, today: date) -> str:
    """A month or a day without a year, with the one that was talked about."""
    (time, *_) = expressions_of(part, today)
    if not lacks_year(part, time):
        return part
    return f"{part[: time.end]} {year}{part[time.end :]}"


def _name_for_name(led: str, bare: str, talk: _Talk) -> str | None:
    """The last question with its name of like sort replaced by ``bare``."""
    sort, last = _sort(bare, talk.vocabulary), talk.last
    if sort is None:
        return None
    found: list[tuple[float, Span]] = []
    for spot in dict.fromkeys([*name_spans(last), *(one.bare for one in parse(last).phrases)]):
        other = _sort(spot.of(last), talk.vocabulary)
        if other is None:
            continue
        alike = 0 if "" in (sort, other) else 1 if sort == other else -1
        before = last[: spot.start].lower().split()
        before = before[:-1] if before[-1:] == ["the"] else before
        found.append((0.5 + 2.0 * alike + 2.0 * (bool(led) and before[-1:] == [led]), spot))
    if not found:
        return None
    worth, spot = max(found, key=lambda one: (one[0], one[1].start))
    return f"{last[: spot.start]}{bare}{last[spot.end :]}" if worth >= 2 * bool(led) else None


def _sort(text: str, vocabulary: Vocabulary) -> str | None:
    """What a name is the name of, "" when that is unknown; None for what is no name."""
    key = key_of(text)
    forms = vocabulary.names.get(key, ())
    known = key in vocabulary.speakers or key in vocabulary.authors
    if known or (not forms and people_in(text, vocabulary)):
        return "person"
    if forms:
        return forms[0].node.type
    return "" if any(len(name) >= len(text) - 4 for name in parse(f"· {text}").names) else None


def _phrase_for_phrase(led: str, bare: str, talk: _Talk) -> str | None:
    """The last question with its phrase of the same head, or the only one, replaced."""
    last, mine = talk.last, parse(bare).tokens
    if not mine or not parse(bare).terms:
        return None
    head = key_of_words([mine[-1].plain])
    definite = mine[0].plain in ("the", "its", "their", "his", "her")
    thing = mine[0].plain == "the" and expected_of(f"What is {bare}?") not in SURE
    named = name_spans(last)
    theirs = [
        phrase
        for phrase in parse(last).phrases
        if not any(phrase.bare.overlaps(name) for name in named)
    ]
    for phrase in reversed(theirs):
        beside = bool(led) and last[: phrase.span.start].lower().split()[-1:] == [led]
        alike = phrase.definite and thing  # "the ferry" for "the crane"
        only = not led and (alike or not definite) and len(theirs) == 1
        if beside or only or key_of_words([phrase.head]) == head:
            span = phrase.span if mine[0].plain in STOP_WORDS else phrase.bare
            return f"{last[: span.start]}{bare}{last[span.end :]}"
    return None
