"""Replies for which nothing is searched: to what asks nothing, and what could mean anything.

A courtesy, and what a program asks of any model (a title of the conversation), are no questions:
their reply is kept nowhere. ``no_questions.json`` has greetings, how such prompts begin, and what a
program takes for "nothing". What could mean anything is asked back, with readings that the material
has an answer to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from wellread.answers import NOBODY, Answer, Confidence, Question
from wellread.ask.aggregate.queries.result import scope_of
from wellread.ask.deliver.reply import Reply
from wellread.ask.understand.followups.conversation import Opened
from wellread.ask.understand.followups.rewrite import references_of
from wellread.identity import random_id
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.english_followups import (
    BESIDE_A_COURTESY,
    GREETINGS,
    PARTINGS,
    PLEASED,
    THANKS,
    WHICH_OF_WHAT,
)
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.types import Filters

GREETED = "Hello. What would you like to know from the sources?"
READINGS = 3
LOOKED_AT = 50  # documents, for what they name
FEW = 1  # words of its own, beside the pronoun, of a question that could mean anything


def not_searched(kb: KnowledgeBase, turn: Opened, analysis: Analysis) -> Reply | None:
    """The reply to a question that has to be asked back; else None."""
    return None if turn.rewritten or turn.context else _asked_back(kb, analysis)


def to_no_question(question: Question, *, programs: bool = False) -> Answer | None:
    """The reply to a courtesy; None to a question. It has no id, since it is kept nowhere.

    Args:
        programs: whether a program may ask, for a title of the conversation and the like.
    """
    said = _courtesy(question.text) or (_program(question.text) if programs else "")
    if not said:
        return None
    return Answer(
        id="",
        question=" ".join(question.text.split()),
        text=said,
        citations=(),
        sentences=(),
        confidence=Confidence(score=0.0, band="none", reasoning="nothing was asked"),
        answered_by=NOBODY,
        owner=question.owner,
        session_id=question.session_id or random_id("ses"),
    )


@cache
def _known() -> dict[str, Any]:
    text = (files(__package__) / "no_questions.json").read_text(encoding="utf-8")
    known: dict[str, Any] = json.loads(text)
    return known


def _program(text: str) -> str:
    """What the program gets whose prompt begins so; empty for a question."""
    begins = " ".join(text.split()).casefold()
    replies: dict[str, str] = _known()["programs"]
    return next((said for known, said in replies.items() if begins.startswith(known)), "")


def _courtesy(text: str) -> str:
    if " ".join(text.split()).casefold().strip(" !.,?！。") in _known()["greetings"]:
        return GREETED
    words = {token.plain for token in tokens_of(text)}
    if not words <= THANKS | GREETINGS | PARTINGS | PLEASED | BESIDE_A_COURTESY:
        return ""
    if words & THANKS:
        return "You are welcome. Is there anything else that you would like to know?"
    if words & PARTINGS:
        return "Goodbye."
    if words & GREETINGS:
        return GREETED
    return "Good. What else would you like to know?" if words & PLEASED else ""


def _asked_back(kb: KnowledgeBase, analysis: Analysis) -> Reply | None:
    shared = _shared_name(analysis)
    if shared:
        name, titles = shared
        question = analysis.question
        readings = [question.replace(name, title, 1) for title in titles[:READINGS]]
        return _which(f"“{name}” is a name of {len(titles)} things here.", readings)
    pointing = references_of(analysis.question)
    bare = not (analysis.entities or analysis.names)
    if bare and len(analysis.terms) <= FEW and WHICH_OF_WHAT.search(analysis.question):
        return Reply(text="It is not said between what. Which things do you mean?")
    told = [one for one in analysis.terms if one not in {ref.token.plain for ref in pointing}]
    if not pointing or not bare or len(told) > FEW:
        return None
    token = pointing[0].token
    head, tail = analysis.question[: token.start], analysis.question[token.end :]
    owner = "'s" if pointing[0].owning else ""
    known = _best_known(kb, analysis.filters.collections) if pointing[0].sort == "it" else []
    readings = [f"{head}{title}{owner}{tail}" for title in known]
    return _which(f"It is not said what “{token.written}” stands for.", readings)


def _which(why: str, readings: Sequence[str]) -> Reply:
    listed = "".join(f"\n- {reading}" for reading in readings)
    asked = f"Which do you mean?{listed}" if readings else "What or whom do you mean?"
    return Reply(text=f"{why} {asked}", readings=tuple(readings))


def _shared_name(analysis: Analysis) -> tuple[str, tuple[str, ...]] | None:
    """A name in the question that several entities share, none of them as its own title."""
    for span in dict.fromkeys(one.span for one in analysis.entities):
        name = span.of(analysis.question)
        titles = tuple(dict.fromkeys(one.title for one in analysis.entities if one.span == span))
        others = set(parse(analysis.question).topic_stems) - parse(name).stem_set
        alone = len(others) <= FEW and name.casefold() not in map(str.casefold, titles)
        if len(titles) > 1 and alone:
            return name, titles
    return None


def _best_known(kb: KnowledgeBase, collections: Sequence[str]) -> list[str]:
    """The entities that most of the newest documents name, else some that are described."""
    scope = scope_of(kb, (Filters(collections=tuple(collections)),))
    graph, censuses = kb.catalogue.graph, kb.catalogue.censuses
    looked = dict.fromkeys(one.id for one in (*scope.dated(LOOKED_AT), *scope.some(LOOKED_AT)))
    totals = {
        (name, entity): number
        for name in scope.collections
        for entity, number in censuses.named_in(name, looked).items()
    }
    ranked = sorted(totals, key=lambda key: (-totals[key], key))[:READINGS]
    known = [node.title for key in ranked if (node := graph.entity(*key))]
    described = [] if known else graph.described_by(looked)
    described.sort(key=lambda node: (node.type, node.title.casefold()))
    return known or [node.title for node in described[:READINGS]]
