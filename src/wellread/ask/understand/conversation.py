"""From what was asked in a session to a question that stands alone.

A session is known by its id and its owner; its turns are the answers recorded in it. The limits
that an asker sets (collections, kinds, dates) are those of the request: they are never taken over
from an earlier turn. Limits that stand in an earlier question's words are (``followups``).
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from anyio import to_thread

from wellread.answers import Question, Usage
from wellread.ask.understand.followups.conversation_turns import Rewritten, Turn
from wellread.ask.understand.followups.earlier_context import context_of
from wellread.ask.understand.followups.recorded_turns import turn_of
from wellread.ask.understand.followups.rewrite import standalone
from wellread.ask.understand.followups.rewrite_by_model import SECONDS, by_model, leans
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.calls import REWRITE
from wellread.errors import ModelError
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase

logger = logging.getLogger(__name__)

MOST_TURNS = 8  # the first one of a session, and the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A question as it is understood within its session.

    Attributes:
        question: with ``text`` in words that need no earlier turn, and the session's id.
        asked: as it was asked.
        reasons: what was put in for what, in words; empty when nothing was.
        failures: a model that failed to rewrite it, in words.
        context: an earlier question that is searched with this one; it is part of nothing else.
        usage: what it cost to rewrite the question.
    """

    question: Question
    asked: str
    reasons: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    context: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def rewritten(self) -> bool:
        """Whether it was read with the turns before it."""
        return bool(self.reasons)

    @property
    def notes(self) -> tuple[str, ...]:
        """What an answer says of it."""
        read = (f"follow-up: {'; '.join(self.reasons)}",) if self.reasons else ()
        return (*read, *self.failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A follow-up that was read, and how."""

    rewritten: Rewritten
    failures: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def opened(kb: KnowledgeBase, question: Question, known: Vocabulary) -> Opened:
    """``question`` as it is meant after the earlier turns of its session.

    An id that is unknown, or somebody else's, starts a new session with a new id.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    session, earlier = await to_thread.run_sync(_session, kb, question)
    asked = question.text
    placed = replace(question, session_id=session)
    if not earlier or not kb.settings.features.follow_up:
        return Opened(question=placed, asked=asked)
    read = await _read(kb, asked, earlier, known)
    return Opened(
        question=replace(placed, text=read.rewritten.text),
        asked=asked,
        reasons=read.rewritten.reasons,
        failures=read.failures,
        context=context_of(read.rewritten, earlier),
        usage=read.usage,
    )


def _session(kb: KnowledgeBase, question: Question) -> tuple[str, list[Turn]]:
    """The session's id and its turns so far, oldest first."""
    wanted, owner = question.session_id, question.owner
    if wanted and kb.catalogue.sessions.known(wanted, owner):
        answers = kb.catalogue.sessions.turns(wanted, owner, MOST_TURNS)
        return wanted, [turn_of(answer) for answer in answers]
    # The second clock tells two questions apart that come in the same microsecond.
    now = (datetime.now(UTC).isoformat(), time.perf_counter_ns())
    return tagged_hash("ses", owner, question.text, *now), []


async def _read(kb: KnowledgeBase, asked: str, earlier: list[Turn], known: Vocabulary) -> _Read:
    """By the model where there is one and the question leans on what was said; else by rules."""
    by_rules = standalone(asked, earlier, known, date.today())
    failures: tuple[str, ...] = ()
    model = kb.model_for(REWRITE)
    if model is not None and leans(asked, by_rules, earlier):
        seconds = min(SECONDS, kb.settings.generation.timeout)
        try:
            made = await by_model(model, asked, earlier, seconds=seconds)
        except ModelError as error:
            logger.warning("the model did not rewrite a follow-up, rules did: %s", error)
            failures = (f"the follow-up was read by rules: {error.args[0]}",)
        else:
            return _Read(rewritten=made.rewritten, usage=made.usage)
    return _Read(rewritten=by_rules, failures=failures)
