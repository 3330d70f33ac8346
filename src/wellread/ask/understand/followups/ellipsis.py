"""Questions that leave most of their words to the one before: "and in 2022?", "why?", "more"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from wellread.ask.understand.followups.antecedents import Antecedent
from wellread.ask.understand.followups.turns import before_end, lets_go, without_time
from wellread.ask.understand.mentions import people_in
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english import AUXILIARIES, BE, PREPOSITIONS, QUESTION_WORDS, STOP_WORDS
from wellread.text.english_followups import ADJUNCT, ALSO, MORE, ONLY_QUESTION_WORD, POLAR, TIME_LED
from wellread.text.noun_phrases import phrases_of
from wellread.text.parsed import parse
from wellread.text.periods import expressions_of
from wellread.text.tokens import key_of, key_of_words, tokens_of
from wellread.types import Span

LONGEST_PART = 7  # words
_ABOUT = re.compile(
    r"^(?:(?:and|but|so|ok|okay|then)[,\s]+)?(?:what|how)\s+(?:about|of)\s+(?P<part>.+?)[?.!\s]*$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"^(?P<part>.+?)[?.!\s]*$")
_WHICH = re.compile(r"^(?:which|what)\s+(?P<rest>\w+s\s+.*)$", re.IGNORECASE)
_EXISTS = re.compile(r"^(?P<be>are|were)\s+there\s+(?:any\s+|some\s+)?(?P<noun>.*)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The question in full, and why it reads so."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a part is filled from.

    Attributes:
        last: the last question that stands alone.
        topic: what the conversation is about; may be empty.
    """

    last: str
    topic: str
    vocabulary: Vocabulary
    today: date


def filled(text: str, setting: Setting) -> Filled | None:
    """``text`` with the words that it leaves out; None when it leaves out none."""
    if not setting.last:
        return None
    only = ONLY_QUESTION_WORD.match(text)
    if only:
        return Filled(text=_asked_so(only["wh"], setting.last), reason=_of_last(setting.last))
    if MORE.match(text) and setting.topic:
        put = f"about {setting.topic}"
        return Filled(text=before_end(text, put), reason=f"“{put}” is meant")
    part = _part(text, setting)
    return _whole(part, setting) if part is not None else None


def _whole(part: str, setting: Setting) -> Filled | None:
    away = lets_go(part)
    if away and not parse(part.replace(away.group(), "")).terms:
        whole = without_time(setting.last, setting.vocabulary, setting.today)
        return Filled(text=whole, reason="asked again without its limit to a time")
    return _replaced(part, setting)


def _part(text: str, setting: Setting) -> str | None:
    """The part of a question that ``text`` is; None for a whole question."""
    for form in (_ABOUT, ALSO, _ALONE):
        match = form.match(text)
        if match is None:
            continue
        part = match["part"]
        tokens = tokens_of(part)
        if not tokens or len(tokens) > LONGEST_PART:
            return None
        plain = [token.plain for token in tokens]
        if form is _ABOUT and plain[0] not in QUESTION_WORDS:
            return part
        if plain[0] in QUESTION_WORDS | AUXILIARIES | BE or any(
            word in AUXILIARIES | BE or word in ("have", "has", "had") for word in plain
        ):
            return None
        if form is ALSO:
            return part if _is_fragment(part, plain) else None
        led = plain[0] in PREPOSITIONS and len(plain) <= 4 and "?" in text
        if led or (_only_time(part, setting.today) and len(plain) <= 4):
            return part
    return None


def _is_fragment(part: str, plain: Sequence[str]) -> bool:
    """Whether it holds no verb: a preposition and what follows, a name, a phrase."""
    if plain[0] in PREPOSITIONS or plain[0] in ("to", "the", "a", "an", "only", "overall"):
        return len(plain) <= 6
    named = parse(f"· {part}").names
    return len(plain) <= 3 or any(len(name) >= len(part) - 2 for name in named)


def _only_time(part: str, today: date) -> bool:
    times = expressions_of(part, today)
    return bool(times) and not parse(part.replace(part[times[0].start : times[0].end], "")).terms


def _asked_so(wh: str, last: str) -> str:
    """The last question asked with another question word."""
    said = f"{wh[0].upper()}{wh[1:].lower()}"
    plain = wh.lower()
    mark = "" if last.rstrip().endswith("?") else "?"
    lower = f"{last[0].lower()}{last[1:]}{mark}"
    adjunct = ADJUNCT.match(last)
    which, exists = _WHICH.match(last), _EXISTS.match(last)
    if plain in ("how many", "how much", "which", "which ones", "which one"):
        start = said.split()[0] if plain.startswith("which") else said
        if exists:
            noun = exists["noun"].rstrip(" ?")
            tail = f" {exists['be'].lower()} there" if not plain.startswith("which") else ""
            phrase = phrases_of(tokens_of(f"of {noun}"))
            cut = phrase[0].bare.end - 3 if phrase else len(noun)
            made = (
                f"{start} {noun[:cut]}{tail or ' ' + exists['be'].lower() + ' there'}{noun[cut:]}?"
            )
            return " ".join(made.split())
        if which:
            return f"{start} {which['rest']}"
    elif POLAR.match(last) and plain != "why not":
        return f"{said} {lower}"
    elif adjunct:
        return f"{said} {adjunct['rest']}"
    return f"{said}: {lower}"


