"""Which of the eleven types a question has, told by its wording; the first rule that fits decides.

Rules stand in the order of how surely their words tell a type: "how many" and "over time" leave
little doubt, "which ... help" much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wellread.ask.understand.question_parts import sides_of
from wellread.ask.understand.source_limits import source_noun, source_plurals
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.questions import Constraint, NamedEntity, QuestionType
from wellread.text.english_types import (
    ASKING_RELATIONS,
    ASKING_VERB,
    COMPARISONS,
    COVERAGE,
    GAPS,
    LACKING,
    LISTS,
    MOMENTS,
    OPEN,
    PERSONA,
    PLAIN_COMPARISONS,
    RELATED,
    RELATING,
    SUMMARIES,
    TRENDS,
)
from wellread.text.names import plural, singular


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """What is known of a question when its type is decided.

    Attributes:
        asked: of the text, the sentences that ask.
    """

    text: str
    asked: str
    vocabulary: Vocabulary
    entities: Sequence[NamedEntity]
    constraints: Sequence[Constraint]


Rule = Callable[[Clues], str]


def _says(*patterns: str, whole: bool = False) -> Rule:
    """A rule that fits where one of the patterns does; its reason is what they found.

    Args:
        whole: also look into sentences that only lead to the question.
    """
    joined = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)

    def rule(clues: Clues) -> str:
        match = joined.search(clues.text if whole else clues.asked)
        return " ".join(match.group().split()[:6]) if match else ""

    return rule


_PERSONA = _says(*PERSONA, whole=True)
_LISTS = _says(*LISTS, whole=True)
_TREND = _says(*TRENDS)
_TEMPORAL = _says(*MOMENTS)
_LACKING = _says(*LACKING)
_GAP = _says(*GAPS)
_META = _says(*COVERAGE)
_COMPARATIVE = _says(*COMPARISONS)
_PLAINLY = _says(*PLAIN_COMPARISONS)
_SYNTHESIS = _says(*SUMMARIES)
_OPEN = _says(*OPEN)


def type_of(clues: Clues) -> tuple[QuestionType, str]:
    """The type of a question, and the words that tell it (empty for the plain factual one)."""
    for name, rule in _RULES:
        reason = rule(clues)
        if reason:
            return name, reason
    return "factual", ""


def _comparative(clues: Clues) -> str:
    """A comparison; "more than" alone is none unless its sides can be told."""
    if re.match(r"\W*why\b", clues.asked, re.IGNORECASE):
        return ""
    found = _COMPARATIVE(clues)
    return found if found and (_PLAINLY(clues) or sides_of(clues.text, clues.entities)) else ""


_STRONG = re.compile(rf"\b(?:{RELATED})\b", re.IGNORECASE)
_WEAK = re.compile(
    rf"(?<!\bto )(?<!\byou )(?<!\bi )(?<!\bwe )(?<!\bone )\b(?:{RELATING})\b", re.IGNORECASE
)
_USE = re.compile(r"use[sd]?\s+(?:for|in|as|to)\b", re.IGNORECASE)
# "Which topics does X mention".
_OF_ENTITY = re.compile(
    r"^(?:which|what)\s+\w+(?:\s+\w+)?\s+(?:do|does|did)\s.*?\s(?P<verb>\w+)\W*$", re.IGNORECASE
)


def _relational(clues: Clues) -> str:
    """Relation words; those that mean other things as well count beside an entity only."""
    if any(one.kind == "taxonomy" for one in clues.constraints):
        return ""
    strong = _STRONG.search(clues.text)
    if strong or not clues.entities:
        return strong.group() if strong else ""
    named = _OF_ENTITY.search(clues.text)
    if named and _is_relation(named["verb"], clues.vocabulary.relations):
        return named["verb"]
    return _weakly(clues) if ASKING_RELATIONS.search(clues.text) else ""


def _weakly(clues: Clues) -> str:
    """A relation word outside the names; "what is it used for" is about use, not about users."""
    for pattern in (_WEAK, _declared(clues.vocabulary.relations)):
        for match in pattern.finditer(clues.text):
            inside = any(
                one.span.start < match.end() and match.start() < one.span.end
                for one in clues.entities
            )
            if not inside and not _USE.match(clues.text[match.start() :]):
                return match.group()
    return ""


def _is_relation(verb: str, relations: tuple[str, ...]) -> bool:
    """Whether ``verb`` is a relation in another form: "does it mention" of "mentions"."""
    return bool({verb, f"{verb}s", f"{verb}es", f"{verb}d", f"{verb}ed"} & set(relations))


def _declared(relations: tuple[str, ...]) -> re.Pattern[str]:
    several = [re.escape(words) for words in relations if " " in words]
    return re.compile(rf"\b(?:{'|'.join(several)})\b" if several else r"(?!)", re.IGNORECASE)


_IS_THERE = re.compile(r"is\s+there\s+an?\s+(\w+)(?:\s+(\w+))?", re.IGNORECASE)


_COVERED = re.compile(
    r"(?:what|which)\s+(?P<noun>[\w-]+)\s+(?:are|is)\s+(?:there|covered|missing|not\s+covered)"
    r"(?:\s+(?:here|in\s+(?:here|the\s+\w+)))?\s*\?*$",
    re.IGNORECASE,
)


def _meta(clues: Clues) -> str:
    """Coverage, asked for as such, or by a dimension of the taxonomy."""
    found = _META(clues)
    asked = _COVERED.match(clues.asked)
    if found or asked is None:
        return found
    noun = asked["noun"].lower()
    known = {name.lower() for name in clues.vocabulary.dimensions}
    return asked.group() if known & {noun, plural(noun), singular(noun)} else ""


def _gap(clues: Clues) -> str:
    found = _GAP(clues)
    if found:
        return found
    one = _IS_THERE.match(clues.asked)
    known = {name.lower() for name in clues.vocabulary.entity_types}
    for noun in one.groups(default="") if one else ():
        if noun.lower() in known or source_noun(clues.vocabulary).fullmatch(noun):
            return f"is there a {noun}"
    return ""


def _exploratory(clues: Clues) -> str:
    found = _OPEN(clues)
    if found:
        return found
    nouns = {plural(name.lower()) for name in clues.vocabulary.entity_types} | {
        "entries", "projects", "practices", "initiatives", "organisations", "organizations",
        "technologies", "policies", "patterns", "proposals", "topics", "concepts", "measures",
    }  # fmt: skip
    several = "|".join(map(re.escape, [*sorted(nouns), *source_plurals(clues.vocabulary)]))
    listed = re.match(
        rf"(?:which|what)\s+(?:(?!{ASKING_VERB})\S+\s+){{0,4}}?(?:{several})\b"
        r"(?!\s+(?:\S+\s+){0,6}?(?:did|was|were)\b)",
        clues.asked,
        re.IGNORECASE,
    )
    return " ".join(listed.group().split()[:4]) if listed else ""


_RULES: tuple[tuple[QuestionType, Rule], ...] = (
    ("persona", _PERSONA),
    ("meta", _LACKING),
    ("trend", _TREND),
    ("counting", _LISTS),
    ("temporal", _TEMPORAL),
    ("gap_finding", _gap),
    ("meta", _meta),
    ("comparative", _comparative),
    ("synthesis", _SYNTHESIS),
    ("relational", _relational),
    ("exploratory", _exploratory),
)
