"""Replies for which nothing is searched: to a courtesy, and to a question that could mean anything.

The second is asked back, with readings that the material has an answer to.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.aggregate.queries.result import scope_of
from wellread.ask.deliver.reply import Reply
from wellread.ask.understand.followups.conversation import Opened
from wellread.ask.understand.followups.references import references_of
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

READINGS = 3
LOOKED_AT = 50  # documents, for what they name
FEW = 1  # words of its own, beside the pronoun, of a question that could mean anything


def not_searched(kb: KnowledgeBase, turn: Opened, analysis: Analysis) -> Reply | None:
    """The reply to a turn that asks for nothing, or that has to be asked back; else None."""
    said = _courtesy(turn.asked)
    if said:
        return Reply(text=said)
    return None if turn.rewritten or turn.context else _asked_back(kb, analysis)


def _courtesy(text: str) -> str:
    words = {token.plain for token in tokens_of(text)}
    if not words <= THANKS | GREETINGS | PARTINGS | PLEASED | BESIDE_A_COURTESY:
        return ""
    if words & THANKS:
        return "You are welcome. Is there anything else that you would like to know?"
    if words & PARTINGS:
        return "Goodbye."
    if words & GREETINGS:
        return "Hello. What would you like to know from the sources?"
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