def _of_last(last: str) -> str:
    return f"the rest is from “{last}”"


def _replaced(part: str, setting: Setting) -> Filled | None:
    """The last question with its like-typed part replaced by ``part``."""
    last = setting.last
    first, _, rest = part.partition(" ")
    led = first.lower() if first.lower() in PREPOSITIONS or first.lower() == "to" else ""
    bare = rest if led and rest else part
    whole = _time_for_time(part, bare, setting)
    if whole is None:
        whole = _name_for_name(led, bare, setting) or _phrase_for_phrase(led, bare, setting)
    if whole is not None:
        return Filled(text=whole, reason=_of_last(last))
    if led:
        return Filled(text=before_end(last, part), reason=_of_last(last))
    if setting.topic and key_of(setting.topic) not in key_of(part) and not parse(f"· {part}").names:
        owned = part.lower().startswith("the ")
        whole = f"of {setting.topic}" if owned else f"({setting.topic})"
        return Filled(text=f"What about {part} {whole}?", reason=f"“{setting.topic}” is meant")
    return None


def _time_for_time(part: str, bare: str, setting: Setting) -> str | None:
    if not _only_time(bare, setting.today):
        return None
    last = setting.last
    times = expressions_of(last, setting.today)
    led = bare != part
    if not times:
        return before_end(last, part if led or not bare[:1].isdigit() else f"in {part}")
    start, end = times[0].start, times[-1].end if len(times) == 2 else times[0].end
    lead = TIME_LED.search(last, 0, start)
    if lead and led:
        start = lead.start()
    return f"{last[:start]}{part}{last[end:]}"


def _name_for_name(led: str, bare: str, setting: Setting) -> str | None:
    sort = _sort(bare, setting.vocabulary)
    if sort is None:
        return None
    best: tuple[float, int, Span] | None = None
    last = setting.last
    spots = [_spot(last, name) for name in parse(last).names]
    spots += [phrase.bare for phrase in phrases_of(tokens_of(last))]
    for spot in dict.fromkeys(spots):
        other = _sort(spot.of(last), setting.vocabulary)
        if other is None:
            continue
        worth = (
            0.5
            + 2.0 * (other == sort and sort != "")
            - 2.0 * (other != sort and "" not in (other, sort))
        )
        before = last[: spot.start].split()
        before = before[:-1] if before and before[-1].lower() == "the" else before
        worth += 2.0 * (bool(led) and before[-1:] != [] and before[-1].lower() == led)
        if best is None or (worth, spot.start) > best[:2]:
            best = (worth, spot.start, spot)
    if best is None or best[0] < 0 or (led and best[0] < 2):
        return None
    spot = best[2]
    return f"{last[: spot.start]}{bare}{last[spot.end :]}"


def _spot(text: str, name: str) -> Span:
    start = text.find(name)
    return Span(start=start, end=start + len(name))


def _sort(text: str, vocabulary: Vocabulary) -> str | None:
    """What a name is the name of, "" when that is unknown; None for what is no name."""
    key = key_of(text)
    if key in vocabulary.speakers or key in vocabulary.authors:
        return "person"
    forms = vocabulary.names.get(key, ())
    if forms:
        return forms[0].node.type
    if people_in(text, tokens_of(text), vocabulary):
        return "person"
    return "" if any(len(name) >= len(text) - 4 for name in parse(f"· {text}").names) else None


def _phrase_for_phrase(led: str, bare: str, setting: Setting) -> str | None:
    last = setting.last
    mine = tokens_of(bare)
    if not mine or not parse(bare).terms:
        return None
    head = key_of_words([mine[-1].plain])
    definite = mine[0].plain in ("the", "its", "their", "his", "her")
    named = [_spot(last, name) for name in parse(last).names]
    theirs = [
        phrase
        for phrase in phrases_of(tokens_of(last))
        if not any(phrase.bare.overlaps(name) for name in named)
    ]
    for phrase in reversed(theirs):
        same = key_of_words([phrase.head]) == head
        words = last[: phrase.span.start].split()
        beside = bool(led) and bool(words) and words[-1].lower() == led
        only = not led and not definite and len(theirs) == 1
        if same or beside or only:
            span = phrase.span if mine[0].plain in STOP_WORDS else phrase.bare
            return f"{last[: span.start]}{bare}{last[span.end :]}"
    return None


def topic_of(candidates: Sequence[Antecedent]) -> str:
    """What the conversation is about: the most fitting of what was named."""
    return candidates[0].text if candidates else ""
