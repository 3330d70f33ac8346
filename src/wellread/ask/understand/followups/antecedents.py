"""What the words of a follow-up may stand for: what earlier questions say, and known names.

An answer holds text of sources, which may be anything, orders included. So of an answer only names
count that the base knows: entities, people, and short titles of what it cites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from wellread.ask.understand.followups.turns import Turn
from wellread.ask.understand.mentions import entities_of, people_in
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english import DAYTIMES, EMPTY_HEADS, MONTHS, SEASONS, STOP_WORDS, WEEKDAYS
from wellread.text.english_catalogue import DETERMINERS
from wellread.text.english_followups import IS_A, PHRASE_OF
from wellread.text.english_questions import GROUPS, MEN, NO_PERSONS, PARTICLES, WOMEN
from wellread.text.parsed import parse
from wellread.text.tokens import ARTICLES, key_of, key_of_words

Sex = Literal["he", "she", ""]
MOST_TURNS = 5  # turns back that are looked at
LONGEST_TITLE = 5  # words up to which a title is likely to be a name
MOST_ANSWER = 600  # characters of an answer that are looked at
# How fitting a mention is by where it stands, chosen on one half of CANARD.
IN_QUESTION, ANSWER_SUBJECT, IN_ANSWER, CITED, SHOWN = 3.0, 2.2, 1.0, 2.6, 0.8
PHRASE, ONE_WORD = -0.6, -1.2  # less than a name
BEHIND = -2.0  # less for a name that only says which one is meant
AGAIN, PER_TURN = 0.7, 0.7  # more for each further mention, less for each turn back
AWAY = 3.0  # less for what the last turn does not name, when its question names something
_BRACKET_BEHIND = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
_POSSESSIVE = re.compile(r"['’]s?$")
_ADJECTIVE = re.compile(r"[A-Z][\w-]*(?:ish|ese|[ie]an|ic)")
_NO_NAMES = STOP_WORDS.union(MONTHS, WEEKDAYS, SEASONS, DAYTIMES, {"christmas"})
_KINDS = NO_PERSONS | GROUPS | {"film", "novel", "song"}
_PLACE_LED = re.compile(r"\b(?:in|at|near)\s+(?:the\s+)?$", re.IGNORECASE)
# "its Java bindings", where "Java" says which bindings are meant.
_OF_A_NAME = re.compile(r"\s(?P<what>[a-z]{4,})\b")
_DETERMINED = re.compile(rf"\b(?:{'|'.join(DETERMINERS)})\s$", re.IGNORECASE)
_HE_WORD = re.compile(r"\b(?:he|him|his|himself)\b", re.IGNORECASE)
_SHE_WORD = re.compile(r"\b(?:she|her|hers|herself)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Antecedent:
    """Something named before.

    Attributes:
        text: as it is put into a question.
        key: what its spellings have in common.
        person: 2 surely, 1 by the look of the name, 0 perhaps, -1 surely not.
        kind: what it is an instance of, lower case ("band"); may be empty.
        score: how fitting it is, whatever stands for it; larger is better.
        place: it was named after "in" or "at".
        cited: it is a title or an entity that an answer cites.
        words: those that tell it apart.
    """

    text: str
    key: str
    named: bool
    plural: bool
    person: int
    sex: Sex
    kind: str
    back: int
    score: float
    place: bool
    cited: bool
    words: frozenset[str]


def antecedents_of(earlier: Sequence[Turn], vocabulary: Vocabulary) -> list[Antecedent]:
    """What the turns name, the most fitting first; each thing once."""
    best: dict[str, Antecedent] = {}
    opening = earlier[:1] if len(earlier) > MOST_TURNS else []
    for back, turn in enumerate(reversed([*opening, *earlier[-MOST_TURNS:]])):
        for mention in _said(turn, back, vocabulary):
            one = _made(mention, back, vocabulary)
            best[one.key] = _together(best[one.key], one) if one.key in best else one
    found = _whole(best.values())
    last = earlier[-1].question if earlier else ""
    if any(one.named and one.back == 0 and one.text in last for one in found):
        found = [one if one.back == 0 else replace(one, score=one.score - AWAY) for one in found]
    return sorted(found, key=lambda one: (-one.score, one.back))


def _whole(found: Iterable[Antecedent]) -> list[Antecedent]:
    """Parts of names ("Vale") counted to the most fitting whole one ("Rosa Vale")."""
    kept: dict[str, Antecedent] = {}
    for one in sorted(found, key=lambda each: -len(each.words)):
        wholes = [other for other in kept.values() if _part(one, other)]
        if wholes:
            whole = max(wholes, key=lambda each: each.score)
            kept[whole.key] = replace(_together(whole, one), text=whole.text)
        else:
            kept[one.key] = one
    return list(kept.values())


def _part(one: Antecedent, whole: Antecedent) -> bool:
    """Whether it is a shorter form of a whole name; a headline is no longer form of one in it."""
    if not (one.named and whole.named and one.words < whole.words):
        return False
    people = whole.person >= 0 and one.person >= 0
    short = len(whole.text.split()) <= LONGEST_TITLE
    return short and len(one.words) > (0 if people else 1)


def _together(known: Antecedent, one: Antecedent) -> Antecedent:
    more = max(known, one, key=lambda each: each.score)
    surely = 2 in (known.person, one.person)
    return Antecedent(
        text=more.text,
        key=known.key,
        named=known.named or one.named,
        plural=known.plural or one.plural,
        person=2 if surely else known.person or one.person,
        sex=known.sex or one.sex,
        kind=known.kind or one.kind,
        back=min(known.back, one.back),
        score=more.score + AGAIN,  # named again: what the conversation is about
        cited=known.cited or one.cited,
        place=known.place or one.place,
        words=known.words | one.words,
    )


class _Mention(NamedTuple):
    """One naming of something; ``around`` is the text that tells more of it."""

    text: str
    named: bool
    score: float
    around: str = ""
    cited: bool = False


def _said(turn: Turn, back: int, vocabulary: Vocabulary) -> Iterator[_Mention]:
    answer = turn.answer[:MOST_ANSWER]
    around = f"{answer} {turn.question}"
    own = parse(turn.question).stem_set
    for place, text in enumerate(turn.names[:3]):
        named = key_of(text) in vocabulary.names or key_of(text) in key_of(turn.question)
        if not named and (len(text.split()) > LONGEST_TITLE or own & parse(text).stem_set):
            continue  # the question calls it by its own words
        yield _Mention(text, True, CITED - 0.5 * place, around, cited=True)
    whole = PHRASE_OF.search(turn.question)
    if whole:
        yield _Mention(whole["whole"], True, IN_QUESTION, around)
    for text, named in _mentions(turn.question, vocabulary):
        score = IN_QUESTION + _less(text, named=named)
        score += BEHIND * bool(whole and text in whole["what"])
        yield _Mention(text, named, score, around)
    for number, sentence in enumerate(_SENTENCE.split(answer)[: 3 if back < 2 else 1]):
        for place, text in enumerate(known_in(sentence, vocabulary)):
            first = number == 0 and place == 0
            score = ANSWER_SUBJECT if first else IN_ANSWER - 0.1 * place
            yield _Mention(text, True, score, answer if first else sentence)
    for text in turn.items[:12]:
        yield _Mention(text, True, SHOWN)


def known_in(text: str, vocabulary: Vocabulary) -> list[str]:
    """The entities and people of the base that ``text`` names, as it writes them, in its order."""
    people = [one.span for one in people_in(text, vocabulary)]
    spans = [*people, *(one.span for one in entities_of(text, vocabulary, people))]
    return [span.of(text) for span in sorted(dict.fromkeys(spans), key=lambda span: span.start)]


def _less(text: str, *, named: bool) -> float:
    if named:
        return 0.0
    return ONE_WORD if len(text.removeprefix("the ").split()) == 1 else PHRASE


def _mentions(text: str, vocabulary: Vocabulary) -> list[tuple[str, bool]]:
    """The names and phrases of ``text`` in reading order, and whether each is a name."""
    found: list[tuple[int, int, str, bool]] = []
    for entity in entities_of(text, vocabulary):
        found.append((entity.span.start, entity.span.end, entity.span.of(text), True))
    for name in parse(text).names:
        for written in re.split(r"\s+and\s+(?:the\s+)?", name):
            part = _POSSESSIVE.sub("", written)
            start = text.find(part)
            if part and not _ADJECTIVE.fullmatch(part) and _free(found, start, part):
                led = "the " if text[max(0, start - 4) : start] == "the " else ""
                found.append((start, start + len(part), f"{led}{part}", True))
                several = _OF_A_NAME.match(text, start + len(part))
                if several and _plural(several["what"]) and _DETERMINED.search(text, 0, start):
                    whole = f"{part} {several['what']}"
                    found.append((start, start + len(whole), f"the {whole}", True))
    for phrase in parse(text).phrases:
        whole, bare = phrase.span.of(text), phrase.bare.of(text)
        if _free(found, phrase.bare.start, bare):
            if whole.lower().startswith(("a ", "an ")) or phrase.definite:
                whole = f"the {bare}"
            found.append((phrase.span.start, phrase.span.end, whole, False))
    return [(text, named) for _, _, text, named in sorted(found)]


def _free(found: Sequence[tuple[int, int, str, bool]], start: int, text: str) -> bool:
    """Whether nothing that was found lies where ``text`` starts, and it says more than a time."""
    if any(start < other[1] and other[0] < start + len(text) for other in found):
        return False
    words = [token.plain for token in parse(text).tokens]
    return any(word not in _NO_NAMES and not word.isdigit() for word in words)


def _made(mention: _Mention, back: int, vocabulary: Vocabulary) -> Antecedent:
    text, named, score, around, cited = mention
    match = _BRACKET_BEHIND.search(text)
    behind = match.group(1).lower() if match else ""
    shown = _BRACKET_BEHIND.sub("", text).strip() or text
    plain = [token.plain for token in parse(shown).tokens]
    head = plain[-1] if plain else ""
    key = key_of_words(plain[1:] if len(plain) > 1 and plain[0] in ARTICLES else plain)
    forms = vocabulary.names.get(key, ())
    sort = forms[0].node.type.lower() if forms else ""
    place = named and _located(shown, around)
    sex = _sex(shown, plain, around)
    if key in vocabulary.speakers or key in vocabulary.authors:
        person = 2
    else:
        person = _person(shown, plain, sort) if named and plain else -1
    if sex and (person == 1 or not named):  # "the woman"
        person = 2
    if (place and person == 0) or behind.rpartition(" ")[2] in _KINDS:
        person = -1
    return Antecedent(
        text=shown,
        key=key,
        named=named,
        plural=_plural(head) or shown.startswith("The ") or behind.endswith("band"),
        person=person,
        sex=sex,
        kind=behind or sort or (_said_to_be(shown, around) if named else head),
        back=back,
        score=score - PER_TURN * back,
        place=place and person < 0,
        cited=cited,
        words=frozenset(plain) - STOP_WORDS - EMPTY_HEADS,
    )


def _sex(shown: str, plain: Sequence[str], around: str) -> Sex:
    """Told by its own words ("Lady ..."), or by the pronouns in the text around it."""
    if not MEN.isdisjoint(plain):
        return "he"
    if not WOMEN.isdisjoint(plain):
        return "she"
    if not shown[:1].isupper() or shown.split()[-1] not in around:
        return ""
    he, she = _HE_WORD.search(around), _SHE_WORD.search(around)
    return "he" if he and not she else "she" if she and not he else ""


def _said_to_be(name: str, text: str) -> str:
    """What ``text`` says that ``name`` is, in a word: "ferry" of "X is a battery ferry for ..."."""
    start = text.find(name)
    said = IS_A.match(text, start + len(name)) if start >= 0 else None
    return said["kind"].lower() if said else ""


def _located(name: str, text: str) -> bool:
    start = text.find(name)
    return start > 0 and _PLACE_LED.search(text, max(0, start - 12), start) is not None


def _person(text: str, plain: Sequence[str], sort: str) -> int:
    """Whether the name is a person's, by what its entity is, or by how it looks."""
    if sort:
        return 2 if "person" in sort or "people" in sort else -1
    if plain[0] == "the" or set(plain) & NO_PERSONS or any(char.isdigit() for char in text):
        return -1
    written = [word for word in text.split() if word.lower() not in PARTICLES]
    shaped = all(word[:1].isupper() for word in written) and not text.isupper()
    return (1 if 2 <= len(written) <= 4 else 0) if shaped else -1


def _plural(head: str) -> bool:
    """Whether it is plural, or a group."""
    several = len(head) > 3 and head.endswith("s") and not head.endswith(("ss", "us", "is"))
    return several or head in GROUPS
